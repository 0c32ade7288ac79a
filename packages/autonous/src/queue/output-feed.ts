import type { Progress } from "@autonous/runtime";
import type { OutputLine } from "../store/record/outgoing.ts";

/** Passes what running commands print to the channels that show it. Nothing of it is kept. */
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
const MOST_CHARACTERS = 300;
/** More than any secret has, so that one is seen in full. */
const KEPT_CHARACTERS = 20_000;
/** More than run in parallel. Those before them have ended. */
const MAX_CALLS = 50;

interface Tail {
  /** The end of what was printed. */
  text: string;
  timer: NodeJS.Timeout | undefined;
}

interface TailsOptions {
  readonly tell: (output: Omit<OutputLine, "task_id">) => void;
  readonly redact: (text: string) => string;
  readonly everyMs?: number;
}

/** The last lines of the calls of one task, each at most once a second, however much they print. */
export class OutputTails {
  readonly #options: Required<TailsOptions>;
  readonly #tails = new Map<string, Tail>();

  constructor(options: TailsOptions) {
    this.#options = { everyMs: EVERY_MS, ...options };
  }

  push({ tool_call_id, detail, output }: Progress): void {
    if (output === undefined) return; // how far a call is, which is on record
    const tail = this.#tails.get(tool_call_id) ?? this.#begin(tool_call_id);
    tail.text = lastOf(`${tail.text}${detail}`);
    tail.timer ??= setTimeout(() => {
      tail.timer = undefined;
      // Each part was redacted by itself; a secret that was printed in two is complete only here.
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

/** Cut at a blank where there is one: the second half of a secret is not recognised. */
function lastOf(text: string): string {
  if (text.length <= KEPT_CHARACTERS) return text;
  const kept = text.slice(-KEPT_CHARACTERS);
  return kept.slice(Math.max(0, kept.search(/\s/)));
}

/** A line that is redrawn in place, such as a bar, counts as it is now. */
function lastLine(text: string): string {
  const lines = text.split(/[\r\n]+/).map((line) => line.trim());
  return (lines.findLast((line) => line !== "") ?? "").slice(0, MOST_CHARACTERS).toWellFormed();
}
