import fc from "fast-check";
import { expect, test } from "vitest";
import { createMarkdownLayout } from "./markdown-layout.ts";
import type { Style } from "./screen.ts";
import { widthOf } from "../words/width.ts";

/** Styles as marks that can be read: `<bold>x</>`. */
const marked = (style: Style, text: string): string => `<${style}>${text}</>`;
const bare = (_: Style, text: string): string => text;

function rowsOf(text: string, { width = 60, step = Infinity, paint = bare } = {}): readonly string[] {
  const layout = createMarkdownLayout(paint);
  const rows: string[] = [];
  let open = "";
  for (let at = 0; at < text.length; at += step) {
    open += text.slice(at, at + step);
    const laid = layout.take(open, width, false);
    rows.push(...laid.rows);
    open = open.slice(laid.used);
    for (const row of [...laid.rows, ...laid.below])
      expect(paint === bare ? widthOf(row) : 0).toBeLessThanOrEqual(width);
  }
  return [...rows, ...layout.take(open, width, true).rows];
}

// oxfmt-ignore
const RENDERED = [
  { title: "headings",          text: "# One *two*\ntext\n## Three",         rows: ["<underline><bold>One </></><italic><underline><bold>two</></></>", "text", "<underline><bold>Three</></>"] },
  { title: "bold and italics",  text: "a **b** _c_ ***d***",                 rows: ["a <bold>b</> <italic>c</> <bold><italic>d</></>"] },
  { title: "code spans",        text: "run `a  b*c*` now",                   rows: ["run <cyan>a  b*c*</> now"] },
  { title: "struck out text",   text: "~~gone~~",                            rows: ["<strikethrough>gone</>"] },
  { title: "links with where they lead", text: "[here](http://x.y)",         rows: ["<underline>here</><dim> (http://x.y)</>"] },
  { title: "bare links once",   text: "see http://x.y",                      rows: ["see <underline>http://x.y</>"] },
  { title: "code",              text: "```ts\nlet a;\n\n  **b**\n```\nend",  rows: ["  <cyan>let a;</>", "", "  <cyan>  **b**</>", "end"] },
  { title: "code without end",  text: "~~~\na\n```\nb",                      rows: ["  <cyan>a</>", "  <cyan>```</>", "  <cyan>b</>"] },
  { title: "lists",             text: "- a\n- b\n  1. c\n  2. d",            rows: ["<dim>•</> a", "<dim>•</> b", "  <dim>1.</> c", "  <dim>2.</> d"] },
  { title: "a list that begins later", text: "7. a\n8. b",                   rows: ["<dim>7.</> a", "<dim>8.</> b"] },
  { title: "tasks",             text: "- [ ] a\n- [x] b",                    rows: ["<dim>•</> ☐ a", "<dim>•</> ☑ b"] },
  { title: "quotes",            text: "> a\n> b\n\nc",                       rows: ["<dim>│</> a b", "", "c"] },
  { title: "rules",             text: "a\n\n---\n\nb",                       rows: ["a", "", `<dim>${"─".repeat(40)}</>`, "", "b"] },
  { title: "tables",            text: "|a|bcd|\n|-|-|\n|`x`|y|\n",           rows: ["<bold>a</><dim> │ </><bold>bcd</>", "<dim>──┼────</>", "<cyan>x</><dim> │ </>y"] },
  { title: "tags and entities as they are", text: "a <b>c</b> &amp; d",      rows: ["a <b>c</b> &amp; d"] },
  { title: "plain text",        text: "one\n\n\n\ntwo",                      rows: ["one", "", "two"] },
];

for (const { title, text, rows } of RENDERED) {
  test(`Markdown becomes rows: ${title}, however it comes`, () => {
    const whole = rowsOf(text, { paint: marked });
    expect(whole).toEqual(rows);
    for (const step of [1, 3, 7]) expect(rowsOf(text, { paint: marked, step })).toEqual(whole);
  });
}

test("a table is as wide as its cells, wraps them on a narrow screen, and becomes a list on a very narrow one", () => {
  const table = "| name | what it does |\n|---|---|\n| ls | lists the files of a folder |\n| rm | removes |\n";
  expect(rowsOf(table)).toEqual([
    "name │ what it does",
    "─────┼────────────────────────────",
    "ls   │ lists the files of a folder",
    "rm   │ removes",
  ]);
  expect(rowsOf(table, { width: 24 })).toEqual([
    "name │ what it does",
    "─────┼──────────────────",
    "ls   │ lists the files",
    "     │ of a folder",
    "rm   │ removes",
  ]);
  expect(rowsOf(table, { width: 12 })).toEqual([
    "name: ls",
    "what it",
    "does: lists",
    "the files of",
    "a folder",
    "",
    "name: rm",
    "what it",
    "does:",
    "removes",
    "",
  ]);
});

test("the unfinished part is shown below in its current form", () => {
  const layout = createMarkdownLayout(marked);
  expect(layout.take("Hello **wor", 60, false)).toEqual({ rows: [], used: 0, below: ["Hello **wor"] });
  expect(layout.take("Hello **world**", 60, false).below).toEqual(["Hello <bold>world</>"]);
  expect(layout.take("Hello **world**\n\nNext", 60, false)).toEqual({
    rows: ["Hello <bold>world</>"],
    used: 17,
    below: ["Next"],
  });
  expect(layout.take("Next\n``", 60, false).rows).toEqual([]);
});

const HOSTILE = "\u001b[2J\u001b]0;t\u0007\u202e\r\u0000";

test("Markdown cannot control the terminal, and every row fits", () => {
  const unit = fc.constantFrom(
    "#", "*", "**", "_", "`", "```", "~", "|", "-", ">", "[", "](", ")", "!", "<", "&", "\\", "\n", "\n\n", " ", "    ", "\t",
    "1. ", "- ", "word", "文件", "👍🏽", "http://x.y/", HOSTILE, "&#27;", "|-|-|\n", "[x] ", "x".repeat(90),
  ); // prettier-ignore
  fc.assert(
    fc.property(fc.array(unit, { maxLength: 40 }), fc.integer({ min: 20, max: 90 }), (parts, width) => {
      const text = parts.join("");
      const rows = rowsOf(text, { width });
      // oxlint-disable-next-line no-control-regex
      expect(rows.join("")).not.toMatch(/[\u0000-\u001f\u202e]/);
      rowsOf(text, { width, step: 5 }); // what is below fits too
    }),
    { numRuns: 500 },
  );
});

// oxfmt-ignore
const ENDLESS = [
  { title: "a line of a megabyte",       text: "x".repeat(1_000_000) },
  { title: "quotes a thousand deep",     text: `${">".repeat(100_000)} x` },
  { title: "lists in lists",             text: Array.from({ length: 400 }, (_, i) => `${" ".repeat(2 * i)}- x`).join("\n") },
  { title: "emphasis without end",       text: "**a ".repeat(100_000) },
  { title: "brackets",                   text: "[a](".repeat(100_000) },
  { title: "code without end",           text: `\`\`\`\n${"x".repeat(500_000)}` },
  { title: "a table of 500 columns",     text: `|${"a|".repeat(500)}\n|${"-|".repeat(500)}\n${`|${"b|".repeat(500)}\n`.repeat(100)}` },
  { title: "a table of 10,000 rows",     text: `|a|b|\n|-|-|\n${"|x|y|\n".repeat(10_000)}` },
];

for (const { title, text } of ENDLESS) {
  test(`${title} is rendered quickly`, () => {
    const rows = rowsOf(text, { step: 50_000 });
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.filter((row) => widthOf(row) > 60)).toEqual([]);
  }, 60_000);
}
