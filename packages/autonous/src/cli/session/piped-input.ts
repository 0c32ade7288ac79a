import { fstatSync } from "node:fs";
import { StringDecoder } from "node:string_decoder";
import { isatty } from "node:tty";
import { withQuotations } from "../../model/prompt/quoted.ts";
import { standardInput } from "./standard-input.ts";

/** Piped input, up to the limit. */
export interface PipedInput {
  readonly text: string;
  readonly isCut: boolean;
}

/** About 25,000 tokens. Longer input is better read from a file, page by page. */
export const MAX_PIPED_BYTES = 100_000;
/** Timeout for input from a parent program that left the pipe open. Shell pipes close themselves. */
const FIRST_BYTE_MS = 3000;

interface ReadOptions {
  readonly signal: AbortSignal;
  readonly note: (text: string) => void;
}

/** Standard input that is not a terminal, read up to the limit. "" if it has none. */
export async function readPiped({ signal, note }: ReadOptions): Promise<PipedInput> {
  const kind = kindOfInput();
  if (kind === "none") return { text: "", isCut: false };
  const enough = new AbortController();
  const waiting = setTimeout(() => {
    if (kind === "socket") return enough.abort();
    note("Waiting for standard input to end; add < /dev/null to run without it");
  }, FIRST_BYTE_MS);
  const decoder = new StringDecoder("utf8");
  let text = "";
  let left = MAX_PIPED_BYTES;
  try {
    for await (const piece of standardInput(AbortSignal.any([signal, enough.signal]))) {
      clearTimeout(waiting);
      text += decoder.write(piece.subarray(0, left));
      if (piece.length > left) return { text, isCut: true };
      left -= piece.length;
    }
  } catch (error) {
    if (!enough.signal.aborted || signal.aborted) throw error;
  } finally {
    clearTimeout(waiting);
  }
  return { text: text + decoder.end(), isCut: false };
}

/** The type of standard input: pipes created by Node.js are sockets, those of a shell are not. */
function kindOfInput(): "none" | "socket" | "pipe" {
  if (isatty(0)) return "none";
  try {
    const stat = fstatSync(0);
    if (stat.isSocket()) return "socket";
    return stat.isFIFO() || stat.isFile() ? "pipe" : "none";
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EBADF") return "none"; // it was closed
    throw error;
  }
}

/** A task with the piped input quoted as data. `text` is already redacted. */
export function withContext(task: string, { text, isCut }: PipedInput): string {
  if (text.trim() === "") return task;
  const about = isCut ? `the first ${MAX_PIPED_BYTES} bytes; the rest was left out` : "all of it";
  return withQuotations(task, [{ heading: `Standard input, ${about}`, text: text.replace(/\n$/, "") }]);
}
