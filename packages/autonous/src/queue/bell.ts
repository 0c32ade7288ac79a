/** Lets many wait for the next time that something was recorded. */
export class Bell {
  readonly #waiting = new Set<() => void>();

  /** How many wait now. Whoever is done waiting leaves nothing behind, also where it is never rung. */
  get waiting(): number {
    return this.#waiting.size;
  }

  ring(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  /** Returns at the next ring, and at the latest after so long: a ring may get lost with the process that would ring. */
  async wait(atMostMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, atMostMs).unref(); // whoever gave up waiting does not keep the process
    this.#waiting.add(resolve);
    await promise;
    this.#waiting.delete(resolve);
    clearTimeout(timer);
  }
}
