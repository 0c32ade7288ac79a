import { makeVisibleLines } from "@autonous/runtime/internal";
import type { Token, Tokens } from "marked";
import { readMarkdown } from "../../words/markdown-tokens.ts";
import { inlineRich } from "./rich-inline.ts";
import { tableRich } from "./rich-table.ts";
import { indentLines, joinRich, markAll, plainText, tidyRich } from "./rich-text.ts";
import type { RichText } from "./rich-text.ts";

/**
 * Markdown as text with entities. Nothing in it can be refused for its formatting, and no words get lost: what is not
 * read as Markdown is shown as it is.
 */
export function markdownRich(given: string): RichText {
  const text = given.toWellFormed();
  const tokens = readMarkdown(text);
  return tokens === undefined ? asItIs(text) : tidyRich(blocksRich(tokens, { depth: 0, isQuoted: false }));
}

/** Text other than Markdown: the output of a program, say. Hidden characters are made visible, nothing else is touched. */
export function asItIs(text: string): RichText {
  return plainText(makeVisibleLines(text.toWellFormed().replaceAll("\r\n", "\n")));
}

interface Nesting {
  readonly depth: number;
  /** Quotes do not nest in Telegram: one inside another has a line at its left. */
  readonly isQuoted: boolean;
}

/** What is nested deeper is shown as it is. */
const DEEPEST = 6;
const BULLETS = ["•", "◦", "▪"] as const;
const RULE = "─".repeat(12);

type BlockRich = (token: never, nesting: Nesting) => RichText;

// oxfmt-ignore
const BLOCKS: Readonly<Record<string, BlockRich>> = {
  heading:    ({ tokens }: Tokens.Heading) => markAll(inlineRich(tokens), { type: "bold" }),
  paragraph:  ({ tokens }: Tokens.Paragraph) => inlineRich(tokens),
  text:       ({ text, tokens }: Tokens.Text) => (tokens === undefined ? asItIs(text) : inlineRich(tokens)),
  code:       codeRich,
  blockquote: quoteRich,
  list:       listRich,
  table:      (table: Tokens.Table) => tableRich(table),
  hr:         () => plainText(RULE),
};

function blocksRich(tokens: readonly Token[], nesting: Nesting): RichText {
  if (nesting.depth > DEEPEST)
    return asItIs(
      tokens
        .map(({ raw }) => raw)
        .join("")
        .trim(),
    );
  const parts: RichText[] = [];
  let between = "";
  for (const token of tokens) {
    if (token.type !== "space") {
      const block = BLOCKS[token.type]?.(token as never, nesting) ?? asItIs(token.raw.trim());
      if (block.text === "") continue;
      parts.push(plainText(parts.length === 0 ? "" : between), block);
      between = "\n";
    }
    if (linesAfter(token.raw) > 1) between = "\n\n";
  }
  return joinRich(parts);
}

function linesAfter(raw: string): number {
  return raw.slice(raw.trimEnd().length).split("\n").length - 1;
}

const LANGUAGE = /^[\w+#.-]{1,40}(?=\s|$)/;

/** What stands behind the language, such as the name of a file, is a line above the code. */
function codeRich({ text, lang = "" }: Tokens.Code): RichText {
  const [language = ""] = LANGUAGE.exec(lang) ?? [];
  const rest = makeVisibleLines(lang.slice(language.length).trim());
  const code = asItIs(text.trimEnd().replace(/^\n+/, ""));
  if (code.text === "") return asItIs(lang.trim());
  const block = markAll(code, { type: "pre", ...(language === "" ? {} : { language }) });
  return rest === "" ? block : joinRich([plainText(rest), block], "\n");
}

function quoteRich({ tokens }: Tokens.Blockquote, { depth, isQuoted }: Nesting): RichText {
  const inner = blocksRich(tokens, { depth: depth + 1, isQuoted: true });
  if (inner.text === "" || (!isQuoted && depth === 0)) return markAll(inner, { type: "blockquote" });
  return joinRich([plainText("│ "), indentLines(inner, "│ ")]);
}

function listRich(list: Tokens.List, nesting: Nesting): RichText {
  const marks = marksOf(list, nesting.depth);
  const items = list.items.map((item, at) => {
    const tokens = item.tokens.filter(({ type }) => type !== "checkbox");
    const inner = blocksRich(tokens, { ...nesting, depth: nesting.depth + 1 });
    const mark = marks[at] ?? "";
    const box = item.task ? (item.checked === true ? "☑" : "☐") : mark;
    const startsWithCode = inner.entities.some(({ type, offset }) => type === "pre" && offset === 0);
    return joinRich([
      plainText(`${box}${startsWithCode ? "\n" : " "}`),
      indentLines(inner, " ".repeat(mark.length + 1)),
    ]);
  });
  return joinRich(items, list.loose ? "\n\n" : "\n");
}

/** Numbers as they were written, since they may be meant; counted where all are the same, as Markdown allows. */
function marksOf({ items, ordered, start }: Tokens.List, depth: number): readonly string[] {
  if (!ordered) return items.map(() => BULLETS[depth % BULLETS.length] ?? "•");
  const written = items.map(({ raw }) => /^\s*(\d{1,9})[.)]/.exec(raw)?.[1] ?? "");
  const isCounted = new Set(written).size < 2 || written.includes("");
  return items.map((_, at) => `${isCounted ? (start === "" ? 1 : start) + at : written[at]}.`);
}
