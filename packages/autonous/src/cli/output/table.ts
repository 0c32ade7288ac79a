import { makeVisible } from "@autonous/runtime";
import { cutTo, pad, widthOf, wrap } from "../../channels/words/width.ts";

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
  for (const row of rows) row.forEach((cell, i) => (widths[i] = Math.max(widths[i] ?? 0, widthOf(cell))));
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
  const indent = before.map((cell) => " ".repeat(widthOf(cell)));
  return [[...before, first], ...more.map((line) => [...indent, line])].map((line) => line.join(GAP).trimEnd());
}
