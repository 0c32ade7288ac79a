import { makeVisible } from "@autonous/runtime";
import type { Screen } from "./screen.ts";
import { expandTabs, widthOf } from "./width.ts";

/**
 * A reply as it comes: rows that are full stay, the last one is written anew in place. It is a preview: what the record
 * says in the end is what counts, and `settle` shows what of that is not there yet.
 */
export interface StreamView {
  /** A piece of what the model says, redacted. */
  push(piece: string): void;
  /** A piece of what it thinks: only the last of it is seen. */
  think(piece: string): void;
  /** The reply is whole, and this is its text as it is on record. Gives whether all of it is on the screen now. */
  settle(text: string): boolean;
  /** The reply came to nothing. */
  drop(): void;
}

/** Replies that begin like this are written for a program: the plain JSON protocol, or a reasoning block before it. */
const FOR_PROGRAMS = /^(?:\{|`|<)/;
const KEPT_THOUGHT = 200;
const INDENT = "  ";
const NARROWEST = 20;

export function createStreamView(screen: Screen): StreamView {
  /** What stays on the screen of this reply, piece by piece. */
  const shown: string[] = [];
  /** What is said after it. */
  let open = "";
  let thought = "";
  let isForPrograms = false;

  function forget(): void {
    shown.length = 0;
    open = "";
    thought = "";
    isForPrograms = false;
    screen.status("");
  }
  function draw(isWhole: boolean): void {
    const width = Math.max(NARROWEST, (screen.columns ?? 80) - INDENT.length - 1);
    const { rows, used } = fullRows(open, width, isWhole);
    if (rows.length > 0) screen.status(""); // it goes up, and is not to be drawn below once more
    screen.print(rows.map((row) => INDENT + row));
    if (used > 0) shown.push(open.slice(0, used));
    open = open.slice(used);
    screen.status(open === "" ? "" : INDENT + show(open));
  }
  return {
    push(piece) {
      if (!screen.rewrites || isForPrograms) return; // a file has room for what is whole
      open = shown.length === 0 && open === "" ? piece.trimStart() : open + piece;
      if (shown.length === 0) isForPrograms = FOR_PROGRAMS.test(open);
      if (isForPrograms) open = "";
      if (open !== "") draw(false);
    },
    think(piece) {
      if (!screen.rewrites || shown.length > 0 || open !== "") return;
      thought = (thought + piece).slice(-KEPT_THOUGHT);
      screen.status(`${INDENT}${show(thought.replaceAll(/\s+/g, " ").trim())}`);
    },
    settle(text) {
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
      if (open !== "") draw(true);
      forget();
    },
  };
}

function show(text: string): string {
  return makeVisible(expandTabs(text));
}

interface Rows {
  readonly rows: readonly string[];
  /** How much of the text they are. */
  readonly used: number;
}

/** The rows of a text that nothing can be added to any more; all of them where it is whole. */
function fullRows(text: string, width: number, isWhole: boolean): Rows {
  const rows: string[] = [];
  let used = 0;
  for (;;) {
    const left = text.slice(used);
    const end = left.indexOf("\n");
    const line = end < 0 ? left : left.slice(0, end);
    const taken = rowEnd(line, width);
    if (taken < line.length) {
      rows.push(show(line.slice(0, taken).trimEnd()));
      used += taken;
    } else if (end >= 0) {
      rows.push(show(line));
      used += end + 1;
    } else {
      if (isWhole && line !== "") rows.push(show(line));
      return { rows, used: isWhole ? text.length : used };
    }
  }
}

/** How much of a line fits: up to a space where there is one, all of it where it is short. */
function rowEnd(line: string, width: number): number {
  const near = line.slice(0, width + 1);
  if (near.length === line.length && widthOf(show(line)) <= width) return line.length;
  let end = near.length;
  while (end > 1 && widthOf(show(near.slice(0, end))) > width) end--;
  const space = near.lastIndexOf(" ", end - 1);
  return space > 0 ? space + 1 : wholeCharacters(line, end);
}

/** Not between the halves of a surrogate pair. */
function wholeCharacters(line: string, end: number): number {
  const isHalf = /[\ud800-\udbff]/.test(line.charAt(end - 1)) && end < line.length;
  return isHalf ? (end > 1 ? end - 1 : end + 1) : end;
}
