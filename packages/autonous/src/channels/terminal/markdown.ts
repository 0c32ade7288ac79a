import { makeVisible } from "@autonous/runtime/internal";
import type { Token, Tokens } from "marked";
import { readMarkdown } from "../words/markdown-tokens.ts";
import type { Style } from "./screen.ts";
import { styledRows } from "./styled-text.ts";
import type { Piece } from "./styled-text.ts";
import { tableRows } from "./markdown-table.ts";
import { expandTabs, foldHard } from "../words/width.ts";

export interface MarkdownOptions {
  readonly width: number;
  readonly paint: (style: Style, text: string) => string;
}

/** Deeper nesting, or less room, is shown unformatted. */
const NARROWEST = 12;
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

interface Nested extends MarkdownOptions {
  readonly depth: number;
}

type BlockRows = (token: never, options: Nested) => readonly string[];

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

function narrower(options: Nested, columns: number): Nested {
  return { ...options, width: Math.max(1, options.width - columns), depth: options.depth + 1 };
}

function inset(before: string, rows: readonly string[]): readonly string[] {
  return rows.map((row) => `${before}${row}`);
}

function blockRows(tokens: readonly Token[], options: Nested): readonly string[] {
  if (options.depth > DEEPEST || options.width < NARROWEST)
    return styledRows([{ text: tokens.map(({ raw }) => raw).join(""), styles: [] }], options);
  const blocks = tokens.map((token) => ({
    isApart: token.type === "space",
    rows: BLOCKS[token.type]?.(token as never, options) ?? styledRows([{ text: token.raw, styles: [] }], options),
  }));
  return blocks.flatMap(({ isApart, rows }, at) => (isApart ? (at > 0 && at < blocks.length - 1 ? [""] : []) : rows));
}

function listRows({ items, ordered, start, loose }: Tokens.List, options: Nested): readonly string[] {
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
