import fc from "fast-check";
import { expect, test } from "vitest";
import { ToolError } from "../protocol/errors.ts";
import { parsePatch } from "./parse-patch.ts";

const envelope = (...lines: string[]): string => ["*** Begin Patch", ...lines, "*** End Patch"].join("\n");
const unified = (...lines: string[]): string => `${lines.join("\n")}\n`;

const ADD = { kind: "add", path: "a.txt", content: "x\n" };
const UPDATE = { kind: "update", path: "a.txt", chunks: [{ lines: ["-x", "+y"] }] };
const BODY = ["@@", "-x", "+y"];
const HUNK = ["@@ -1 +1 @@", "-x", "+y"];

// oxfmt-ignore
const READ = [
  { title: "an added file",                           patch: envelope("*** Add File: a.txt", "+x"),                               gives: [ADD] },
  { title: "an added empty file",                     patch: envelope("*** Add File: a.txt"),                                     gives: [{ ...ADD, content: "" }] },
  { title: "added lines that look like markers",      patch: envelope("*** Add File: a.txt", "+*** End Patch", "++"),             gives: [{ ...ADD, content: "*** End Patch\n+\n" }] },
  { title: "a deleted file",                          patch: envelope("*** Delete File: a.txt"),                                  gives: [{ kind: "delete", path: "a.txt" }] },
  { title: "an update",                               patch: envelope("*** Update File: a.txt", ...BODY),                         gives: [UPDATE] },
  { title: "an update without @@",                    patch: envelope("*** Update File: a.txt", "-x", "+y"),                      gives: [UPDATE] },
  { title: "a move",                                  patch: envelope("*** Update File: a.txt", "*** Move to: b/c.txt", ...BODY), gives: [{ ...UPDATE, move_to: "b/c.txt" }] },
  { title: "a move to where it is as none",           patch: envelope("*** Update File: a.txt", "*** Move to: ./a.txt", ...BODY), gives: [UPDATE] },
  { title: "an anchor",                               patch: envelope("*** Update File: a.txt", "@@ class A", "-x", "+y"),        gives: [{ chunks: [{ anchors: ["class A"] }] }] },
  { title: "anchors one below the other",             patch: envelope("*** Update File: a.txt", "@@ class A", "@@ f()", "-x", "+y"), gives: [{ chunks: [{ anchors: ["class A", "f()"] }] }] },
  { title: "line numbers in an envelope",             patch: envelope("*** Update File: a.txt", ...HUNK),                         gives: [{ chunks: [{ anchors: [], line_hint: 0, lines: ["-x", "+y"] }] }] },
  { title: "the end of a file",                       patch: envelope("*** Update File: a.txt", ...BODY, "*** End of File", ""),  gives: [{ chunks: [{ at_end: true }] }] },
  { title: "an indented marker as context",           patch: envelope("*** Update File: a.txt", "@@", " *** Update File: b", "-x"), gives: [{ chunks: [{ lines: [" *** Update File: b", "-x"] }] }] },
  { title: "padded markers",                          patch: " *** Begin Patch \n  *** Add File: a.txt \n+x\n *** End Patch  \n\n",  gives: [ADD] },
  { title: "the name of an environment",              patch: envelope("*** Environment ID: remote", "*** Add File: a.txt", "+x"), gives: [ADD] },
  { title: "CRLF",                                    patch: envelope("*** Update File: a.txt", ...BODY).replaceAll("\n", "\r\n"), gives: [UPDATE] },
  { title: "CR as text, where the markers have none", patch: envelope("*** Add File: a.txt", "+x\r"),                             gives: [{ ...ADD, content: "x\r\n" }] },
  { title: "a here-document",                         patch: `<<'EOF'\n${envelope("*** Add File: a.txt", "+x")}\nEOF\n`,          gives: [ADD] },
  { title: "a here-document for a command",           patch: `apply_patch <<"PATCH"\n${envelope("*** Add File: a.txt", "+x")}\nPATCH`, gives: [ADD] },
  { title: "a code fence",                            patch: `\n\`\`\`diff\n${unified("--- a/a.txt", "+++ b/a.txt", ...HUNK)}\`\`\`\n`,  gives: [UPDATE] },
  { title: "a unified diff",                          patch: unified("--- a/a.txt", "+++ b/a.txt", ...HUNK),                      gives: [{ ...UPDATE, chunks: [{ line_hint: 0, lines: ["-x", "+y"] }] }] },
  { title: "a unified diff without prefixes",         patch: unified("--- a.txt\t2026-01-01", "+++ a.txt\t2026-01-02", ...HUNK),  gives: [UPDATE] },
  { title: "a folder that is called a",               patch: unified("--- a/a.txt", "+++ a/a.txt", ...HUNK),                      gives: [{ ...UPDATE, path: "a/a.txt" }] },
  { title: "Git's other prefixes",                    patch: unified("--- i/a.txt", "+++ w/a.txt", ...HUNK),                      gives: [UPDATE] },
  { title: "a new file",                              patch: unified("--- /dev/null", "+++ b/a.txt", "@@ -0,0 +1 @@", "+x"),      gives: [ADD] },
  { title: "a new file without a final newline",      patch: unified("--- /dev/null", "+++ b/a.txt", "@@ -0,0 +1 @@", "+x", "\\ No newline at end of file"), gives: [{ ...ADD, content: "x" }] },
  { title: "a removed file",                          patch: unified("--- a/a.txt", "+++ /dev/null", "@@ -1 +0,0 @@", "-x"),      gives: [{ kind: "delete", path: "a.txt", chunks: [{ lines: ["-x"] }] }] },
  { title: "Git's headers",                           patch: unified("diff --git a/a.txt b/a.txt", "old mode 100644", "new mode 100755", "index 12..34", "--- a/a.txt", "+++ b/a.txt", ...HUNK), gives: [UPDATE] },
  { title: "Git's empty new file",                    patch: unified("diff --git a/a b.txt b/a b.txt", "new file mode 100644", "index 00..e6"), gives: [{ kind: "add", path: "a b.txt", content: "" }] },
  { title: "Git's rename",                            patch: unified("diff --git a/a.txt b/b.txt", "similarity index 100%", "rename from a.txt", "rename to b.txt"), gives: [{ kind: "update", path: "a.txt", move_to: "b.txt", chunks: [] }] },
  { title: "a path in quotes",                        patch: unified('--- "a/caf\\303\\251 \\"1\\"\\t"', '+++ "b/caf\\303\\251 \\"1\\"\\t"', ...HUNK), gives: [{ ...UPDATE, path: 'café "1"\t' }] },
  { title: "mail from Git",                           patch: unified("From 1234 Mon", "Subject: x", "", "- a point", "---", " a.txt | 2 +-", "", "diff --git a/a.txt b/a.txt", "--- a/a.txt", "+++ b/a.txt", ...HUNK, "-- ", "2.50.1", ""), gives: [UPDATE] },
  { title: "two files",                               patch: unified("--- a/b.txt", "+++ b/b.txt", ...HUNK, "--- a/a.txt", "+++ b/a.txt", ...HUNK), gives: [{ path: "b.txt" }, { path: "a.txt" }] },
  { title: "removed and added lines that look like a header", patch: unified("--- a/a.txt", "+++ b/a.txt", "@@ -1 +1 @@", "--- a", "+++ b"), gives: [{ chunks: [{ lines: ["--- a", "+++ b"] }] }] },
  { title: "counts that are wrong",                   patch: unified("--- a/a.txt", "+++ b/a.txt", "@@ -7,9 +7,1 @@ f()", "-x", "+y", " z", "@@ -20 +20 @@", "-x"), gives: [{ chunks: [{ line_hint: 6, lines: ["-x", "+y", " z"] }, { line_hint: 19 }] }] },
  { title: "a hunk without numbers",                  patch: unified("--- a/a.txt", "+++ b/a.txt", ...BODY),                      gives: [{ chunks: [{ anchors: [], lines: ["-x", "+y"] }] }] },
];

for (const { title, patch, gives } of READ) {
  test(`reads ${title}`, () => {
    const changes = parsePatch(patch);
    expect(changes).toMatchObject(gives);
    expect(changes).toHaveLength(gives.length);
  });
}

// oxfmt-ignore
const REFUSED = [
  { title: "nothing",                              patch: "",                                                                        says: /Begin Patch/ },
  { title: "prose",                                patch: "please change the file",                                                  says: /line 1 .*Begin Patch/ },
  { title: "prose before an envelope",             patch: `Here:\n${envelope("*** Add File: a", "+x")}`,                             says: /line 1 .*Begin Patch/ },
  { title: "an empty envelope",                    patch: envelope(),                                                                says: /names no file/ },
  { title: "an envelope without an end",           patch: "*** Begin Patch\n*** Add File: a\n+x",                                    says: /line 4 .*End Patch.*ends here/ },
  { title: "text after the end",                   patch: `${envelope("*** Add File: a", "+x")}\nmore`,                              says: /line 5 .*"more"/ },
  { title: "an unknown marker",                    patch: envelope("*** Rename File: a"),                                            says: /line 2 .*Add File/ },
  { title: "a marker without a path",              patch: envelope("*** Add File: "),                                                says: /line 2 .*path/ },
  { title: "an added line without +",              patch: envelope("*** Add File: a", "+x", "y"),                                    says: /line 4 .*"\+"/ },
  { title: "lines after a delete",                 patch: envelope("*** Delete File: a", "x"),                                       says: /line 3/ },
  { title: "an update without chunks",             patch: envelope("*** Update File: a"),                                            says: /line 2 .*@@/ },
  { title: "a chunk without lines",                patch: envelope("*** Update File: a", "@@", "*** Update File: b", "@@", "-x"),    says: /line 4 .*context/ },
  { title: "a line without a sign",                patch: envelope("*** Update File: a", "@@", "-x", "y"),                           says: /line 5 .*"y"/ },
  { title: "chunks that change nothing",           patch: envelope("*** Update File: a", "@@", " x"),                                says: /"a" has no line/ },
  { title: "a header that is none",                patch: envelope("*** Update File: a", "@@ -1,x @@", "-x"),                        says: /line 3 .*"@@"/ },
  { title: "a path named twice",                   patch: envelope("*** Update File: a", ...BODY, "*** Delete File: ./a"),           says: /".\/a" twice/ },
  { title: "a move onto another file of the patch", patch: envelope("*** Update File: a", "*** Move to: b", ...BODY, "*** Add File: b", "+x"), says: /"b" twice/ },
  { title: "a hunk without a file",                patch: unified("@@ -1 +1 @@", "-x", "+y"),                                        says: /line 1 .*"--- "/ },
  { title: "a hunk of a combined diff",            patch: unified("--- a/a", "+++ b/a", "@@@ -1 -1 +1 @@@", "--x", "++y"),           says: /line [13] / },
  { title: "a unified line without a sign",        patch: unified("--- a/a", "+++ b/a", "@@ -1,2 +1,2 @@", "-x", "y", "+y"),         says: /line 5 .*context/ },
  { title: "lines after the counted ones",         patch: unified("--- a/a", "+++ b/a", "@@ -1 +1 @@", "-x", "+y", "text", "+z"),    says: /line 7/ },
  { title: "two names",                            patch: unified("--- a/a", "+++ b/b", ...HUNK),                                    says: /"a" and "b"/ },
  { title: "a change of mode alone",               patch: unified("diff --git a/a b/a", "old mode 100644", "new mode 100755"),       says: /line 1/ },
  { title: "a link",                               patch: unified("diff --git a/a b/a", "new file mode 120000", "--- /dev/null", "+++ b/a", "@@ -0,0 +1 @@", "+/etc"), says: /links/ },
  { title: "a copy",                               patch: unified("diff --git a/a b/b", "copy from a", "copy to b"),                 says: /line 2 .*copy/ },
  { title: "a binary patch",                       patch: unified("diff --git a/a b/a", "index 12..34 100644", "GIT binary patch", "literal 1"), says: /binary/ },
  { title: "binary files that differ",             patch: unified("diff --git a/a b/a", "Binary files a/a and b/a differ"),          says: /binary/ },
  { title: "a new file with old lines",            patch: unified("--- /dev/null", "+++ b/a", "@@ -1 +1 @@", "-x", "+y"),            says: /line 4 .*new file/ },
  { title: "a path in quotes that do not end",     patch: unified('--- "a/a', '+++ "b/a', ...HUNK),                                  says: /line 1 .*quotes/ },
];

for (const { title, patch, says } of REFUSED) {
  test(`refuses ${title}, and says where`, () => {
    expect(problemOf(patch)).toMatchObject({
      code: "InvalidArguments",
      message: expect.stringMatching(says) as unknown,
    });
  });
}

function problemOf(patch: string): ToolError | undefined {
  try {
    parsePatch(patch);
    return undefined;
  } catch (error) {
    if (error instanceof ToolError) return error;
    throw error;
  }
}

// oxfmt-ignore
const PIECES = [
  "*** Begin Patch", "*** End Patch", "*** Add File: a", "*** Delete File: b", "*** Update File: c", "*** Move to: d",
  "*** End of File", "*** Environment ID: x", "@@", "@@ x", "@@ -1,2 +1 @@", "@@@", "--- a/x", "+++ b/x", "+++ /dev/null",
  "diff --git a/x b/x", "rename from x", "rename to y", "new file mode 100644", "index 1..2", '--- "a\\', "-- ", "2.1",
  " x", "-x", "+x", "", "x", "\\ No newline", "```", "<<EOF", "EOF", "\r", "GIT binary patch",
];

test("any text is read or refused, never anything else", () => {
  const line = fc.oneof(fc.constantFrom(...PIECES), fc.string({ maxLength: 5 }));
  const patch = fc.array(line, { maxLength: 15 }).map((lines) => lines.join("\n"));
  fc.assert(
    fc.property(
      fc.oneof(
        patch,
        patch.map((text) => envelope(text)),
        fc.string(),
      ),
      (text) => {
        const problem = problemOf(text);
        if (problem !== undefined) expect(problem.code).toBe("InvalidArguments");
      },
    ),
    { numRuns: 3000 },
  );
});

test("a patch with any part cut out or written twice is read or refused", () => {
  const good = READ.map(({ patch }) => patch);
  fc.assert(
    fc.property(fc.constantFrom(...good), fc.nat(), fc.nat(), fc.boolean(), (patch, at, length, twice) => {
      const start = at % (patch.length + 1);
      const end = start + (length % (patch.length - start + 1));
      const text = patch.slice(0, twice ? end : start) + patch.slice(twice ? start : end);
      const problem = problemOf(text);
      if (problem !== undefined) expect(problem.code).toBe("InvalidArguments");
    }),
    { numRuns: 3000 },
  );
});
