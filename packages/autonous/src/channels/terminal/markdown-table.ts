import type { Token, Tokens } from "marked";
import type { Style } from "./screen.ts";
import { styledRows, widthOfPieces } from "./styled-text.ts";
import type { Piece } from "./styled-text.ts";
import { widthOfPainted } from "../words/width.ts";

interface TableOptions {
  readonly width: number;
  readonly paint: (style: Style, text: string) => string;
  readonly cell: (tokens: readonly Token[]) => readonly Piece[];
}

/** Narrower columns would break every word: then each row becomes a list of its cells. */
const NARROWEST = 6;
const BETWEEN = " │ ";

export function tableRows({ header, rows }: Tokens.Table, options: TableOptions): readonly string[] {
  const all = [header, ...rows].map((row) => row.map(({ tokens }) => options.cell(tokens)));
  const [head = [], ...body] = all;
  const widths = columnWidths(all, options.width);
  if (widths === undefined) return body.flatMap((row) => listedRow(head, row, options));
  const line = options.paint("dim", widths.map((each) => "─".repeat(each)).join("─┼─"));
  const bold = head.map((cell) => cell.map(({ text, styles }): Piece => ({ text, styles: [...styles, "bold"] })));
  return [...rowLines(bold, widths, options), line, ...body.flatMap((row) => rowLines(row, widths, options))];
}

/** As wide as their content; if that is too wide, the widest columns shrink. Undefined if they do not fit. */
function columnWidths(rows: readonly (readonly (readonly Piece[])[])[], width: number): readonly number[] | undefined {
  const count = rows[0]?.length ?? 0;
  const room = width - BETWEEN.length * (count - 1);
  if (count === 0 || room < NARROWEST * count) return undefined;
  const widths = Array.from({ length: count }, (_, at) =>
    rows.reduce((most, row) => Math.max(most, widthOfPieces(row[at] ?? [])), 1),
  );
  const total = (): number => widths.reduce((sum, each) => sum + each, 0);
  while (total() > room) {
    const widest = Math.max(...widths);
    const second = Math.max(NARROWEST, ...widths.filter((each) => each < widest));
    const over = total() - room;
    const share = Math.ceil(over / widths.filter((each) => each === widest).length);
    for (const [at, each] of widths.entries()) {
      if (each === widest) widths[at] = Math.max(second, widest - share, NARROWEST);
    }
    if (second === widest) break;
  }
  return total() > room ? undefined : widths;
}

function rowLines(
  row: readonly (readonly Piece[])[],
  widths: readonly number[],
  { paint }: TableOptions,
): readonly string[] {
  const cells = widths.map((width, at) => styledRows(row[at] ?? [], { width, paint }));
  const height = Math.max(...cells.map((lines) => lines.length));
  return Array.from({ length: height }, (_, line) =>
    cells
      .map((lines, at) => padPainted(lines[line] ?? "", widths[at] ?? 0))
      .join(paint("dim", BETWEEN))
      .trimEnd(),
  );
}

function padPainted(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - widthOfPainted(text)));
}

function listedRow(
  head: readonly (readonly Piece[])[],
  row: readonly (readonly Piece[])[],
  options: TableOptions,
): readonly string[] {
  const cells = row.map((cell, at): readonly Piece[] => [
    ...(head[at] ?? []).map(({ text, styles }): Piece => ({ text, styles: [...styles, "bold"] })),
    { text: ": ", styles: ["bold"] },
    ...cell,
  ]);
  return [...cells.flatMap((cell) => styledRows(cell, options)), ""];
}
