import type { Progress } from "@autonous/runtime/internal";
import type { OutputLine } from "../store/record/outgoing.ts";

/** Passes the output of running commands to the channels that show it. Stores nothing. */
export class OutputFeed {
  readonly #listeners = new Set<(output: OutputLine) => void>();

  push(output: OutputLine): void {
    for (const listener of this.#listeners) listener(output);
  }

  listen(listener: (output: OutputLine) => void): void {
    this.#listeners.add(listener);
  }
}

const EVERY_MS = 1000;
const MAX_CHARACTERS = 300;
/** Longer than any secret, so that redaction sees it in full. */
const MAX_TAIL_CHARACTERS = 20_000;
/** More than can run in parallel, so older calls have ended. */
const MAX_CALLS = 50;

interface Tail {
  /** The end of the output. */
  text: string;
  timer: NodeJS.Timeout | undefined;
}

interface TailsOptions {
  readonly tell: (output: Omit<OutputLine, "task_id">) => void;
  readonly redact: (text: string) => string;
  readonly everyMs?: number;
}

/** Reports the last output line of each call of a task, at most once per second. */
export class OutputTails {
  readonly #options: Required<TailsOptions>;
  readonly #tails = new Map<string, Tail>();

  constructor(options: TailsOptions) {
    this.#options = { everyMs: EVERY_MS, ...options };
  }

  push({ tool_call_id, detail, output }: Progress): void {
    if (output === undefined) return; // a progress report, which is recorded as an event
    const tail = this.#tails.get(tool_call_id) ?? this.#begin(tool_call_id);
    tail.text = lastOf(`${tail.text}${detail}`);
    tail.timer ??= setTimeout(() => {
      tail.timer = undefined;
      // Each part was redacted separately; a secret that was printed in two parts is complete only here.
      const line = lastLine(this.#options.redact(tail.text));
      if (line !== "") this.#options.tell({ tool_call_id, line });
    }, this.#options.everyMs).unref();
  }

  #begin(tool_call_id: string): Tail {
    const [oldest] = this.#tails;
    if (oldest !== undefined && this.#tails.size >= MAX_CALLS) {
      clearTimeout(oldest[1].timer);
      this.#tails.delete(oldest[0]);
    }
    const tail: Tail = { text: "", timer: undefined };
    this.#tails.set(tool_call_id, tail);
    return tail;
  }

  close(): void {
    for (const { timer } of this.#tails.values()) clearTimeout(timer);
  }
}

/** Truncated at white space if possible: redaction does not recognise the second half of a secret. */
function lastOf(text: string): string {
  if (text.length <= MAX_TAIL_CHARACTERS) return text;
  const kept = text.slice(-MAX_TAIL_CHARACTERS);
  return kept.slice(Math.max(0, kept.search(/\s/)));
}

/** Of a line that is redrawn in place, such as a progress bar, the latest version counts. */
function lastLine(text: string): string {
  const lines = text.split(/[\r\n]+/).map((line) => line.trim());
  return (lines.findLast((line) => line !== "") ?? "").slice(0, MAX_CHARACTERS).toWellFormed();
}
