import { makeVisibleLines } from "@autonous/runtime/internal";
import type { Tokens } from "marked";
import { widthOf } from "../../words/width.ts";
import { inlineRich } from "./rich-inline.ts";
import { joinRich, markAll, plainText } from "./rich-text.ts";
import type { RichText } from "./rich-text.ts";

/** What a phone shows of code in one line. A wider table would be broken in the middle of its rows. */
const PHONE_COLUMNS = 40;
const BETWEEN = "  ";

/** A table in columns where a phone has room for them, else each row as lines of "header: value". */
export function tableRich(table: Tokens.Table): RichText {
  if (hasLost(table)) return markAll(plainText(makeVisibleLines(table.raw.trimEnd())), { type: "pre" });
  const rows = [table.header, ...table.rows].map((row) => row.map(({ tokens }) => inlineRich(tokens)));
  const widths = table.header.map((_, at) => Math.max(1, ...rows.map((row) => widthOf(oneLine(row[at])))));
  const total = widths.reduce((sum, width) => sum + width, BETWEEN.length * (widths.length - 1));
  if (total > PHONE_COLUMNS) return listed(rows);
  const lines = rows.map((row) => alignedRow(row, widths, table.align));
  const rule = widths.map((width) => "─".repeat(width)).join(BETWEEN);
  return markAll(plainText([lines[0] ?? "", rule, ...lines.slice(1)].join("\n")), { type: "pre" });
}

/** GitHub's tables drop cells that are beyond the header: then the text is shown as it was written. */
function hasLost({ raw, header, rows }: Tokens.Table): boolean {
  const words = (text: string): string => text.replaceAll(/[^\p{L}\p{N}]/gu, "");
  const cells = [header, ...rows].flatMap((row) => row.map(({ text }) => text));
  return words(raw) !== words(cells.join(""));
}

function oneLine(cell: RichText | undefined): string {
  return (cell?.text ?? "").replaceAll(/\s+/g, " ");
}

function alignedRow(
  row: readonly RichText[],
  widths: readonly number[],
  align: readonly ("center" | "left" | "right" | null)[],
): string {
  return widths
    .map((width, at) => {
      const text = oneLine(row[at]);
      const room = width - widthOf(text);
      const before = align[at] === "right" ? room : align[at] === "center" ? Math.floor(room / 2) : 0;
      return `${" ".repeat(before)}${text}${" ".repeat(room - before)}`;
    })
    .join(BETWEEN)
    .trimEnd();
}

function listed([header = [], ...rows]: readonly (readonly RichText[])[]): RichText {
  if (rows.length === 0) return joinRich(header, "\n");
  return joinRich(
    rows.map((row) =>
      joinRich(
        row.map((cell, at) => {
          const name = header[at] ?? plainText("");
          return name.text === "" ? cell : joinRich([markAll(name, { type: "bold" }), plainText(": "), cell]);
        }),
        "\n",
      ),
    ),
    "\n\n",
  );
}
