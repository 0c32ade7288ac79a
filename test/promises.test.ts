import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

/** Each promise names the tests that show it. A test that is renamed or removed fails here, and so does a promise without one. */

const root = join(import.meta.dirname, "..");
const PAGES = ["SECURITY.md", "docs/policy.md", "docs/promises.md"] as const;

function readPage(page: string): string {
  return readFileSync(join(root, page), "utf8");
}

interface NamedTest {
  readonly file: string;
  readonly title: string;
}

/** `file.test.ts` "title", where … stands for what a table of cases fills in. */
function namedTests(text: string): readonly NamedTest[] {
  return Array.from(text.matchAll(/`([\w./-]+\.test\.ts)` "([^"]+)"/g), ([, file = "", title = ""]) => ({
    file,
    title,
  }));
}

/** Titles of tests and groups, the first argument of a call whose next one is a function or its options; and those of cases. */
const TITLE = /\(\s*(["'`])((?:\\.|(?!\1)[^\\])*?)\1,\s*(?:async\b|\(|\{)/g;
const CASE = /\btitle: (["'`])((?:\\.|(?!\1)[^\\])*?)\1/g;
const HOLE = /\$\{(?:[^{}]|\{[^{}]*\})*\}|\$[a-z]\w*|%[sdjio]/g;

function titlesIn(file: string): ReadonlySet<string> {
  const source = readFileSync(join(root, file), "utf8");
  const found = [...source.matchAll(TITLE), ...source.matchAll(CASE)];
  return new Set(found.map(([, , title = ""]) => simplify(title.replaceAll(HOLE, "…"))));
}

/** Without quotes, which the pages need for themselves, and without the end, which may say why a test is skipped. */
function simplify(title: string): string {
  return title
    .replaceAll(/\\?"/g, "")
    .replaceAll(/…+/g, "…")
    .replace(/(?<=\w.*)…$/, "");
}

/** Rows of the tables in a text, without their heads. */
function rowsOf(text: string): readonly string[] {
  const lines = text.split("\n");
  const isRule = (line = ""): boolean => line.startsWith("| ---");
  return lines.filter((line, index) => line.startsWith("| ") && !isRule(line) && !isRule(lines[index + 1]));
}

describe.each(PAGES)("%s", (page) => {
  const named = namedTests(readPage(page));

  test("names tests that are there", () => {
    expect(named.length).toBeGreaterThan(10);
    const missing = named.filter(
      ({ file, title }) => !existsSync(join(root, file)) || !titlesIn(file).has(simplify(title)),
    );
    expect(missing).toEqual([]);
  });
});

test("every promise of SECURITY.md and of docs/promises.md has its test beside it", () => {
  const [promised = ""] = readPage("SECURITY.md").split("## Limits");
  const rows = [...rowsOf(promised), ...rowsOf(readPage("docs/promises.md"))];
  expect(rows.length).toBeGreaterThan(30);
  expect(rows.filter((row) => namedTests(row).length === 0)).toEqual([]);
});

/** A footnote where it stands, and where it is written. */
const NOTE = /\[\^([\w-]+)\](?!:)/g;
const NOTE_TEXT = /^\[\^([\w-]+)\]: (.*)$/gm;

test("every paragraph, item and row of docs/policy.md has a footnote with its test", () => {
  const page = readPage("docs/policy.md");
  const notes = new Map(Array.from(page.matchAll(NOTE_TEXT), ([, name = "", text = ""]) => [name, text]));
  const body = page
    .replaceAll(NOTE_TEXT, "")
    .replaceAll(/^```[\s\S]*?^```$/gm, "")
    .replaceAll(/^\|.*\n\| ---.*$/gm, ""); // the heads of tables
  const used = new Set(Array.from(body.matchAll(NOTE), ([, name = ""]) => name));
  const blocks = body
    .split(/\n{2,}|\n(?=\d+\. |- |\| )/)
    .map((block) => block.trim())
    .filter((block) => block !== "" && !block.startsWith("#"));

  expect(blocks.length).toBeGreaterThan(40);
  expect(blocks.filter((block) => !/\[\^[\w-]+\]/.test(block))).toEqual([]);
  expect([...used].filter((name) => namedTests(notes.get(name) ?? "").length === 0)).toEqual([]);
  expect([...notes.keys()].filter((name) => !used.has(name))).toEqual([]);
});
