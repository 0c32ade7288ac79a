import fc from "fast-check";
import { expect, test } from "vitest";
import { convertHtml, simplifyHtml } from "./html-to-markdown.ts";

const { signal } = new AbortController();
const base = "https://example.com/docs/page.html";

async function toMarkdown(page: string): Promise<string> {
  return (await convertHtml(page, { base, to: "markdown", signal })).text;
}

// oxfmt-ignore
const PAGES = [
  ["headings and paragraphs",     "<h1>One</h1><p>two<p>three",                               "# One\n\ntwo\n\nthree\n"],
  ["emphasis",                    "a <b>b</b> <em>c</em> <code>d</code>",                     "a **b** _c_ `d`\n"],
  ["links, complete",             '<a href="../a?b=1&amp;c=2">x</a>',                         "[x](https://example.com/a?b=1&c=2)\n"],
  ["links that lead nowhere",     '<a href="javascript:alert(1)">x</a> <a>y</a>',             "x y\n"],
  ["pictures",                    '<img src=/i.png alt="A cat">',                             "![A cat](https://example.com/i.png)\n"],
  ["pictures of data",            '<img src="data:image/png;base64,AAAA" alt="A cat">',       "A cat\n"],
  ["lists",                       "<ul><li>a<li>b</ul>",                                      "-   a\n-   b\n"],
  ["numbered lists",              "<ol start=3><li>a<li>b</ol>",                              "3.  a\n4.  b\n"],
  ["code",                        '<pre><code class="hl language-ts">let a = "&lt;";\n</code></pre>', '```ts\nlet a = "<";\n```\n'],
  ["tables with a head",          "<table><tr><th>A<th>B<tr><td>1<td>2|3</table>",            "| A | B |\n| --- | --- |\n| 1 | 2\\|3 |\n"],
  ["tables for layout",           "<table><tr><td><p>a</p><p>b</p></td><td>c</td></tr></table>", "a\n\nb\n\n| c\n"],
  ["quotes",                      "<blockquote>a</blockquote>",                               "> a\n"],
  ["scripts",                     "a<script>alert('</p>')</script>b",                         "ab\n"],
  ["scripts that never end",      "a<script>b",                                               "a\n"],
  ["styles and drawings",         "<STYLE>p{}</STYLE><svg><text>x</text></svg>a<noscript>y</noscript>", "a\n"],
  ["comments",                    "a<!-- <p>x</p> -->b<!doctype html><?php x ?>c",            "abc\n"],
  ["titles",                      "<head><title>A < B</title></head><body>c",                 "A < B\n\nc\n"],
  ["entities",                    "&lt;p&gt; &amp;amp; &copy; &#x41;",                        "<p> &amp; © A\n"],
  ["a lone sign",                 "1 < 2 and 3 <4",                                           "1 < 2 and 3 <4\n"],
  ["unknown elements",             "<x-thing a='>'>a</x-thing><font>b</font>",                 "ab\n"],
  ["elements across each other",  "<b>a<p>b</b>c</p>",                                        "**a**\n\nbc\n"],
  ["ends without a start",        "</div>a</p></b>",                                          "a\n"],
  ["nothing",                     "",                                                         "\n"],
] as const;

test.each(PAGES)("%s become Markdown", async (_title, page, markdown) => {
  expect(await toMarkdown(page)).toBe(markdown);
});

test("plain text has neither links nor emphasis nor escapes", async () => {
  const page = '<h2>A_b*</h2><p><a href="/x">link</a> <b>bold</b> <img src=x alt=y></p><ul><li>one</ul>';
  expect((await convertHtml(page, { base, to: "text", signal })).text).toBe("A_b*\n\nlink bold\n\n-   one\n");
});

test("a long list continues its numbers where the page was cut", async () => {
  const markdown = await toMarkdown(
    `<ol>${Array.from({ length: 3000 }, (_, at) => `<li>item ${at + 1}`).join("")}</ol>`,
  );
  const lines = markdown.trimEnd().split("\n");
  expect(lines.length).toBe(3000);
  for (const [at, line] of lines.entries()) expect(line.replaceAll(/\s+/g, " ")).toBe(`${at + 1}. item ${at + 1}`);
});

test("a page over the limit is cut, and said so", async () => {
  const { text, truncated } = await convertHtml("<p>word ".repeat(200_000), { base, to: "markdown", signal });
  expect(truncated).toBe(true);
  expect(text.length).toBeLessThan(600_000);
});

// oxfmt-ignore
const HOSTILE = [
  ["divs in divs",               "<div>".repeat(400_000)],
  ["divs in a pre",              `<pre>${"<div>".repeat(400_000)}`],
  ["emphasis in every paragraph", `${"<b><i><s><em>".repeat(1000)}${"<p>x".repeat(100_000)}`],
  ["distinct emphasis",          `${Array.from({ length: 30_000 }, (_, at) => `<b class=${at}>`).join("")}${"<p>x".repeat(100_000)}`],
  ["quotes in quotes",           `${"<blockquote>".repeat(1000)}${"a<br>".repeat(100_000)}`],
  ["lists in lists",             `${"<ul><li>".repeat(1000)}${"a<br>".repeat(50_000)}`],
  ["breaks",                     "<br>".repeat(200_000)],
  ["signs",                      "<".repeat(1_000_000)],
  ["comments that never end",    "<!--".repeat(250_000)],
  ["drawings that never end",    "<svg>".repeat(200_000)],
  ["attributes",                 `<a ${'b="c" '.repeat(200_000)}`],
  ["ends",                       `${"<div>".repeat(100_000)}${"</p></b></div>".repeat(50_000)}`],
] as const;

test.each(HOSTILE)("%s without end are converted in bounded space", async (_title, page) => {
  const { segments } = simplifyHtml(page, { base, limit: 524_288, inline: true });
  const { text } = await convertHtml(page, { base, to: "markdown", signal });
  for (const { html } of segments) expect(html.match(/<\w/g)?.length ?? 0).toBeLessThan(2200);
  expect(text.length).toBeLessThan(4_000_000);
});

test("what is simplified is well nested and holds no script, whatever the page", () => {
  const piece = fc.constantFrom(
    "<b>",
    "</b>",
    "<p>",
    "</p>",
    "<script>",
    "</script>",
    "<li>",
    "<ul>",
    "</ul>",
    "<td>",
    "<tr>",
    "<a href='",
    "'>",
    '"',
    "<!--",
    "-->",
    "x",
    "<",
    ">",
    "<svg>",
    "</svg>",
    "&lt;script>",
    "<img src=javascript:x onerror=y>",
    "<a href=javascript:x>",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const { segments } = simplifyHtml(pieces.join(""), { base, limit: 10_000, inline: true });
      const open: string[] = [];
      for (const { html } of segments) {
        for (const [tag] of html.matchAll(/<[^<>]*>/g)) {
          expect(tag).toMatch(/^<\/?(?!script)[a-z0-9]+(?: (?:href="https?:[^"]*"|src="https?:[^"]*"|alt="[^"]*"))*>$/);
        }
        for (const [, slash, name = ""] of html.matchAll(/<(\/?)([a-z0-9]+)[^<>]*>/g)) {
          if (slash === "/") expect(open.pop()).toBe(name);
          else if (!["br", "hr", "img"].includes(name)) open.push(name);
        }
        expect(open).toEqual([]);
      }
    }),
    { numRuns: 1000 },
  );
});

test("the signal ends a conversion", async () => {
  await expect(
    convertHtml("<p>x", { base, to: "text", signal: AbortSignal.abort(new Error("enough")) }),
  ).rejects.toThrow("enough");
});
