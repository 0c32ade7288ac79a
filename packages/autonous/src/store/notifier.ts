export interface WaitOptions {
  /** `count` before the store was read: a notification since then ends the wait at once. */
  readonly since: number;
  /** A notification is lost if the process that would send it dies. */
  readonly atMostMs: number;
  readonly signal: AbortSignal;
}

/** Wakes all waiting parts of the service when something was recorded. */
export class Notifier {
  readonly #waiting = new Set<() => void>();
  #count = 0;

  /** Number of notifications so far. */
  get count(): number {
    return this.#count;
  }

  /** Current number of waiters. */
  get waiting(): number {
    return this.#waiting.size;
  }

  notify(): void {
    this.#count++;
    for (const wake of this.#waiting) wake();
  }

  /** Returns at the next notification, after `atMostMs`, or when the signal aborts. Leaves no timer or listener behind. */
  async wait({ since, atMostMs, signal }: WaitOptions): Promise<void> {
    if (signal.aborted || this.#count !== since) return;
    const { promise, resolve: wake } = Promise.withResolvers<void>();
    const timer = setTimeout(wake, atMostMs);
    const stop = (): void => wake();
    signal.addEventListener("abort", stop);
    this.#waiting.add(wake);
    await promise;
    this.#waiting.delete(wake);
    signal.removeEventListener("abort", stop);
    clearTimeout(timer);
  }
}
