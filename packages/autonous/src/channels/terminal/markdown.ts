import { makeVisible } from "@autonous/runtime/internal";
import type { Token, Tokens } from "marked";
import { readMarkdown } from "../words/markdown-tokens.ts";
import type { Style } from "./screen.ts";
import { styledRows, widthOfPieces } from "./styled-text.ts";
import type { Piece } from "./styled-text.ts";
import { expandTabs, foldHard, widthOfPainted } from "../words/width.ts";

export interface MarkdownOptions {
  readonly width: number;
  readonly paint: (style: Style, text: string) => string;
}

/** Deeper nesting, or less room, is shown unformatted. */
const MIN_WIDTH = 12;
const DEEPEST = 6;
const BULLETS = ["•", "◦", "▪"] as const;

/**
 * Markdown as rows for a terminal, at most `width` wide. Control characters are made visible, so nothing acts on the
 * terminal. Text that cannot be parsed as Markdown, such as thousands of nested blocks, is shown unformatted.
 */
export function markdownRows(text: string, options: MarkdownOptions): readonly string[] {
  const tokens = readMarkdown(text);
  if (tokens === undefined) return text.split("\n").flatMap((line) => codeRows(line, options));
  return blockRows(tokens, { ...options, depth: 0 });
}

/** A line of code, unchanged: the rest of a long line continues on the next row. */
export function codeRows(line: string, { width, paint }: MarkdownOptions): readonly string[] {
  const shown = expandTabs(line.split("\t").map(makeVisible).join("\t"));
  return foldHard(shown, Math.max(1, width)).map((row) => (row === "" ? "" : paint("cyan", row)));
}

interface NestedOptions extends MarkdownOptions {
  readonly depth: number;
}

type BlockRows = (token: never, options: NestedOptions) => readonly string[];

// oxfmt-ignore
const BLOCKS: Readonly<Record<string, BlockRows>> = {
  heading:    ({ tokens, depth }: Tokens.Heading, options) => styledRows(inline(tokens, depth <= 2 ? ["bold", "underline"] : ["bold"]), options),
  paragraph:  ({ tokens }: Tokens.Paragraph, options) => styledRows(inline(tokens, []), options),
  text:       ({ tokens, text }: Tokens.Text, options) => styledRows(tokens === undefined ? [{ text, styles: [] }] : inline(tokens, []), options),
  code:       ({ text }: Tokens.Code, options) => text.split("\n").flatMap((line) => inset("  ", codeRows(line, narrower(options, 2)))),
  blockquote: ({ tokens }: Tokens.Blockquote, options) => inset(`${options.paint("dim", "│")} `, blockRows(tokens, narrower(options, 2))),
  list:       listRows,
  table:      (table: Tokens.Table, options) => tableRows(table, { ...options, cell: (tokens) => inline(tokens, []) }),
  hr:         (_: Tokens.Hr, { width, paint }) => [paint("dim", "─".repeat(Math.min(width, 40)))],
  space:      () => [],
  def:        ({ raw }: Tokens.Def, options) => styledRows([{ text: raw, styles: [] }], options),
  html:       ({ raw }: Tokens.HTML, options) => raw.trimEnd().split("\n").flatMap((line) => styledRows([{ text: line, styles: [] }], options)),
};

function narrower(options: NestedOptions, columns: number): NestedOptions {
  return { ...options, width: Math.max(1, options.width - columns), depth: options.depth + 1 };
}

function inset(before: string, rows: readonly string[]): readonly string[] {
  return rows.map((row) => `${before}${row}`);
}

function blockRows(tokens: readonly Token[], options: NestedOptions): readonly string[] {
  if (options.depth > DEEPEST || options.width < MIN_WIDTH)
    return styledRows([{ text: tokens.map(({ raw }) => raw).join(""), styles: [] }], options);
  const blocks = tokens.map((token) => ({
    isApart: token.type === "space",
    rows: BLOCKS[token.type]?.(token as never, options) ?? styledRows([{ text: token.raw, styles: [] }], options),
  }));
  return blocks.flatMap(({ isApart, rows }, at) => (isApart ? (at > 0 && at < blocks.length - 1 ? [""] : []) : rows));
}

function listRows({ items, ordered, start, loose }: Tokens.List, options: NestedOptions): readonly string[] {
  const first = typeof start === "number" ? start : 1;
  return items.flatMap((item, at) => {
    const mark = ordered ? `${first + at}.` : (BULLETS[options.depth % BULLETS.length] ?? "•");
    const box = item.task ? `${item.checked === true ? "☑" : "☐"} ` : "";
    const head = `${options.paint("dim", mark)} ${box}`;
    const indent = " ".repeat(mark.length + 1);
    const tokens = item.tokens.filter(({ type }) => type !== "checkbox");
    const [row = "", ...rest] = blockRows(tokens, narrower(options, indent.length + box.length));
    const gap = loose && at < items.length - 1 ? [""] : [];
    return [`${head}${row}`, ...rest.map((each) => (each === "" ? "" : `${indent}${each}`)), ...gap];
  });
}

type InlineStyles = readonly Style[];

/** Tokens as pieces of text with one style each. */
function inline(tokens: readonly Token[], styles: InlineStyles): readonly Piece[] {
  return tokens.flatMap((token) => INLINES[token.type]?.(token as never, styles) ?? [{ text: token.raw, styles }]);
}

// oxfmt-ignore
const INLINES: Readonly<Record<string, (token: never, styles: InlineStyles) => readonly Piece[]>> = {
  text:     ({ text, tokens }: Tokens.Text, styles) => (tokens === undefined ? [{ text, styles }] : inline(tokens, styles)),
  escape:   ({ text }: Tokens.Escape, styles) => [{ text, styles }],
  strong:   ({ tokens }: Tokens.Strong, styles) => inline(tokens, [...styles, "bold"]),
  em:       ({ tokens }: Tokens.Em, styles) => inline(tokens, [...styles, "italic"]),
  del:      ({ tokens }: Tokens.Del, styles) => inline(tokens, [...styles, "strikethrough"]),
  codespan: ({ text }: Tokens.Codespan, styles) => [{ text, styles: [...styles, "cyan"] }],
  br:       (_: Tokens.Br, styles) => [{ text: "\n", styles }],
  link:     linkPieces,
  image:    ({ text, href }: Tokens.Image, styles) => [{ text: text === "" ? "image" : text, styles }, { text: ` (${href})`, styles: ["dim"] }],
};

/** The target of a link is shown next to it, because its text may be misleading. */
function linkPieces({ tokens, text, href }: Tokens.Link, styles: InlineStyles): readonly Piece[] {
  const pieces = inline(tokens, [...styles, "underline"]);
  return text === href || `mailto:${text}` === href ? pieces : [...pieces, { text: ` (${href})`, styles: ["dim"] }];
}

interface TableOptions {
  readonly width: number;
  readonly paint: (style: Style, text: string) => string;
  readonly cell: (tokens: readonly Token[]) => readonly Piece[];
}

/** Narrower columns would break every word: then each row becomes a list of its cells. */
const MIN_COLUMN_WIDTH = 6;
const BETWEEN = " │ ";

function tableRows({ header, rows }: Tokens.Table, options: TableOptions): readonly string[] {
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
  if (count === 0 || room < MIN_COLUMN_WIDTH * count) return undefined;
  const widths = Array.from({ length: count }, (_, at) =>
    rows.reduce((most, row) => Math.max(most, widthOfPieces(row[at] ?? [])), 1),
  );
  const total = (): number => widths.reduce((sum, each) => sum + each, 0);
  while (total() > room) {
    const widest = Math.max(...widths);
    const second = Math.max(MIN_COLUMN_WIDTH, ...widths.filter((each) => each < widest));
    const over = total() - room;
    const share = Math.ceil(over / widths.filter((each) => each === widest).length);
    for (const [at, each] of widths.entries()) {
      if (each === widest) widths[at] = Math.max(second, widest - share, MIN_COLUMN_WIDTH);
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
