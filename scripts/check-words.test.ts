import { execFileSync, spawnSync } from "node:child_process";
import type { SpawnSyncReturns } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../test/support/scratch.ts";
import { findWords } from "./check-words.ts";

// oxfmt-ignore
const FOUND = [
  { title: "in a string",                   text: 'throw new Error("Mend the fields");',               line: 1, found: "Mend" },
  { title: "in a comment",                  text: "a();\n// The task in hand ends.\nb();",             line: 2, found: "in hand" },
  { title: "over two lines of a comment",   text: "/**\n * Files are put\n * aside here.\n */",         line: 2, found: "put aside" },
  { title: "over two lines of a document",  text: "Changes are taken\nback by undo.",                  line: 1, found: "taken back" },
  { title: "in a quotation of a document",  text: "> The record is\n> whole.",                         line: 1, found: "is whole" },
  { title: "with words in between",         text: "It takes all of them back.",                        line: 1, found: "takes all of them back" },
  { title: "that returns",                  text: "// It gives the lock back.",                        line: 1, found: "gives the lock back" },
  { title: "for an exception",              text: "All files but for one.",                            line: 1, found: "but for" },
  { title: "for an invalid value",          text: '"x" is no number',                                  line: 1, found: "is no" },
] as const;

for (const { title, text, line, found } of FOUND) {
  test(`an old-style word is found ${title}`, () => {
    expect(findWords("a.ts", text)).toMatchObject([{ file: "a.ts", line, found }]);
  });
}

// oxfmt-ignore
const NAMED = [
  { title: "a function",              text: "export function judgeAnew() {}",         line: 1, found: "judgeAnew" },
  { title: "a constant",              text: "\nconst DEEDS_OF_TOOLS = [];",            line: 2, found: "DEEDS_OF_TOOLS" },
  { title: "a field",                 text: "row.put_aside = 1;",                     line: 1, found: "put_aside" },
  { title: "a private member",        text: "this.#isInHand = true;",                 line: 1, found: "isInHand" },
  { title: "a name with a sign",      text: "const USER_WISH = 1;",                   line: 1, found: "USER_WISH" },
  { title: "a maximum",               text: "const MOST_FILES = 20;",                 line: 1, found: "MOST_FILES" },
  { title: "a type named by a participle", text: "interface Given {}",                line: 1, found: "interface Given" },
] as const;

for (const { title, text, line, found } of NAMED) {
  test(`an old-style word is found in the parts of a name: ${title}`, () => {
    expect(findWords("a.ts", text)).toMatchObject([{ file: "a.ts", line, found }]);
  });
}

test.each([
  ["src/command-deeds.ts", "command-deeds.ts"],
  ["src/put-aside/file.ts", "put-aside"],
  ["test/judgeAnew.test.ts", "judgeAnew.test.ts"],
])("an old-style word is found in the path %s", (file, found) => {
  expect(findWords(file, "")).toMatchObject([{ file, line: 0, found }]);
});

test("plain names pass", () => {
  const text = "isNoMatch(isWhole, UNDO_ID, takeTurn, MOSTLY, mostFiles, feedback, amending, indeed, taken_back)";
  expect(findWords("packages/a/command-effects.ts", text)).toEqual([]);
});

test("the check fails on a planted word and names its place", async () => {
  const { path, make } = await scratchFolder();
  await make({ "scripts/check-words.ts": readFileSync(join(import.meta.dirname, "check-words.ts"), "utf8") });
  const check = (): SpawnSyncReturns<string> =>
    spawnSync(process.execPath, [join(path, "scripts/check-words.ts")], { cwd: path, encoding: "utf8" });
  execFileSync("git", ["init", "--quiet"], { cwd: path });
  await make({ "docs/a.md": "# A\n\nRead the file again.\n" });
  expect(check()).toMatchObject({ status: 0, stdout: "words: 1 files, 0 places\n" });
  await make({ "docs/a.md": "# A\n\nRead the file anew.\n" });
  expect(check()).toMatchObject({ status: 1, stderr: 'docs/a.md:3 "anew": write again\n' });
});

test("plain words pass", () => {
  expect(findWords("a.md", "It is no longer valid. The whole file is read. Recommended: put it back later.")).toEqual(
    [],
  );
});
