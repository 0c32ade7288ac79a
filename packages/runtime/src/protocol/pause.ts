interface PauseOptions {
  readonly signal?: AbortSignal;
  /** Lets the process exit meanwhile. */
  readonly unref?: boolean;
}

/** Waits. Throws the signal's reason as soon as it is aborted. */
export async function pause(ms: number, { signal, unref = false }: PauseOptions = {}): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  if (unref) timer.unref();
  try {
    await (signal === undefined ? promise : unlessAborted(promise, signal));
  } finally {
    clearTimeout(timer);
  }
}

/** Waits, but no longer than until the signal is aborted. False if it was. */
export async function pauseUntilAborted(ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await pause(ms, { signal });
    return true;
  } catch (error) {
    if (!signal.aborted) throw error;
    return false;
  }
}

/** Waits for the work, or throws the signal's reason as soon as it is aborted. The work itself is not stopped. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const stop = (): void => aborted.reject(signal.reason as Error);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await Promise.race([aborted.promise, work]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
