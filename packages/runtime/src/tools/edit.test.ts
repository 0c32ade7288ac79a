import { hash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratch } from "../../../../test/support/scratch.ts";

// oxfmt-ignore
const EDITED = [
  { title: "text that is there once",         file: "let a = 1;\n", args: { find: "a = 1", replace: "a = 2" },               gives: "let a = 2;\n", replacements: 1 },
  { title: "every occurrence with all",       file: "x\nx\n",       args: { find: "x", replace: "y", all: true },            gives: "y\ny\n",       replacements: 2 },
  { title: "several places at once",          file: "a\nb\nc\n",    args: { edits: [{ find: "c", replace: "C" }, { find: "a", replace: "A" }] }, gives: "A\nb\nC\n", replacements: 2 },
  { title: "with $& taken literally",         file: "a\n",          args: { find: "a", replace: "$& $1 $$" },                gives: "$& $1 $$\n",   replacements: 1 },
  { title: "a file with a byte order mark",   file: "\uFEFFa\n",    args: { find: "a", replace: "b" },                       gives: "\uFEFFb\n",    replacements: 1 },
  { title: "CRLF found by LF",                file: "a\r\nb\r\nc\r\n", args: { find: "a\nb", replace: "x\ny" },             gives: "x\r\ny\r\nc\r\n", replacements: 1 },
  { title: "to nothing",                      file: "a\nb\n",       args: { find: "a\n", replace: "" },                      gives: "b\n",          replacements: 1 },
];

for (const { title, file, args, gives, replacements } of EDITED) {
  test(`edit changes ${title}, and gives the diff`, async () => {
    const { make, call, read } = await scratch();
    await make({ "root/a.txt": file });

    const { ok, error, payload, artifacts } = await call("edit", { path: "a.txt", ...args });

    expect({ ok, error }).toEqual({ ok: true, error: null });
    expect(await read("root/a.txt")).toBe(gives);
    expect(payload?.data).toMatchObject({ path: "a.txt", replacements, sha256: hash("sha256", gives, "hex") });
    expect(payload?.stdout).toContain("@@");
    expect(artifacts.files_changed).toEqual(["a.txt"]);
  });
}

// oxfmt-ignore
const REFUSED = [
  { title: "text that is not there",         file: "let a = 1;\n", args: { find: "let b = 1", replace: "y" },                   code: "NoMatch",          says: /line 1/ },
  { title: "text that is there twice",       file: "x\nx\n",       args: { find: "x", replace: "y" },                           code: "AmbiguousMatch",   says: /lines 1(, | and )2/ },
  { title: "an empty find",                  file: "x\n",          args: { find: "", replace: "y" },                            code: "InvalidArguments", says: /empty/ },
  { title: "find equal to replace",          file: "x\n",          args: { find: "x", replace: "x" },                           code: "InvalidArguments", says: /same|equal/ },
  { title: "find and edits together",        file: "x\n",          args: { find: "x", replace: "y", edits: [{ find: "x", replace: "y" }] }, code: "InvalidArguments", says: /edits/ },
  { title: "neither find nor edits",         file: "x\n",          args: {},                                                    code: "InvalidArguments", says: /edits/ },
  { title: "no edits",                       file: "x\n",          args: { edits: [] },                                         code: "InvalidArguments", says: /edits/ },
  { title: "edits that overlap",             file: "abc\n",        args: { edits: [{ find: "ab", replace: "x" }, { find: "bc", replace: "y" }] }, code: "InvalidArguments", says: /overlap/ },
  { title: "all edits when one fails",       file: "a\n",          args: { edits: [{ find: "a", replace: "b" }, { find: "z", replace: "y" }] },   code: "NoMatch", says: /z|edits/ },
  { title: "content other than if_sha256",   file: "x\n",          args: { find: "x", replace: "y", if_sha256: "0".repeat(64) }, code: "Stale",           says: /if_sha256/ },
  { title: "text that was redacted",         file: "K=1\n",        args: { find: "K=***REDACTED***", replace: "K=2" },          code: "NoMatch",          says: /redacted/ },
  { title: "to put redacted text in",        file: "K=1\n",        args: { find: "K=1", replace: "K=***REDACTED***" },          code: "InvalidArguments", says: /redacted/i },
];

for (const { title, file, args, code, says } of REFUSED) {
  test(`edit refuses ${title} and leaves the file alone`, async () => {
    const { make, call, read } = await scratch();
    await make({ "root/a.txt": file });

    const { error, artifacts } = await call("edit", { path: "a.txt", ...args });

    expect(error).toMatchObject({ code, message: expect.stringMatching(says) as unknown });
    expect(artifacts).toEqual({ files_changed: [], commands_run: [] });
    expect(await read("root/a.txt")).toBe(file);
  });
}

test("edit refuses bytes that are not valid UTF-8, and binary files, rather than destroy them", async () => {
  const { path, call } = await scratch();
  writeFileSync(join(path, "root/latin1.txt"), Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x0a]));
  writeFileSync(join(path, "root/image.png"), Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0]));

  expect((await call("edit", { path: "latin1.txt", find: "caf", replace: "x" })).error?.message).toMatch(
    /not valid UTF-8/,
  );
  expect((await call("edit", { path: "image.png", find: "PNG", replace: "x" })).error?.message).toMatch(/binary/);
});

test("edit of a file that is not there says what to do", async () => {
  const { call } = await scratch();
  const { error } = await call("edit", { path: "missing.txt", find: "a", replace: "b" });
  expect(error).toMatchObject({ code: "NotFound", hint: expect.stringMatching(/write/) as unknown });
});

test("parallel edits of one file queue, by whatever name they reach it, and none is lost", async () => {
  const { make, call, read } = await scratch();
  const lines = Array.from({ length: 30 }, (_, i) => `line ${i};`);
  await make({ "root/dir/a.txt": lines.join("\n"), "root/link": "-> dir", "root/alias.txt": "-> dir/a.txt" });
  const names = ["dir/a.txt", "link/a.txt", "alias.txt"];

  const results = await Promise.all(
    lines.map((line, i) => call("edit", { path: names[i % 3], find: line, replace: `changed ${i};` })),
  );

  expect(results.filter(({ ok }) => !ok)).toEqual([]);
  expect(await read("root/dir/a.txt")).toBe(lines.map((_, i) => `changed ${i};`).join("\n"));
});
