import { StringDecoder } from "node:string_decoder";

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

const LONGEST_LINE = 4096;

/** What a person types up to the end of the line. "" where the input ends without anything. */
export async function readTypedLine(signal: AbortSignal): Promise<string> {
  for await (const line of typedLines(signal)) return line;
  return "";
}

/** Line by line what a person types. Standard input cannot be read any more once the caller stops asking. */
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
      if (typed.length > LONGEST_LINE) break;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
  signal.throwIfAborted();
  if (typed !== "") yield typed;
}

const LONGEST_MESSAGE = 100_000;

/** Lines of standard input that is no terminal. What is longer than a message can be is cut. */
export async function* pipedLines(signal: AbortSignal): AsyncIterable<string> {
  const decoder = new StringDecoder("utf8");
  let open = "";
  for await (const piece of standardInput(signal)) {
    const lines = (open + decoder.write(piece)).split("\n");
    open = (lines.pop() ?? "").slice(0, LONGEST_MESSAGE);
    for (const line of lines) yield line.slice(0, LONGEST_MESSAGE);
  }
  if (open !== "") yield open;
}
