import { expect, test } from "vitest";
import { ToolError } from "../protocol/errors.ts";
import { applyChange } from "./apply-change.ts";
import { parsePatch } from "./parse-patch.ts";

/** What a patch of one file makes of it, or the error. */
function patch(before: string | undefined, text: string): string | undefined | ToolError {
  const [change] = parsePatch(text);
  if (change === undefined) throw new Error("A patch names a file");
  try {
    return applyChange(change, before);
  } catch (error) {
    if (error instanceof ToolError) return error;
    throw error;
  }
}

const inEnvelope = (...lines: string[]): string =>
  ["*** Begin Patch", "*** Update File: f", ...lines, "*** End Patch"].join("\n");
const inDiff = (...lines: string[]): string => `--- a/f\n+++ b/f\n${lines.join("\n")}\n`;

// oxfmt-ignore
const ENVELOPES = [
  { title: "a changed line",                        before: "a\nb\nc\n",          lines: ["@@", " a", "-b", "+B"],                        gives: "a\nB\nc\n" },
  { title: "the first place that fits",             before: "x\ny\nx\ny\n",       lines: ["@@", "-y", "+Y"],                              gives: "x\nY\nx\ny\n" },
  { title: "chunks from top to bottom",             before: "x\ny\nx\ny\n",       lines: ["@@", "-y", "+1", "@@", "-y", "+2"],            gives: "x\n1\nx\n2\n" },
  { title: "what comes after an anchor",            before: "a:\nx\nb:\nx\n",     lines: ["@@ b:", "-x", "+y"],                           gives: "a:\nx\nb:\ny\n" },
  { title: "what comes after several anchors",      before: "A\nf\nx\nB\nf\nx\n", lines: ["@@ B", "@@ f", "-x", "+y"],                    gives: "A\nf\nx\nB\nf\ny\n" },
  { title: "the end of the file",                   before: "x\ny\nx\n",          lines: ["@@", "-x", "+z", "*** End of File"],           gives: "x\ny\nz\n" },
  { title: "a line number",                         before: "x\na\nx\nb\nx\n",    lines: ["@@ -5 +5 @@", "-x", "+z"],                     gives: "x\na\nx\nb\nz\n" },
  { title: "lines added at the end",                before: "a\nb\n",             lines: ["@@", "+c"],                                    gives: "a\nb\nc\n" },
  { title: "lines added at the end, then others changed", before: "a\nb\n",       lines: ["@@", "+c", "@@", "-a", "+A"],                  gives: "A\nb\nc\n" },
  { title: "lines added after an anchor",           before: "a\nb\n",             lines: ["@@ a", "+c"],                                  gives: "a\nc\nb\n" },
  { title: "lines added to an empty file",          before: "",                   lines: ["@@", "+a"],                                    gives: "a\n" },
  { title: "all lines taken away",                  before: "a\nb\n",             lines: ["@@", "-a", "-b"],                              gives: "" },
  { title: "an empty line as context",              before: "a\n\nb\n",           lines: ["@@", " a", "", "-b", "+B"],                    gives: "a\n\nB\n" },
  { title: "empty lines after a chunk as none",     before: "a\nb\n",             lines: ["@@", "-a", "+A", "", ""],                      gives: "A\nb\n" },
  { title: "context with other trailing space, kept", before: "a  \nb\n",         lines: ["@@", " a", "-b", "+B"],                        gives: "a  \nB\n" },
  { title: "context with other indentation, kept",  before: "\tif x:\n\t\ty\n",   lines: ["@@", " if x:", "-y", "+\t\tz"],                gives: "\tif x:\n\t\tz\n" },
  { title: "context with other quotes and dashes, kept", before: "“a” – b\nc\n",  lines: ['@@', ' "a" - b', "-c", "+d"],                  gives: "“a” – b\nd\n" },
  { title: "exact lines before lines that look alike", before: " x\nx\n",         lines: ["@@", "-x", "+y"],                              gives: " x\ny\n" },
  { title: "a missing final newline",               before: "a\nb",               lines: ["@@", "-a", "+A"],                              gives: "A\nb\n" },
  { title: "a missing final newline, as the file has them", before: "a\r\nb",     lines: ["@@", "-a", "+A"],                              gives: "A\r\nb\r\n" },
  { title: "CRLF, with CRLF for new lines",         before: "a\r\nb\r\n",         lines: ["@@", " a", "+x", "-b", "+B"],                  gives: "a\r\nx\r\nB\r\n" },
  { title: "lone CR, with CR for new lines",        before: "a\rb\r",             lines: ["@@", " a", "+x", "-b"],                        gives: "a\rx\r" },
  { title: "mixed line ends, each kept",            before: "a\r\nb\rc\nd\r\n",   lines: ["@@", " a", " b", "-c", "+C", " d"],            gives: "a\r\nb\rC\r\nd\r\n" },
  { title: "lines that the patch writes with CR",   before: "a\r\nb\r\n",         lines: ["@@", " a\r", "-b\r", "+B\r"],                  gives: "a\r\nB\r\n" },
];

for (const { title, before, lines, gives } of ENVELOPES) {
  test(`an envelope applies to ${title}`, () => {
    expect(patch(before, inEnvelope(...lines))).toBe(gives);
  });
}

// oxfmt-ignore
const DIFFS = [
  { title: "at its line number",                       before: "x\na\nx\nb\nx\n",     lines: ["@@ -3 +3 @@", "-x", "+y"],                  gives: "x\na\ny\nb\nx\n" },
  { title: "at the place nearest to its line number",  before: "x\na\na\na\nx\n",     lines: ["@@ -4 +4 @@", "-x", "+y"],                  gives: "x\na\na\na\ny\n" },
  { title: "with later hunks moved as the first was",  before: "n\nn\nx\na\nx\nb\nx\n", lines: ["@@ -1,2 +1,2 @@", "-x", "+y", " a", "@@ -5 +5 @@", "-x", "+z"], gives: "n\nn\ny\na\nx\nb\nz\n" },
  { title: "without numbers where there is one place", before: "a\nx\nb\n",           lines: ["@@", "-x", "+y"],                           gives: "a\ny\nb\n" },
  { title: "with lines added at a number",             before: "a\nb\nc\n",           lines: ["@@ -2,0 +3 @@", "+x"],                      gives: "a\nb\nx\nc\n" },
  { title: "with lines added before the first",        before: "a\n",                 lines: ["@@ -0,0 +1 @@", "+x"],                      gives: "x\na\n" },
  { title: "without a final newline to add",           before: "a\nb",                lines: ["@@ -1,2 +1,2 @@", "-a", "+A", " b", "\\ No newline at end of file"], gives: "A\nb" },
  { title: "with a final newline taken away",          before: "a\n",                 lines: ["@@ -1 +1 @@", "-a", "+b", "\\ No newline at end of file"], gives: "b" },
  { title: "after a last line without newline",        before: "a",                   lines: ["@@ -1 +1,2 @@", " a", "+b"],                gives: "a\nb\n" },
  { title: "without CR to a CRLF file",                before: "a\r\nb\r\nc",         lines: ["@@ -1,3 +1,4 @@", " a", "-b", "+B", "+x", " c"], gives: "a\r\nB\r\nx\r\nc" },
  { title: "with CR, changing line ends",              before: "a\r\nb\r\n",          lines: ["@@ -1,2 +1,2 @@", " a\r", "-b\r", "+b"],    gives: "a\r\nb\n" },
  { title: "with CR to a file without",                before: "a\nb\n",              lines: ["@@ -1,2 +1,2 @@", " a\r", "-b\r", "+B"],    gives: "a\nB\n" },
  { title: "by numbers that count lone CR as no line end", before: "q\rq\nx\nx\n",    lines: ["@@ -3 +3 @@", "-x", "+y"],                  gives: "q\rq\nx\ny\n" },
];

for (const { title, before, lines, gives } of DIFFS) {
  test(`a diff applies ${title}`, () => {
    expect(patch(before, inDiff(...lines))).toBe(gives);
  });
}

// oxfmt-ignore
const CONFLICTS = [
  { title: "lines that are not there",            before: "alpha\nbeta\n",   text: inEnvelope("@@", " alpha", "-beat", "+x"),               says: /chunk 1 \(line 3 of the patch\) expects lines .*:\n {2}alpha\n {2}beat\nNearest is lines 1-2:\n {2}alpha\n {2}beta/s },
  { title: "an anchor that is not there",         before: "a\n",             text: inEnvelope("@@ b", "-a", "+x"),                          says: /begins with "@@" and a line that is not in the file:\n {2}b/ },
  { title: "chunks in the wrong order",           before: "a\nb\n",          text: inEnvelope("@@", "-b", "+B", "@@", "-a", "+A"),          says: /chunk 2 .* are at line 1, above/ },
  { title: "lines not at the end",                before: "a\nb\n",          text: inEnvelope("@@", "-a", "+A", "*** End of File"),         says: /expects lines/ },
  { title: "the same line twice",                 before: "a\n",             text: inEnvelope("@@", "-a", "+A", "@@", "-a", "+B", "*** End of File"), says: /chunk 2/ },
  { title: "several places that look alike",      before: " x\nb\n x\n",     text: inEnvelope("@@", "-x", "+y"),                            says: /fits at lines 1, 3/ },
  { title: "several places and no number",        before: "x\nb\nx\n",       text: inDiff("@@", "-x", "+y"),                                says: /fits at lines 1, 3/ },
  { title: "a number that the file does not have", before: "a\n",            text: inDiff("@@ -9,0 +10 @@", "+x"),                          says: /a line number that the file does not have/ },
  { title: "a deleted file that holds more",      before: "a\nb\n",          text: "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",           says: /its content differs from what the patch deletes/ },
  { title: "a deleted file that holds something else", before: "b\n",        text: "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",           says: /expects lines/ },
];

for (const { title, before, text, says } of CONFLICTS) {
  test(`a patch does not apply to ${title}, and says why`, () => {
    expect(patch(before, text)).toMatchObject({
      code: "PatchConflict",
      message: expect.stringMatching(says) as unknown,
    });
  });
}

test("a file is added with its content and deleted, whatever is there", () => {
  expect(patch("old\n", "*** Begin Patch\n*** Add File: f\n+new\n*** End Patch")).toBe("new\n");
  expect(patch("old\n", "*** Begin Patch\n*** Delete File: f\n*** End Patch")).toBeUndefined();
  expect(patch("a\n", "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n")).toBeUndefined();
});

test("a file that is not there is neither updated nor deleted", () => {
  expect(patch(undefined, inEnvelope("@@", "-a", "+b"))).toMatchObject({ code: "NotFound" });
  expect(patch(undefined, "*** Begin Patch\n*** Delete File: f\n*** End Patch")).toMatchObject({ code: "NotFound" });
});

test("a thousand chunks go into a hundred thousand lines, exactly or only nearly like them", () => {
  const lines = Array.from({ length: 100_000 }, (_, i) => `\tline ${i}`);
  const chunks = (indent: string): string[] =>
    Array.from({ length: 1000 }, (_, i) => [
      `@@`,
      ` ${indent}line ${i * 100}`,
      `-${indent}line ${i * 100 + 1}`,
      "+new",
    ]).flat();
  const gives = lines.map((line, i) => (i % 100 === 1 ? "new" : line)).join("\n");
  for (const indent of ["\t", "  "])
    expect(patch(`${lines.join("\n")}\n`, inEnvelope(...chunks(indent)))).toBe(`${gives}\n`);
});

test("chunks made to be slow are given up", () => {
  // Each one fits only by its words, right here; but every line of it stands, to the letter, in all that follows.
  const before = "q\n x\n y\n z\n".repeat(20_000) + "x\ny\n".repeat(40_000) + "y\nz\n".repeat(40_000);
  const chunks = Array.from({ length: 20_000 }, () => ["@@ q", "-x", "-y", "-z", "+c"]).flat();
  const message = expect.stringMatching(/could not be placed in reasonable time/) as unknown;
  expect(patch(before, inEnvelope(...chunks))).toMatchObject({ code: "PatchConflict", message });
});
