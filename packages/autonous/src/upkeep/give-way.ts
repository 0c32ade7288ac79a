const TURN_MS = 8;

/** For long work in a process that has others to serve: gives them a turn when it has had its own. */
export class Turn {
  #endMs = performance.now() + TURN_MS;

  async giveWay(): Promise<void> {
    if (performance.now() < this.#endMs) return;
    await new Promise(setImmediate);
    this.#endMs = performance.now() + TURN_MS;
  }
}
