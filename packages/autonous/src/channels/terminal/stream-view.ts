import { makeVisible } from "@autonous/runtime/internal";
import { plainLayout } from "./plain-layout.ts";
import type { Layout } from "./plain-layout.ts";
import type { Screen } from "./screen.ts";
import { wrap } from "../words/width.ts";

/**
 * Shows a streamed reply: finished rows are permanent, those below them are redrawn in place. It is a preview: the
 * recorded text is authoritative, and `settle` prints the part of it that is not on the screen yet.
 */
export interface StreamView {
  /** A piece of the reply, redacted. */
  push(piece: string): void;
  /** A piece of the model's reasoning: its last rows are shown while it streams, and stay when it ends. */
  think(piece: string): void;
  /** The reply is complete; `text` is the recorded text. Returns whether all of it is on the screen now. */
  settle(text: string): boolean;
  /** The reply was discarded. */
  drop(): void;
}

export interface StreamViewOptions {
  /** Layout of the text. Default: plain. */
  readonly layout?: Layout;
  /** Keeps all of the reasoning on the screen. */
  readonly verbose?: boolean;
}

/** Replies that begin like this are for the program: the plain JSON protocol, or a reasoning block before it. */
const FOR_PROGRAMS = /^(?:\{|```(?:json)?\s*\{|<)/;
/** A prefix of such a beginning. */
const MAYBE_FOR_PROGRAMS = /^`{1,3}(?:j|js|jso|json)?\s*$/;
const INDENT = "  ";
const NARROWEST = 20;
const EVERY_MS = 40;
/** Rows of reasoning that are shown, and how much of its text is kept for them. */
const THOUGHT_ROWS = 4;
const KEPT_THOUGHT = 200_000;

export function createStreamView(screen: Screen, options: StreamViewOptions = {}): StreamView {
  const { layout = plainLayout, verbose = false } = options;
  /** The permanent pieces of this reply. */
  const shown: string[] = [];
  /** The text after them. */
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
    if (rows.length > 0) screen.status(""); // the rows are printed above, so they must not be drawn below again
    screen.print(rows.map((row) => INDENT + row));
    if (used > 0) shown.push(open.slice(0, used));
    open = open.slice(used);
    screen.status(below.slice(-Math.max(1, screen.rows - 4)).map((row) => INDENT + row));
  }
  return {
    push(piece) {
      if (!screen.rewrites || isForPrograms) return; // a file gets only the complete reply
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

interface ReasoningRows {
  push(piece: string): void;
  /** The reasoning ends: its last rows stay. */
  keep(): void;
}

function createThought(screen: Screen, verbose: boolean): ReasoningRows {
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
  /** Draws now or soon: at most this often, and always the final state. */
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
    // Slow drawings are drawn less often.
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

/** Reasoning with a bar at its left, so that it differs from the answer also without colours. */
function thoughtRows({ columns = 80, paint }: Screen, thought: string, most: number): readonly string[] {
  const width = Math.max(NARROWEST, columns - 5);
  // Text far before the first visible row need not be measured.
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
