import { makeVisible } from "@autonous/runtime/internal";
import { expandTabs, widthOf } from "../words/width.ts";

/** Lays out streamed text as rows. */
export interface Layout {
  /** The permanent rows of a text that may continue, the length that they cover, and the preview of the rest. */
  take(text: string, width: number, isWhole: boolean): LaidRows;
  /** Starts a new text. */
  reset(): void;
}

export interface LaidRows {
  readonly rows: readonly string[];
  readonly used: number;
  readonly below: readonly string[];
}

/** Plain text: a row becomes permanent when it is full. */
export const plainLayout: Layout = {
  take(text, width, isWhole) {
    const { rows, used } = fullRows(text, width, isWhole);
    const open = text.slice(used);
    return { rows, used, below: open === "" ? [] : [show(open)] };
  },
  reset() {},
};

function show(text: string): string {
  return makeVisible(expandTabs(text));
}

/** The rows that cannot grow any more; all rows if the text is complete. */
function fullRows(text: string, width: number, isWhole: boolean): Omit<LaidRows, "below"> {
  const rows: string[] = [];
  let used = 0;
  for (;;) {
    const end = text.indexOf("\n", used);
    const line = text.slice(used, end < 0 ? text.length : end);
    const taken = rowEnd(line, width);
    if (taken < line.length) {
      rows.push(show(line.slice(0, taken).trimEnd()));
      used += taken;
    } else if (end >= 0) {
      rows.push(show(line));
      used = end + 1;
    } else {
      if (isWhole && line !== "") rows.push(show(line));
      return { rows, used: isWhole ? text.length : used };
    }
  }
}

/** How much of a line fits: up to a space if it has one, all of it if it is short. */
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
