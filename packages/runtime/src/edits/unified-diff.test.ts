import fc from "fast-check";
import { expect, test } from "vitest";
import { applyChange } from "./apply-change.ts";
import { parsePatch } from "./parse-patch.ts";
import { unifiedDiff } from "./unified-diff.ts";

const NO_NEWLINE = "\\ No newline at end of file\n";

// oxfmt-ignore
const DIFFS = [
  { title: "a changed line with three lines around it", before: "1\n2\n3\n4\n5\n6\n7\n8\n9\n", after: "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", gives: "--- a/f\n+++ b/f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n" },
  { title: "an added file",                             before: undefined,  after: "x\n",      gives: "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n" },
  { title: "a removed file",                            before: "x\ny\n",   after: undefined,  gives: "--- a/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-x\n-y\n" },
  { title: "an added empty file",                       before: undefined,  after: "",         gives: "diff --git a/f b/f\nnew file mode 100644\n" },
  { title: "a removed empty file",                      before: "",         after: undefined,  gives: "diff --git a/f b/f\ndeleted file mode 100644\n" },
  { title: "a final newline that comes",                before: "x",        after: "x\n",      gives: `--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n${NO_NEWLINE}+x\n` },
  { title: "a final newline that goes",                 before: "x\n",      after: "x",        gives: `--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+x\n${NO_NEWLINE}` },
  { title: "a line end that changes",                   before: "x\r\n",    after: "x\n",      gives: "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\r\n+x\n" },
  { title: "an empty first line as context",            before: "\nx\n",    after: "\ny\n",    gives: "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n \n-x\n+y\n" },
  { title: "no difference",                             before: "x",        after: "x",        gives: "" },
];

for (const { title, before, after, gives } of DIFFS) {
  test(`a diff shows ${title}`, async () => {
    expect(await unifiedDiff("f", before, after)).toBe(gives);
  });
}

test("two changes far apart are two hunks, close together one", async () => {
  const lines = Array.from({ length: 30 }, (_, i) => `line ${i}`);
  const change = (...places: number[]): string => lines.map((line, i) => (places.includes(i) ? "x" : line)).join("\n");
  const count = async (...places: number[]): Promise<number> =>
    (await unifiedDiff("f", lines.join("\n"), change(...places))).split("\n@@ ").length - 1;
  expect([await count(3, 20), await count(3, 10), await count(3, 11)]).toEqual([2, 1, 2]);
});

test("thousands of changes in a long file are shown one by one, not as one", async () => {
  const lines = Array.from({ length: 60_000 }, (_, i) => `line ${i}`);
  const before = lines.join("\n");
  const after = lines.map((line, i) => (i % 20 === 0 ? `changed ${i}` : line)).join("\n");
  const diff = await unifiedDiff("f", before, after);
  expect(diff.split("\n@@ ").length - 1).toBe(3000);
  expect(applyAll(diff, before)).toBe(after);
});

test("texts that have nothing in common are shown as a whole", async () => {
  const before = Array.from({ length: 5000 }, (_, i) => `${i % 7}`).join("\n");
  const after = Array.from({ length: 5000 }, (_, i) => `${(i * 13) % 11}x`).join("\n");
  expect(applyAll(await unifiedDiff("f", before, after), before)).toBe(after);
});

function applyAll(diff: string, before: string | undefined): string | undefined {
  const [change, ...rest] = parsePatch(diff);
  if (change === undefined || rest.length > 0) throw new Error("A diff of one file is one change");
  return applyChange(change, before);
}

/** Lines that repeat, look like parts of a diff, and end in every way. */
const line = fc.constantFrom(
  "a",
  "b",
  "",
  " ",
  "-- a",
  "++ b",
  "@@ -1 +1 @@",
  "\\ No",
  "diff --git a/x b/x",
  "x\ry",
  "-- ",
  "2.1",
);
const end = fc.constantFrom("\n", "\n", "\n", "\r\n", "\r");
const text = fc
  .tuple(fc.array(fc.tuple(line, end), { maxLength: 25 }), fc.constantFrom("", "", "a", "last", "\r"))
  .map(([lines, last]) => lines.flat().join("") + last);

test("the patch of a diff gives the target, for any two texts", async () => {
  await fc.assert(
    fc.asyncProperty(text, text, async (before, after) => {
      fc.pre(before !== after);
      expect(applyAll(await unifiedDiff("f", before, after), before)).toBe(after);
    }),
    { numRuns: 1000 },
  );
});

test("the patch of a diff gives the target, for any few changes of a text", async () => {
  const changes = fc.array(fc.tuple(fc.nat(30), fc.nat(2), line, end), { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(text, changes, async (before, list) => {
      const lines = before.split(/(?<=\n)/);
      for (const [at, removed, added, addedEnd] of list) lines.splice(at, removed, added + addedEnd);
      const after = lines.join("");
      fc.pre(before !== after);
      expect(applyAll(await unifiedDiff("f", before, after), before)).toBe(after);
    }),
    { numRuns: 1000 },
  );
});

test("files that come and go survive the way through a diff, under any name", async () => {
  const path = fc.string({
    unit: fc.constantFrom("a", "b/", " ", '"', "\\", "\n", "\t", "é", "😀"),
    minLength: 1,
    maxLength: 8,
  });
  await fc.assert(
    fc.asyncProperty(path, text, async (name, content) => {
      for (const [before, after] of [
        [undefined, content],
        [content, undefined],
        ["other", `${content}.`],
      ] as const) {
        const diff = await unifiedDiff(name, before, after);
        expect(parsePatch(diff)).toMatchObject([{ path: name }]);
        expect(applyAll(diff, before)).toBe(after);
      }
    }),
  );
});
