const TURN_MS = 8;

/** Lets long work yield to the event loop regularly, so that the process stays responsive. */
export class Turn {
  #endMs = performance.now() + TURN_MS;

  async giveWay(): Promise<void> {
    if (performance.now() < this.#endMs) return;
    await new Promise(setImmediate);
    this.#endMs = performance.now() + TURN_MS;
  }
}
