import type { ToolCallResult } from "@autonous/runtime";
import { expect, test } from "vitest";
import { changeLines } from "./change-lines.ts";
import { outputLine, outputLines } from "./command-output.ts";
import { widthOf } from "../words/width.ts";

const screen = { columns: 60, paint: (_: string, text: string) => text };

function printed(stdout: string, stderr: string, more: Partial<ToolCallResult> = {}): ToolCallResult {
  const payload = { stdout, stderr, data: { exit_code: 0 }, meta: {} };
  return { payload, artifacts: { files_changed: [], commands_run: [] }, ...more } as unknown as ToolCallResult;
}

const count = (name: string, most: number): string =>
  Array.from({ length: most }, (_, i) => `${name} ${i + 1}\n`).join("");

// oxfmt-ignore
const SHOWN = [
  { title: "nothing where nothing was printed",   stdout: "",              stderr: "",              isFailed: false, rows: [] },
  { title: "one line as it is",                   stdout: "done\n",        stderr: "",              isFailed: false, rows: ["done"] },
  { title: "the last of many, and how many more", stdout: count("out", 9), stderr: "",              isFailed: false, rows: ["… 4 more lines", "out 5", "out 6", "out 7", "out 8", "out 9"] },
  { title: "both streams",                        stdout: count("out", 6), stderr: count("err", 3), isFailed: false, rows: ["… 2 more lines", "out 3", "out 4", "out 5", "out 6", "err 1", "err 2", "err 3"] },
  { title: "the end of stderr of a failure",      stdout: "out\n",         stderr: count("err", 22), isFailed: true, rows: ["out", "… 2 more lines", ...Array.from({ length: 20 }, (_, i) => `err ${i + 3}`)] },
  { title: "the end of stdout of a failure alone", stdout: count("out", 22), stderr: "",            isFailed: true,  rows: ["… 2 more lines", ...Array.from({ length: 20 }, (_, i) => `out ${i + 3}`)] },
  { title: "what the output leaves out itself",   stdout: "a\n[90 lines, 900 bytes left out; full output: x]\nb\nc\nd\ne\nf\n", stderr: "", isFailed: false, rows: ["… 92 more lines", "b", "c", "d", "e", "f"] },
];

for (const { title, stdout, stderr, isFailed, rows } of SHOWN) {
  test(`output of a command: ${title}`, () => {
    expect(outputLines(printed(stdout, stderr), { screen, isFailed, all: false }).map((row) => row.trim())).toEqual(
      rows,
    );
  });
}

test("a call that runs no command, or did not run, shows no output", () => {
  const other = printed("a\n", "", { payload: { stdout: "a\n", stderr: "", data: { entries: [] } } as never });
  for (const result of [other, { ...other, payload: null }, undefined])
    expect(outputLines(result, { screen, isFailed: false, all: false })).toEqual([]);
});

// oxfmt-ignore
const LINES = [
  { title: "colours",                  line: "\u001b[1;31mred\u001b[0m \u001b[38;5;208mx\u001b[K", shown: "red x" },
  { title: "a title and a link",       line: "\u001b]0;t\u0007a\u001b]8;;http://x\u001b\\b",       shown: "ab" },
  { title: "a bar that is overwritten", line: "10 %\r50 %\r100 %\r",                               shown: "100 %" },
  { title: "unknown terminal sequences", line: "a\u001bcb\u0007\u202ec",                            shown: "a\\ecb\\u{7}\\u{202e}c" },
  { title: "tabs",                     line: "a\tb",                                               shown: "a   b" },
  { title: "half a terminal sequence",            line: "a\u001b[3",                                          shown: "a\\e[3" },
];

for (const { title, line, shown } of LINES) {
  test(`a line of output is text: ${title}`, () => expect(outputLine(line)).toBe(shown));
}

test("long lines fit, and a megabyte on one line takes little time", () => {
  const long = `${"文件".repeat(500_000)}\n`;
  for (const isFailed of [false, true]) {
    const rows = outputLines(printed(long, `${"x".repeat(1_000_000)}\n`), { screen, isFailed, all: false });
    expect(rows.length).toBeLessThan(12);
    expect(rows.filter((row) => widthOf(row) > 60)).toEqual([]);
  }
});

function changed(data: unknown, files_changed: readonly string[], meta = {}): ToolCallResult {
  return { payload: { data, meta }, artifacts: { files_changed, commands_run: [] } } as unknown as ToolCallResult;
}

const PATCH = "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\n";
const MANY = Array.from({ length: 12 }, (_, i) => `f${i}`);

// oxfmt-ignore
const CHANGES = [
  { title: "a new file",             args: { path: "n.txt", content: "one\ntwo\n" },    result: changed({ path: "n.txt", created: true, bytes_written: 8 }, ["n.txt"]),  rows: ["created n.txt", "+one", "+two"] },
  { title: "one by another name",    args: { file_path: "n.txt", contents: "one" },     result: changed({ path: "n.txt", created: true, bytes_written: 3 }, ["n.txt"]),  rows: ["created n.txt", "+one"] },
  { title: "an empty one",           args: { path: "n.txt", content: "" },              result: changed({ path: "n.txt", created: true, bytes_written: 0 }, ["n.txt"]),  rows: ["created n.txt"] },
  { title: "a file written over",    args: { path: "n.txt", content: "one" },           result: changed({ path: "n.txt", created: false, bytes_written: 3 }, ["n.txt"]), rows: ["wrote n.txt", "+one"] },
  { title: "a deleted file",         args: { path: "n.txt" },                           result: changed({ removed: "n.txt", bytes: 3 }, ["n.txt"]),                      rows: ["deleted n.txt"] },
  { title: "files of a patch",       args: { patch_text: PATCH },                       result: changed({ added: ["b"], changed: ["c"], moved: [], deleted: ["a.txt"] }, ["a.txt", "b", "c"]), rows: ["created b", "changed c", "deleted a.txt", ...PATCH.trim().split("\n")] },
  { title: "files of a command",     args: { cmd: "x" },                                result: changed({ exit_code: 0 }, ["a", "b", "c"], { added: ["a"], deleted: ["c"] }), rows: ["created a", "changed b", "deleted c"] },
  { title: "many files",             args: { cmd: "x" },                                result: changed({ exit_code: 0 }, MANY),                                         rows: ["changed f0, f1, f2, f3, f4, f5, f6, f7, f8, f9 and 2", "more"] },
  { title: "nothing",                args: { path: "a" },                               result: changed({ entries: [] }, []),                                            rows: [] },
];

for (const { title, args, result, rows } of CHANGES) {
  test(`a change is shown: ${title}`, () => {
    const shown = changeLines({ tool_name: "x", arguments: args }, result, { screen, all: false });
    expect(shown.map((row) => row.trim())).toEqual(rows);
  });
}
