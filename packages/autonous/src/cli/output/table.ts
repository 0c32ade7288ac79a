import { makeVisible } from "@autonous/runtime/internal";
import { cutTo, pad, widthOf, wrap } from "../../channels/words/width.ts";

export interface TableOptions {
  /** The maximum width of rows; undefined: unlimited. */
  readonly width?: number | undefined;
  /** The number of leading columns that are never shortened. Default: 1. */
  readonly fixed?: number;
  /** Whether the last column is wrapped (the default) or cut like the others. */
  readonly last?: "wrap" | "cut";
}

const GAP = "  ";
/** The minimum width of a column: less would be useless. */
const LEAST = 10;

/** Columns of text, as wide as their widest cell; if that is too wide, the widest columns shrink. */
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
