import { closeSync, constants, openSync, readSync } from "node:fs";
import { createInterface } from "node:readline";
import { isatty, ReadStream } from "node:tty";
import { readMessage } from "./read-message.ts";
import type { MessageOptions, TypedMessage } from "./read-message.ts";

/** What the user typed: a line; Ctrl-C; Ctrl-D; or several lines at once, which cannot be a typed answer. */
type LineInput =
  | { readonly kind: "line"; readonly text: string }
  | { readonly kind: "interrupt" }
  | { readonly kind: "end" }
  | { readonly kind: "pasted" };

interface LineOptions {
  readonly prompt: string;
  /** Ends the wait: the promise rejects with its reason. */
  readonly signal: AbortSignal;
  /** Initial text of the line. */
  readonly initial?: string;
}

/** The keyboard of this process's terminal. The caller that opens it closes it. */
export interface Keyboard {
  /** Discards pending input: it was typed for something else. */
  forget(): void;
  readLine(options: LineOptions): Promise<LineInput>;
  /** Reads a message of one or more lines. */
  readMessage(options: MessageOptions): Promise<TypedMessage>;
  close(): void;
}

/** Paths to try: the terminal of the session, then stdin. */
const NAMES = ["/dev/tty", "/proc/self/fd/0"] as const;

/** Opens the terminal independently of stdin and stdout. Undefined without a terminal. */
export function openTerminal(flags: number): number | undefined {
  for (const name of NAMES) {
    try {
      const descriptor = openSync(name, flags | constants.O_NOCTTY);
      if (isatty(descriptor)) return descriptor;
      closeSync(descriptor);
    } catch {
      // No terminal at this path, or permission denied.
    }
  }
  return undefined;
}

/** Undefined if the terminal cannot be opened. */
export function openKeyboard(): Keyboard | undefined {
  // A separate non-blocking descriptor: it discards pending input without waiting for more.
  const descriptor = openTerminal(constants.O_RDONLY | constants.O_NONBLOCK);
  if (descriptor === undefined) return undefined;
  const input = new ReadStream(descriptor);
  input.pause();
  input.on("error", () => input.destroy()); // the terminal is gone: `close` informs the reader
  return {
    forget() {
      input.setRawMode(true); // an unfinished line can be read only in raw mode
      readAway(descriptor);
    },
    readLine: (options) => readLine(input, options),
    readMessage: (options) => readMessage(input, options),
    close() {
      if (!input.destroyed) input.setRawMode(false);
      input.destroy();
    },
  };
}

const MAX_AWAY = 4096;

function readAway(descriptor: number): void {
  const bytes = Buffer.alloc(1024);
  try {
    for (let times = 0; times < MAX_AWAY; times++) if (readSync(descriptor, bytes) === 0) return;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "EAGAIN" && code !== "EIO") throw error; // no input is left, or the terminal is gone
  }
}

async function readLine(input: ReadStream, { prompt, signal, initial = "" }: LineOptions): Promise<LineInput> {
  signal.throwIfAborted();
  const lines = createInterface({ input, output: process.stderr, terminal: true, historySize: 0, prompt });
  const abort = new AbortController();
  try {
    return await new Promise<LineInput>((resolve, reject) => {
      const typed: string[] = [];
      const { signal: over } = abort;
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true, signal: over });
      // Lines of one chunk arrive before any other event: count them after that.
      lines.on("line", (text) => {
        if (typed.push(text) > 1) return;
        setImmediate(() => resolve(typed.length === 1 ? { kind: "line", text } : { kind: "pasted" }));
      });
      lines.on("SIGINT", () => resolve({ kind: "interrupt" }));
      lines.on("close", () => setImmediate(() => resolve({ kind: "end" })));
      lines.prompt();
      if (initial !== "") lines.write(initial);
    });
  } finally {
    abort.abort();
    lines.close();
  }
}
