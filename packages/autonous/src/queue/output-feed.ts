import type { Progress } from "@autonous/runtime";
import type { OutputLine } from "../store/outgoing.ts";

/** Brings what running commands print to the channels that show it. What nobody listens to is lost. */
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

interface Tail {
  /** The end of what was printed. */
  text: string;
  timer: NodeJS.Timeout | undefined;
}

/** The last lines of the calls of one task, each at most once a second, however much they print. */
export class OutputTails {
  readonly #tell: (output: Omit<OutputLine, "task_id">) => void;
  readonly #everyMs: number;
  readonly #tails = new Map<string, Tail>();

  constructor(tell: (output: Omit<OutputLine, "task_id">) => void, everyMs = EVERY_MS) {
    this.#tell = tell;
    this.#everyMs = everyMs;
  }

  push({ tool_call_id, detail, output }: Progress): void {
    if (output === undefined) return; // how far a call is, which is on record
    const tail = this.#tails.get(tool_call_id) ?? { text: "", timer: undefined };
    this.#tails.set(tool_call_id, tail);
    tail.text = `${tail.text}${detail}`.slice(-2 * MOST_CHARACTERS);
    tail.timer ??= setTimeout(() => {
      tail.timer = undefined;
      const line = lastLine(tail.text);
      if (line !== "") this.#tell({ tool_call_id, line });
    }, this.#everyMs).unref();
  }

  close(): void {
    for (const { timer } of this.#tails.values()) clearTimeout(timer);
  }
}

/** A line that is redrawn in place, such as a bar, counts as it is now. */
function lastLine(text: string): string {
  const lines = text.split(/[\r\n]+/).map((line) => line.trim());
  return (lines.findLast((line) => line !== "") ?? "").slice(0, MOST_CHARACTERS).toWellFormed();
}
