/** Standard input, piece by piece. An interrupt ends the wait for the next one by throwing its reason. */
export async function* standardInput(signal: AbortSignal): AsyncIterable<Buffer> {
  signal.throwIfAborted();
  const stop = (): void => void process.stdin.destroy();
  signal.addEventListener("abort", stop, { once: true });
  try {
    if (process.stdin.isTTY) process.stderr.write("Reading what you type; Ctrl-D ends it\n");
    yield* process.stdin as AsyncIterable<Buffer>;
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
  signal.throwIfAborted();
}
