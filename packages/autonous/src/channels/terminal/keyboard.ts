import { closeSync, constants, openSync, readSync } from "node:fs";
import { createInterface } from "node:readline";
import { isatty, ReadStream } from "node:tty";
import { readMessage } from "./read-message.ts";
import type { MessageOptions, TypedMessage } from "./read-message.ts";

/** What a person typed: a line; Ctrl-C; Ctrl-D; or several lines at once, which nobody types as an answer. */
type Typed =
  | { readonly kind: "line"; readonly text: string }
  | { readonly kind: "interrupt" }
  | { readonly kind: "end" }
  | { readonly kind: "pasted" };

interface LineOptions {
  readonly prompt: string;
  /** Ends the wait: the promise rejects with its reason. */
  readonly signal: AbortSignal;
  /** Stands there to be edited. */
  readonly initial?: string;
}

/** The keyboard of the terminal that this process was started at. Whoever opens it closes it. */
export interface Keyboard {
  /** Forgets what was typed so far: it was meant for something else. */
  forget(): void;
  readLine(options: LineOptions): Promise<Typed>;
  /** What somebody says, on one line or several. */
  readMessage(options: MessageOptions): Promise<TypedMessage>;
  close(): void;
}

/** By these names: the terminal of the session, or what standard input is where that is none of it. */
const NAMES = ["/dev/tty", "/proc/self/fd/0"] as const;

/** A way to the terminal that standard input and output have no part in. Undefined where there is none. */
export function openTerminal(flags: number): number | undefined {
  for (const name of NAMES) {
    try {
      const descriptor = openSync(name, flags | constants.O_NOCTTY);
      if (isatty(descriptor)) return descriptor;
      closeSync(descriptor);
    } catch {
      // Not this one: no terminal of that name, or not ours to open.
    }
  }
  return undefined;
}

/** Undefined where the terminal cannot be opened. */
export function openKeyboard(): Keyboard | undefined {
  // Its own way in, not to wait: what was typed before can be read away without waiting for more.
  const descriptor = openTerminal(constants.O_RDONLY | constants.O_NONBLOCK);
  if (descriptor === undefined) return undefined;
  const input = new ReadStream(descriptor);
  input.pause();
  input.on("error", () => input.destroy()); // the terminal is gone: `close` tells whoever reads
  return {
    forget() {
      input.setRawMode(true); // what is typed so far of a line can be read only then
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

const MOST_AWAY = 4096;

function readAway(descriptor: number): void {
  const bytes = Buffer.alloc(1024);
  try {
    for (let times = 0; times < MOST_AWAY; times++) if (readSync(descriptor, bytes) === 0) return;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "EAGAIN" && code !== "EIO") throw error; // nothing is left, or nobody is there any more
  }
}

async function readLine(input: ReadStream, { prompt, signal, initial = "" }: LineOptions): Promise<Typed> {
  signal.throwIfAborted();
  const lines = createInterface({ input, output: process.stderr, terminal: true, historySize: 0, prompt });
  const abort = new AbortController();
  try {
    return await new Promise<Typed>((resolve, reject) => {
      const typed: string[] = [];
      const { signal: over } = abort;
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true, signal: over });
      // Lines of one piece come one after the other before anything else does: only then is it known how many.
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
