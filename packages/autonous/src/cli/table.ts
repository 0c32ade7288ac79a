import { makeVisible } from "@autonous/runtime";

export interface TableOptions {
  /** What the rows have to fit in; undefined: they are as wide as they come. */
  readonly width?: number | undefined;
  /** So many columns are shown whole whatever the width. Default: the first one. */
  readonly fixed?: number;
  /** The last column is wrapped where it does not fit (the default), or cut like the others. */
  readonly last?: "wrap" | "cut";
}

const GAP = "  ";
/** No column is made narrower than this: less would say nothing. */
const LEAST = 10;

/** Columns of text, as wide as their widest cell; where that is too wide the widest columns give way. */
export function table(rows: readonly (readonly string[])[], options: TableOptions = {}): string {
  const cells = rows.map((row) => row.map(makeVisible));
  const widths = fit(naturalWidths(cells), options);
  return cells.flatMap((row) => rowLines(row, widths, options.last ?? "wrap")).join("\n");
}

function naturalWidths(rows: readonly (readonly string[])[]): number[] {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, i) => (widths[i] = Math.max(widths[i] ?? 0, lengthOf(cell))));
  return widths;
}

function fit(natural: readonly number[], { width, fixed = 1 }: TableOptions): readonly number[] {
  const widths = [...natural];
  if (width === undefined) return widths;
  const all = widths.reduce((sum, each) => sum + each, GAP.length * (widths.length - 1));
  for (let excess = all - width; excess > 0; excess--) {
    const flexible = widths.slice(fixed);
    const widest = Math.max(...flexible);
    if (widest <= LEAST) break;
    widths[fixed + flexible.lastIndexOf(widest)] = widest - 1;
  }
  return widths;
}

function rowLines(row: readonly string[], widths: readonly number[], last: "wrap" | "cut"): string[] {
  const before = row.slice(0, -1).map((cell, i) => pad(cutTo(cell, widths[i] ?? 0), widths[i] ?? 0));
  const lastCell = row.at(-1) ?? "";
  const room = widths[row.length - 1] ?? 0;
  const [first = "", ...more] = last === "wrap" ? wrap(lastCell, room) : [cutTo(lastCell, room)];
  const indent = before.map((cell) => " ".repeat(lengthOf(cell)));
  return [[...before, first], ...more.map((line) => [...indent, line])].map((line) => line.join(GAP).trimEnd());
}

/** Text on lines of at most this length: broken between words, inside one only where it is too long by itself. */
function wrap(text: string, width: number): string[] {
  const lines = [""];
  for (const word of text.split(" ").flatMap((each) => pieces(each, width))) {
    const line = lines.at(-1) ?? "";
    if (line === "") lines[lines.length - 1] = word;
    else if (lengthOf(line) + 1 + lengthOf(word) <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function pieces(word: string, length: number): string[] {
  const characters = Array.from(word);
  if (characters.length <= length) return [word];
  return Array.from({ length: Math.ceil(characters.length / length) }, (_, i) =>
    characters.slice(i * length, (i + 1) * length).join(""),
  );
}

/** Text of at most this many characters; the last one says that there was more. */
export function cutTo(text: string, length: number): string {
  return lengthOf(text) <= length
    ? text
    : `${Array.from(text)
        .slice(0, length - 1)
        .join("")}…`;
}

function pad(text: string, length: number): string {
  return text + " ".repeat(Math.max(0, length - lengthOf(text)));
}

function lengthOf(text: string): number {
  return Array.from(text).length;
}
