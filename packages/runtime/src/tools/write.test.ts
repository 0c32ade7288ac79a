import { hash } from "node:crypto";
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratch } from "../../../../test/support/scratch.ts";

const sha256 = (text: string): string => hash("sha256", text, "hex");

// oxfmt-ignore
const WRITTEN = [
  { title: "a new file",                              args: { content: "new\n" },                                   gives: "new\n" },
  { title: "a file that is there",                    old: "old\n", args: { content: "new\n" },                     gives: "new\n" },
  { title: "nothing at all",                          old: "old\n", args: { content: "" },                          gives: "" },
  { title: "what create makes",                       args: { content: "new\n", mode: "create" },                   gives: "new\n" },
  { title: "what is appended",                        old: "old\n", args: { content: "new\n", mode: "append" },     gives: "old\nnew\n" },
  { title: "what is appended to no final newline",    old: "old", args: { content: "new", mode: "append" },         gives: "oldnew" },
  { title: "what is appended to nothing",             args: { content: "new\n", mode: "append" },                   gives: "new\n" },
  { title: "lines added to lines that end in CRLF",   old: "a\r\nb\r\n", args: { content: "c\nd\n", mode: "append" }, gives: "a\r\nb\r\nc\r\nd\r\n" },
  { title: "CRLF added as it is said",                old: "a\n", args: { content: "c\r\n", mode: "append" },       gives: "a\nc\r\n" },
  { title: "lines added to mixed ends",               old: "a\r\nb\n", args: { content: "c\n", mode: "append" },    gives: "a\r\nb\nc\n" },
  { title: "no second byte order mark",               old: "\uFEFFa\n", args: { content: "\uFEFFb\n", mode: "append" }, gives: "\uFEFFa\nb\n" },
  { title: "what fits if_sha256",                     old: "old\n", args: { content: "new\n", if_sha256: sha256("old\n").toUpperCase() }, gives: "new\n" },
  { title: "a marker that the file holds already",    old: "***REDACTED***\n", args: { content: "x ***REDACTED***\n" }, gives: "x ***REDACTED***\n" },
];

for (const { title, old, args, gives } of WRITTEN) {
  test(`write writes ${title}`, async () => {
    const { make, call, read } = await scratch();
    if (old !== undefined) await make({ "root/a.txt": old });

    const { ok, error, payload, artifacts } = await call("write", { path: "a.txt", ...args });

    expect({ ok, error }).toEqual({ ok: true, error: null });
    expect(await read("root/a.txt")).toBe(gives);
    expect(payload?.data).toMatchObject({
      path: "a.txt",
      created: old === undefined,
      size: Buffer.byteLength(gives),
      sha256: sha256(gives),
    });
    expect(artifacts).toMatchObject({ files_changed: ["a.txt"], undo_id: expect.stringMatching(/^undo_/) as unknown });
  });
}

// oxfmt-ignore
const REFUSED = [
  { title: "a file that create finds",       old: "old\n", args: { content: "new", mode: "create" },            code: "AlreadyExists",    says: /already/ },
  { title: "other content than if_sha256",   old: "old\n", args: { content: "new", if_sha256: "0".repeat(64) }, code: "Stale",            says: /if_sha256/ },
  { title: "nothing where if_sha256 is set", args: { content: "new", if_sha256: "0".repeat(64) },               code: "Stale",            says: /file not found/ },
  { title: "a hash that is none",            args: { content: "new", if_sha256: "12" },                         code: "InvalidArguments", says: /if_sha256/ },
  { title: "redacted text",                  old: "KEY=1\n", args: { content: "KEY=***REDACTED***\n" },         code: "InvalidArguments", says: /redacted/i },
  { title: "redacted text in a new file",    args: { content: "KEY=***REDACTED***\n" },                         code: "InvalidArguments", says: /redacted/i },
  { title: "an unknown mode",                args: { content: "new", mode: "truncate" },                        code: "InvalidArguments", says: /mode/ },
  { title: "no content",                     args: {},                                                          code: "InvalidArguments", says: /content/ },
];

for (const { title, old, args, code, says } of REFUSED) {
  test(`write refuses ${title} and leaves the folder as it was`, async () => {
    const { path, make, call } = await scratch();
    if (old !== undefined) await make({ "root/a.txt": old });

    const { error } = await call("write", { path: "a.txt", ...args });

    expect(error).toMatchObject({ code, message: expect.stringMatching(says) as unknown });
    expect(readdirSync(join(path, "root"))).toEqual(old === undefined ? [] : ["a.txt"]);
    if (old !== undefined) expect(readFileSync(join(path, "root/a.txt"), "utf8")).toBe(old);
  });
}

test("write makes missing folders, and keeps the mode of a file", async () => {
  const { path, call } = await scratch();
  const script = join(path, "root/bin/deep/run.sh");
  expect((await call("write", { path: "bin/deep/run.sh", content: "echo 1\n" })).ok).toBe(true);
  chmodSync(script, 0o755);

  expect((await call("write", { path: "bin/deep/run.sh", content: "echo 2\n" })).ok).toBe(true);

  expect(statSync(script).mode & 0o777).toBe(0o755);
  expect(readFileSync(script, "utf8")).toBe("echo 2\n");
  expect(readdirSync(join(path, "root/bin/deep"))).toEqual(["run.sh"]);
});

test("write does not replace a folder, and does not write through a link to outside", async () => {
  const { path, make, call, read } = await scratch();
  mkdirSync(join(path, "root/dir"));
  writeFileSync(join(path, "outside.txt"), "outside");
  await make({ "root/link": "-> ../outside.txt", "root/dangling": "-> ../missing.txt" });

  expect((await call("write", { path: "dir", content: "x" })).error?.code).toBe("InvalidArguments");
  expect((await call("write", { path: "link", content: "x" })).error?.code).toBe("PathTraversalBlocked");
  expect((await call("write", { path: "dangling", content: "x" })).error?.code).toBe("PathTraversalBlocked");

  expect(await read("outside.txt")).toBe("outside");
  expect(readdirSync(path).toSorted()).toEqual(["outside.txt", "root"]);
});

test("a link inside the root leads to its file, and stays a link", async () => {
  const { make, call, read } = await scratch();
  await make({ "root/a.txt": "old", "root/link": "-> a.txt" });
  expect((await call("write", { path: "link", content: "new" })).ok).toBe(true);
  expect(await read("root/a.txt")).toBe("new");
});

test("write_file takes the names of other clients", async () => {
  const { call, read } = await scratch();
  expect((await call("write_file", { file_path: "a.txt", contents: "one" })).ok).toBe(true);
  expect(await read("root/a.txt")).toBe("one");
});
