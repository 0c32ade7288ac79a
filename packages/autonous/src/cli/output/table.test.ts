import fc from "fast-check";
import { expect, test } from "vitest";
import { table } from "./table.ts";

const ROWS = [
  ["TOOL", "RISK", "WHAT IT DOES"],
  ["ls", "low", "List a folder. Folders end in /, links in @."],
  ["delete_file", "high", "Delete one file."],
];

test("columns are as wide as their widest cell, and the last one is not padded", () => {
  expect(table(ROWS).split("\n")).toEqual([
    "TOOL         RISK  WHAT IT DOES",
    "ls           low   List a folder. Folders end in /, links in @.",
    "delete_file  high  Delete one file.",
  ]);
  expect(table([])).toBe("");
  expect(table([["a", ""]])).toBe("a");
});

test("the last column is wrapped between words where the terminal ends", () => {
  expect(table(ROWS, { width: 40 }).split("\n")).toEqual([
    "TOOL         RISK  WHAT IT DOES",
    "ls           low   List a folder.",
    "                   Folders end in /,",
    "                   links in @.",
    "delete_file  high  Delete one file.",
  ]);
});

test("a word longer than the column is broken", () => {
  expect(table([["path", "/a/rather/long/path/to/somewhere"]], { width: 20 }).split("\n")).toEqual([
    "path  /a/rather/long",
    "      /path/to/somew",
    "      here",
  ]);
});

test("other columns, and the last one on demand, are cut; fixed ones never are", () => {
  const rows = [["2026-01-31T12:00:00Z", "PathTraversalBlocked", "floor:sensitive_places", '{"path":"/etc/passwd"}']];
  expect(table(rows, { width: 60, last: "cut" })).toBe('2026-01-31T12:00:00Z  PathTravers…  floor:sens…  {"path":"/…');
  expect(table(rows, { width: 60, last: "cut", fixed: 2 })).toBe(
    '2026-01-31T12:00:00Z  PathTraversalBlocked  floor:sen…  {"path":"…',
  );
});

test("a terminal too narrow for anything still shows every column", () => {
  expect(table([["task_0123456789", "a long text that goes on"]], { width: 5, last: "cut" })).toBe(
    "task_0123456789  a long te…",
  );
});

test("control characters are made visible and do not misalign the columns", () => {
  expect(
    table([
      ["a\u001b[31m", "x\ny"],
      ["b", "z"],
    ]).split("\n"),
  ).toEqual(["a\\e[31m  x\\ny", "b        z"]);
});

test("columns line up where characters are wide", () => {
  expect(
    table(
      [
        ["文件", "a"],
        ["b", "文件 文件 文件"],
      ],
      { width: 18 },
    ).split("\n"),
  ).toEqual(["文件  a", "b     文件 文件", "      文件"]);
});

test("rows fit where their columns can shrink, and the last column is not truncated", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", " ", "/", "-"), maxLength: 80 });
  fc.assert(
    fc.property(text, (last) => {
      const lines = table([["id", last]], { width: 30 }).split("\n");
      expect(lines.every((line) => line.length <= 30)).toBe(true);
      const shown = lines.map((line) => line.slice(4)).join("");
      expect(shown.replaceAll(" ", "")).toBe(last.replaceAll(" ", ""));
    }),
  );
});
