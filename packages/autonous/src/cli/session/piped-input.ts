import { fstatSync } from "node:fs";
import { StringDecoder } from "node:string_decoder";
import { isatty } from "node:tty";
import { withQuotations } from "../../model/prompt/quoted.ts";
import { standardInput } from "./standard-input.ts";

/** What was piped in, as much of it as is taken. */
export interface PipedInput {
  readonly text: string;
  readonly isCut: boolean;
}

/** Some 25,000 tokens. What is longer is better read from a file, page by page. */
const MOST_BYTES = 100_000;
/** How long a program that started this one and left its input open is waited for. A pipe of the shell ends by itself. */
const FIRST_BYTE_MS = 3000;

interface ReadOptions {
  readonly signal: AbortSignal;
  readonly note: (text: string) => void;
}

/** Standard input where it is no terminal: read to its end, or to the bound. "" where there is none. */
export async function readPiped({ signal, note }: ReadOptions): Promise<PipedInput> {
  const kind = kindOfInput();
  if (kind === "none") return { text: "", isCut: false };
  const enough = new AbortController();
  const waiting = setTimeout(() => {
    if (kind === "socket") return enough.abort();
    note("Waiting for standard input to end; < /dev/null goes without it");
  }, FIRST_BYTE_MS);
  const decoder = new StringDecoder("utf8");
  let text = "";
  let left = MOST_BYTES;
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

/** What a program that made this one gave it to read from: Node's own pipes are sockets, a shell's are not. */
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

/** A task with what was piped in, quoted as the data that it is. `text` has passed the redactor. */
export function withContext(task: string, { text, isCut }: PipedInput): string {
  if (text.trim() === "") return task;
  const about = isCut ? `the first ${MOST_BYTES} bytes; the rest was left out` : "all of it";
  return withQuotations(task, [{ heading: `Standard input, ${about}`, text: text.replace(/\n$/, "") }]);
}
