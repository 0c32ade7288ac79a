import { expect, test } from "vitest";
import { BUILT_IN } from "../packages/runtime/src/tools/all.ts";
import { missingTests, namedTests, readPage, rowsOf } from "./support/named-tests.ts";

const PAGE = "test/seeds.md";
const DOCUMENTS = ["000", "001", "002", "003", "004"] as const;

const [requirements = "", notOffered = ""] = readPage(PAGE).split("## Not offered yet");

test.each(DOCUMENTS)("every requirement of %s names its tests, and they are there", (document) => {
  const [, section = ""] = requirements.split(`## ${document}: `);
  const rows = rowsOf(section.split("\n## ")[0] ?? "");
  expect(rows.length).toBeGreaterThan(10);
  expect(rows.filter((row) => namedTests(row).length === 0)).toEqual([]);
  expect(missingTests(namedTests(rows.join("\n")))).toEqual([]);
});

test("no requirement stands in the page twice", () => {
  const named = rowsOf(requirements).map((row) => row.split(" | ").slice(0, 2).join(" "));
  expect(named.filter((each, index) => named.indexOf(each) !== index)).toEqual([]);
});

test("what the page calls not offered is not offered", () => {
  const names = Array.from(notOffered.matchAll(/^- .*?`(\w+)\(/gm), ([, name]) => name);
  expect(names.length).toBeGreaterThan(0);
  const offered = BUILT_IN.flatMap(({ name, aliases }) => [name, ...aliases.map((alias) => alias.name)]);
  expect(offered.filter((name) => names.includes(name))).toEqual([]);
});
