import { makeVisible } from "@autonous/runtime/internal";
import type { Style } from "./screen.ts";
import { foldHard, widthOf } from "../words/width.ts";

/** A text with one style. */
export interface Piece {
  readonly text: string;
  readonly styles: readonly Style[];
}

interface StyledOptions {
  readonly width: number;
  readonly paint: (style: Style, text: string) => string;
}

/** Wraps pieces to this width, between words; `\n` starts a new row only as a separate piece. */
export function styledRows(pieces: readonly Piece[], { width, paint }: StyledOptions): readonly string[] {
  return breakRows(pieces, Math.max(1, width)).map((row) => paintRow(row, paint));
}

/** The widest row of unwrapped pieces. */
export function widthOfPieces(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, { text }) => sum + widthOf(makeVisible(text)), 0);
}

type Row = Piece[];

/** A word may consist of several pieces, such as `**a**b`: it is broken only at spaces, or if it is too long. */
function breakRows(pieces: readonly Piece[], width: number): readonly Row[] {
  const rows: Row[] = [[]];
  let used = 0;
  let word: Piece[] = [];
  let blank: Piece | undefined;

  function startRow(): void {
    rows.push([]);
    used = 0;
    blank = undefined;
  }
  function endWord(): void {
    if (word.length === 0) return;
    const columns = word.reduce((sum, { text }) => sum + widthOf(text), 0);
    if (used > 0 && used + (blank?.text.length ?? 0) + columns > width) startRow();
    if (blank !== undefined && used > 0) {
      rows.at(-1)?.push(blank);
      used += blank.text.length;
    }
    for (const { text, styles } of word) {
      for (const part of used + widthOf(text) <= width ? [text] : foldHard(text, width)) {
        if (used + widthOf(part) > width && used > 0) startRow();
        rows.at(-1)?.push({ text: part, styles });
        used += widthOf(part);
      }
    }
    word = [];
    blank = undefined;
  }
  for (const { text, styles } of pieces) {
    if (text === "\n") {
      endWord();
      startRow();
      continue;
    }
    for (const part of text.split(/([ \t\n]+)/)) {
      if (part === "") continue;
      if (/^[ \t\n]/.test(part)) {
        endWord();
        // In code every space counts.
        blank = { text: styles.includes("cyan") ? part.replaceAll(/[\t\n]/g, " ") : " ", styles };
      } else word.push({ text: makeVisible(part), styles });
    }
  }
  endWord();
  return rows;
}

function paintRow(row: readonly Piece[], paint: StyledOptions["paint"]): string {
  const joined: { text: string; styles: readonly Style[] }[] = [];
  for (const { text, styles } of row) {
    const last = joined.at(-1);
    if (last !== undefined && last.styles.join() === styles.join()) last.text += text;
    else joined.push({ text, styles });
  }
  return joined.map(({ text, styles }) => styles.reduce((painted, style) => paint(style, painted), text)).join("");
}
