/** Lets many wait for the next time that something was recorded. */
export class Bell {
  #next = Promise.withResolvers<void>();

  ring(): void {
    this.#next.resolve();
    this.#next = Promise.withResolvers();
  }

  /** Returns at the next ring, and at the latest after so long: a ring may get lost with the process that would ring. */
  async wait(atMostMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, atMostMs).unref(); // whoever gave up waiting does not keep the process
    await Promise.race([this.#next.promise, promise]);
    clearTimeout(timer);
  }
}
