import { StringDecoder } from "node:string_decoder";

/** Standard input in chunks. An interrupt throws its reason instead of waiting for the next chunk. */
export async function* standardInput(signal: AbortSignal): AsyncIterable<Buffer> {
  signal.throwIfAborted();
  const stop = (): void => void process.stdin.destroy();
  signal.addEventListener("abort", stop, { once: true });
  try {
    if (process.stdin.isTTY) process.stderr.write("Reading from the terminal; Ctrl-D ends the input\n");
    yield* process.stdin as AsyncIterable<Buffer>;
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
  signal.throwIfAborted();
}

const MAX_LINE_LENGTH = 4096;

/** One typed line. "" if the input ends before any text. */
export async function readTypedLine(signal: AbortSignal): Promise<string> {
  for await (const line of typedLines(signal)) return line;
  return "";
}

/** Typed lines. Standard input cannot be read again after the caller stops iterating. */
export async function* typedLines(signal: AbortSignal): AsyncIterable<string> {
  signal.throwIfAborted();
  const stop = (): void => void process.stdin.destroy();
  signal.addEventListener("abort", stop, { once: true });
  let typed = "";
  try {
    for await (const piece of process.stdin as AsyncIterable<Buffer>) {
      const lines = (typed + piece.toString()).split("\n");
      typed = lines.pop() ?? "";
      yield* lines;
      if (typed.length > MAX_LINE_LENGTH) break;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
  signal.throwIfAborted();
  if (typed !== "") yield typed;
}

const MAX_MESSAGE_LENGTH = 100_000;

/** Lines of standard input that is not a terminal. Lines longer than a message are truncated. */
export async function* pipedLines(signal: AbortSignal): AsyncIterable<string> {
  const decoder = new StringDecoder("utf8");
  let open = "";
  for await (const piece of standardInput(signal)) {
    const lines = (open + decoder.write(piece)).split("\n");
    open = (lines.pop() ?? "").slice(0, MAX_MESSAGE_LENGTH);
    for (const line of lines) yield line.slice(0, MAX_MESSAGE_LENGTH);
  }
  if (open !== "") yield open;
}
