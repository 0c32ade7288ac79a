import { makeVisible } from "@autonous/runtime";
import { plainLayout } from "./plain-layout.ts";
import type { Layout } from "./plain-layout.ts";
import type { Screen } from "./screen.ts";
import { wrap } from "../words/width.ts";

/**
 * A reply as it comes: rows that nothing can be added to stay, those below them are redrawn in place. It is a
 * preview: what the record says in the end is what counts, and `settle` shows what of that is not there yet.
 */
export interface StreamView {
  /** A piece of what the model says, redacted. */
  push(piece: string): void;
  /** A piece of what it thinks: its last rows are seen while it does, and stay when it is done. */
  think(piece: string): void;
  /** The reply is whole, and this is its text as it is on record. Gives whether all of it is on the screen now. */
  settle(text: string): boolean;
  /** The reply came to nothing. */
  drop(): void;
}

export interface StreamViewOptions {
  /** How text becomes rows. Default: as it is. */
  readonly layout?: Layout;
  /** All of what it thinks stays. */
  readonly verbose?: boolean;
}

/** Replies that begin like this are written for a program: the plain JSON protocol, or a reasoning block before it. */
const FOR_PROGRAMS = /^(?:\{|```(?:json)?\s*\{|<)/;
/** What may become the beginning of one. */
const MAYBE_FOR_PROGRAMS = /^`{1,3}(?:j|js|jso|json)?\s*$/;
const INDENT = "  ";
const NARROWEST = 20;
const EVERY_MS = 40;
/** Rows of what a model thinks, and how much of it is kept to make them. */
const THOUGHT_ROWS = 4;
const KEPT_THOUGHT = 200_000;

export function createStreamView(screen: Screen, options: StreamViewOptions = {}): StreamView {
  const { layout = plainLayout, verbose = false } = options;
  /** What stays on the screen of this reply, piece by piece. */
  const shown: string[] = [];
  /** What is said after it. */
  let open = "";
  let isForPrograms = false;
  const thought = createThought(screen, verbose);
  const pacer = createPacer(() => draw(false));

  function forget(): void {
    pacer.stop();
    layout.reset();
    shown.length = 0;
    open = "";
    isForPrograms = false;
    screen.status("");
  }
  function draw(isWhole: boolean): void {
    pacer.stop();
    const width = Math.max(NARROWEST, (screen.columns ?? 80) - INDENT.length - 1);
    const { rows, used, below } = layout.take(open, width, isWhole);
    if (rows.length > 0) screen.status(""); // it goes up, and is not to be drawn below once more
    screen.print(rows.map((row) => INDENT + row));
    if (used > 0) shown.push(open.slice(0, used));
    open = open.slice(used);
    screen.status(below.slice(-Math.max(1, screen.rows - 4)).map((row) => INDENT + row));
  }
  return {
    push(piece) {
      if (!screen.rewrites || isForPrograms) return; // a file has room for what is whole
      open = shown.length === 0 && open === "" ? piece.trimStart() : open + piece;
      if (shown.length === 0) isForPrograms = FOR_PROGRAMS.test(open);
      if (isForPrograms) open = "";
      if (open === "" || (shown.length === 0 && MAYBE_FOR_PROGRAMS.test(open))) return;
      thought.keep();
      pacer.soon();
    },
    think(piece) {
      if (screen.rewrites && shown.length === 0 && open === "") thought.push(piece);
    },
    settle(text) {
      thought.keep();
      const before = shown.join("");
      const isPreviewed = before + open !== "" && text.trimStart().startsWith(before.trimEnd());
      if (isPreviewed) {
        open = text.trimStart().slice(before.length);
        draw(true);
      }
      forget();
      return isPreviewed;
    },
    drop() {
      thought.keep();
      if (open !== "") draw(true);
      forget();
    },
  };
}

interface Thought {
  push(piece: string): void;
  /** Something else follows: its last rows stay. */
  keep(): void;
}

function createThought(screen: Screen, verbose: boolean): Thought {
  let thought = "";
  const pacer = createPacer(() => screen.status(thoughtRows(screen, thought, THOUGHT_ROWS)));
  return {
    push(piece) {
      thought = (thought + piece).slice(-KEPT_THOUGHT);
      pacer.soon();
    },
    keep() {
      pacer.stop();
      if (thought.trim() === "") return;
      screen.status("");
      screen.print(thoughtRows(screen, thought, verbose ? Infinity : THOUGHT_ROWS));
      thought = "";
    },
  };
}

interface Pacer {
  /** Draws at once, or soon: people see no more often than this, and the last of it always. */
  soon(): void;
  stop(): void;
}

function createPacer(draw: () => void): Pacer {
  let next = 0;
  let timer: NodeJS.Timeout | undefined;
  function drawNow(): void {
    timer = undefined;
    const start = performance.now();
    draw();
    // What takes long to draw is drawn less often.
    const end = performance.now();
    next = end + Math.max(EVERY_MS, 4 * (end - start));
  }
  return {
    soon() {
      const wait = next - performance.now();
      if (wait <= 0) drawNow();
      else timer ??= setTimeout(drawNow, wait).unref();
    },
    stop() {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}

/** What a model thinks, with a line beside it, so that nobody takes it for the answer where there are no colours. */
function thoughtRows({ columns = 80, paint }: Screen, thought: string, most: number): readonly string[] {
  const width = Math.max(NARROWEST, columns - 5);
  // What is far before the first row that is shown is not worth measuring.
  const near = thought.trim().slice(-width * Math.min(most, 10_000) * 4);
  const rows = near
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .flatMap((line) => wrap(makeVisible(line.replaceAll("\t", " ")), width));
  const isCut = rows.length > most || near.length < thought.trim().length;
  const last = rows.slice(-most);
  if (isCut) last[0] = `… ${last[0]?.slice(0, width - 2) ?? ""}`;
  return last.map((row) => paint("dim", `${INDENT}│ ${row}`));
}
