/** Wakes all waiting tasks when something was recorded. */
export class Bell {
  readonly #waiting = new Set<() => void>();

  /** Current number of waiters. A wait that timed out is removed, even if the bell never rings. */
  get waiting(): number {
    return this.#waiting.size;
  }

  ring(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  /** Returns at the next ring, or after `atMostMs`: a ring is lost if the process that would ring dies. */
  async wait(atMostMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, atMostMs).unref(); // a wait does not keep the process alive
    this.#waiting.add(resolve);
    await promise;
    this.#waiting.delete(resolve);
    clearTimeout(timer);
  }
}
