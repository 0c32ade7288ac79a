import fc from "fast-check";
import type { MessageEntity } from "grammy/types";
import { expect, test } from "vitest";
import { asItIs, markdownRich } from "./rich-markdown.ts";
import type { RichText } from "./rich-text.ts";
import { splitText } from "./split-text.ts";

/** Entities as marks that can be read: `<bold>x</>`. */
function marks({ text, entities }: RichText): string {
  const at = new Map<number, string>();
  const add = (place: number, mark: string): unknown => at.set(place, `${at.get(place) ?? ""}${mark}`);
  for (const entity of entities.toReversed()) add(entity.offset + entity.length, "</>");
  for (const entity of entities) {
    const more = "url" in entity ? ` ${entity.url}` : "language" in entity ? ` ${entity.language}` : "";
    add(entity.offset, `<${entity.type}${more}>`);
  }
  const places = [...at.keys()].sort((one, other) => one - other);
  const start = text.slice(0, places[0]);
  return start + places.map((place, i) => `${at.get(place)}${text.slice(place, places[i + 1])}`).join("");
}

// oxfmt-ignore
const RENDERED = [
  { title: "headings",               text: "# One *two*\n\ntext\n## Three",           gives: "<bold>One <italic>two</></>\n\ntext\n<bold>Three</>" },
  { title: "emphasis",               text: "a **b** _c_ ~~d~~",                       gives: "a <bold>b</> <italic>c</> <strikethrough>d</>" },
  { title: "code in bold",           text: "**a `b` c**",                             gives: "<bold>a</> <code>b</> <bold>c</>" },
  { title: "code with its language", text: "See:\n```ts\n  let a;\n\n  **b**\n```\nend", gives: "See:\n<pre ts>  let a;\n\n  **b**</>\nend" },
  { title: "code with a file name",  text: "```ts src/a.ts\nx\n```",                  gives: "src/a.ts\n<pre ts>x</>" },
  { title: "code that never ends",   text: "~~~sh\nls\n```",                          gives: "<pre sh>ls\n```</>" },
  { title: "empty code",             text: "a\n```\n```\nb",                          gives: "a\nb" },
  { title: "links",                  text: "[here](https://x.y/z?a=b#c)",             gives: "<text_link https://x.y/z?a=b#c>here</>" },
  { title: "code in a link",         text: "[`run`](https://x.y)",                    gives: "<text_link https://x.y>run</>" },
  { title: "bare links",             text: "see https://x.y/z and <https://q.r>",     gives: "see https://x.y/z and https://q.r" },
  { title: "a link to a file",       text: "[the guide](docs/guide.md)",              gives: "the guide (docs/guide.md)" },
  { title: "a link into the app",    text: "[x](tg://resolve?domain=y) [z](javascript:a)", gives: "x (tg://resolve?domain=y) z (javascript:a)" },
  { title: "a link that lies",       text: "[https://bank.com](https://evil.com)",    gives: "https://bank.com (https://evil.com)" },
  { title: "a link that lies a bit", text: "[bank.com/a](https://evil.com) [@ada](https://evil.com)", gives: "bank.com/a (https://evil.com) @ada (https://evil.com)" },
  { title: "a link with a login",    text: "[x](https://bank.com@evil.com)",          gives: "x (https://bank.com@evil.com)" },
  { title: "images",                 text: "![a plan](https://x.y/z.png)",            gives: "<text_link https://x.y/z.png>a plan</>" },
  { title: "lists in lists",         text: "- a\n- b\n  1. c\n  2. d\n     e",        gives: "• a\n• b\n  1. c\n  2. d\n     e" },
  { title: "numbers as written",     text: "7. a\n9. b",                              gives: "7. a\n9. b" },
  { title: "numbers that count",     text: "1. a\n1. b",                              gives: "1. a\n2. b" },
  { title: "tasks",                  text: "- [ ] a\n- [x] b",                        gives: "☐ a\n☑ b" },
  { title: "code in a list",         text: "- a\n\n  ```\n  x\n    y\n  ```\n- b",    gives: "• a\n\n<pre>x\n  y</>\n\n• b" },
  { title: "quotes",                 text: "> a\n> **b**\n\nc",                       gives: "<blockquote>a\n<bold>b</></>\n\nc" },
  { title: "quotes in quotes",       text: "> a\n> > b\n> > c",                       gives: "<blockquote>a\n│ b\n│ c</>" },
  { title: "rules",                  text: "a\n\n---\n\nb",                           gives: "a\n\n────────────\n\nb" },
  { title: "tables",                 text: "|a|size|\n|-|-:|\n|`x`|12|\n|文件|3|\n",   gives: "<pre>a     size\n────  ────\nx       12\n文件     3</>" },
  { title: "a table with emoji",     text: "|a|b|\n|-|-|\n|👍|c|\n|dd|e|",            gives: "<pre>a   b\n──  ─\n👍  c\ndd  e</>" },
  { title: "a table too wide",       text: `|name|what **it** does|\n|-|-|\n|ls|${"lists ".repeat(8)}|\n|rm|x|`, gives: `<bold>name</>: ls\n<bold>what it does</>: ${"lists ".repeat(8).trim()}\n\n<bold>name</>: rm\n<bold>what it does</>: x` },
  { title: "a table with a cell too many", text: "|a|b|\n|-|-|\n|1|2|3|",             gives: "<pre>|a|b|\n|-|-|\n|1|2|3|</>" },
  { title: "escaped characters",     text: "\\*a\\* \\_b\\_ 1\\. c",                  gives: "*a* _b_ 1. c" },
  { title: "tags and entities",      text: "a <b>c</b> &amp; d\n\n<div>\n**e**\n</div>", gives: "a <b>c</b> &amp; d\n\n<div>\n**e**\n</div>" },
  { title: "names with underscores", text: "my_file_name.py, __init__.py, /a_b/c_d, _x",  gives: "my_file_name.py, __init__.py, /a_b/c_d, _x" },
  { title: "formulas",               text: "2*3*4, 2 * 3 * 4, a**2 + b**2, 2**3**4, f(x)*g(x)*h", gives: "2*3*4, 2 * 3 * 4, a**2 + b**2, 2**3**4, f(x)*g(x)*h" },
  { title: "globs",                  text: "src/*.ts,lib/*.ts and a/**/b/**/c and ~/a ~/b", gives: "src/*.ts,lib/*.ts and a/**/b/**/c and ~/a ~/b" },
  { title: "Chinese",                text: "这是**重点**内容。",                        gives: "这是<bold>重点</>内容。" },
  { title: "hidden characters",      text: "a\u202eb `c\u200bd`",                     gives: "a\\u{202e}b <code>c\\u{200b}d</>" },
  { title: "a definition twice",     text: "[x]: http://a.b\n[x]: http://c.d",        gives: "[x]: http://a.b\n[x]: http://c.d" },
] as const;

for (const { title, text, gives } of RENDERED) {
  test(`Markdown becomes entities: ${title}`, () => {
    expect(marks(markdownRich(text))).toBe(gives);
  });
}

test("plain text stays as it is", () => {
  expect(asItIs("# a\r\n*b* `c`\t_d_\u001b[1m")).toEqual({ text: "# a\n*b* `c`\t_d_\\e[1m", entities: [] });
});

const unit = fc.oneof(
  fc.constantFrom(
    "#", "# ", "*", "**", "***", "_", "__", "~~", "~", "`", "``", "```", "```ts\n", "|", "|-|-|\n", "- ", "1. ", "> ", "[", "](", ")", "](https://x.y)", "!",
    "<", ">", "<b>", "&amp;", "\\", "\n", "\n\n", " ", "    ", "\t", "\r", "[x] ", "---\n", "=", "http://x.y/", "@ada", "文件", "👍🏽", "\u202e", "\u0000", "x".repeat(90),
  ),
  fc.string({ unit: "binary", maxLength: 8 }),
  fc.string({ unit: "grapheme", maxLength: 8 }),
); // prettier-ignore
const words = fc
  .array(fc.oneof(unit, fc.stringMatching(/^w[a-z]{3,9}q$/)), { maxLength: 60 })
  .map((parts) => parts.join(""));

const PLAIN_INSIDE: ReadonlySet<string> = new Set(["pre", "code"]);

/** As Telegram's documents have it. */
function checkEntities(text: string, entities: readonly MessageEntity[]): void {
  expect(entities.length).toBeLessThanOrEqual(100);
  const open: MessageEntity[] = [];
  let last = 0;
  for (const entity of entities) {
    const { type, offset, length } = entity;
    const end = offset + length;
    const shown = text.slice(offset, end);
    expect(offset).toBeGreaterThanOrEqual(last);
    expect(end).toBeLessThanOrEqual(text.length);
    expect(shown.isWellFormed()).toBe(true);
    expect(type === "pre" || type === "blockquote" ? shown.trimEnd() : shown.trim()).toBe(shown);
    expect(shown).not.toBe("");
    while ((open.at(-1)?.offset ?? 0) + (open.at(-1)?.length ?? Infinity) <= offset) open.pop();
    for (const outer of open) {
      expect(end).toBeLessThanOrEqual(outer.offset + outer.length); // nested, or apart
      expect(PLAIN_INSIDE.has(outer.type)).toBe(false);
      expect(outer.type).not.toBe(type);
      if (PLAIN_INSIDE.has(type)) expect(outer.type).toBe("blockquote");
    }
    if ("url" in entity) expect(entity.url).toMatch(/^https?:\/\/\S+$/);
    open.push(entity);
    last = offset;
  }
}

test("whatever a text holds, its entities are as Telegram wants them, before and after a cut", () => {
  fc.assert(
    fc.property(words, fc.integer({ min: 20, max: 300 }), (text, limit) => {
      const whole = markdownRich(text);
      expect(whole.text.isWellFormed()).toBe(true);
      checkEntities(whole.text, whole.entities.slice(0, 100));
      for (const part of splitText(whole, limit)) {
        expect(part.text.trim()).not.toBe("");
        expect(part.text.length).toBeLessThanOrEqual(limit);
        expect(part.text.isWellFormed()).toBe(true);
        checkEntities(part.text, part.entities);
      }
    }),
    { numRuns: 1000 },
  );
});

test("whatever a text holds, none of its words gets lost, and only blanks are lost at a cut", () => {
  fc.assert(
    fc.property(words, fc.integer({ min: 2, max: 300 }), (text, limit) => {
      const whole = markdownRich(text);
      const beside = whole.entities.map((entity) =>
        "url" in entity ? entity.url : "language" in entity ? entity.language : "",
      );
      const shown = `${whole.text} ${beside.join(" ")}`;
      for (const [word] of text.matchAll(/w[a-z]{3,9}q/g)) expect(shown).toContain(word);
      let at = 0;
      for (const part of splitText(whole, limit)) {
        const found = whole.text.indexOf(part.text, at);
        expect(whole.text.slice(at, found).trim()).toBe("");
        at = found + part.text.length;
      }
      expect(whole.text.slice(at).trim()).toBe("");
    }),
    { numRuns: 1000 },
  );
});

// oxfmt-ignore
const ENDLESS = [
  { title: "emphasis without end",   text: "**a ".repeat(20_000) },
  { title: "underscores",            text: "_a ".repeat(26_000) },
  { title: "emphasis in many parts", text: `${"**a ".repeat(1000)}\n\n`.repeat(20) },
  { title: "brackets",               text: "[a](".repeat(20_000) },
  { title: "quotes a thousand deep", text: `${">".repeat(80_000)} x` },
  { title: "lists in lists",         text: Array.from({ length: 280 }, (_, i) => `${" ".repeat(2 * i)}- x`).join("\n") },
  { title: "code by code",           text: "`a` ".repeat(20_000) },
  { title: "a table of 10,000 rows", text: `|a|b|\n|-|-|\n${"|x|y|\n".repeat(10_000)}` },
];

for (const { title, text } of ENDLESS) {
  test(`${title} does not hold up the chat`, () => {
    const parts = splitText(markdownRich(text));
    expect(parts.length).toBeGreaterThan(0);
    for (const part of parts) checkEntities(part.text, part.entities);
  });
}

// Each took seconds, in which the service did nothing else.
test.each([
  "a.".repeat(40_000) + "@",
  `${" ".repeat(80_000)}a`,
  `\`\`\`\n${"\n".repeat(40_000)}${" ".repeat(40_000)}x`,
])("a long text without words loses nothing (%#)", (text) => {
  expect(markdownRich(text).text.trim()).toBe(text.replace("```", "").trim());
});
