import { describe, expect, test } from "vitest";
import { missingTests, namedTests, readPage, rowsOf } from "./support/named-tests.ts";

/** Each promise names the tests that show it. A test that is renamed or removed fails here, and so does a promise without one. */

const PAGES = ["SECURITY.md", "docs/policy.md", "docs/promises.md"] as const;

describe.each(PAGES)("%s", (page) => {
  const named = namedTests(readPage(page));

  test("names existing tests", () => {
    expect(named.length).toBeGreaterThan(10);
    expect(missingTests(named)).toEqual([]);
  });
});

test("every promise of SECURITY.md and of docs/promises.md names its test", () => {
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
