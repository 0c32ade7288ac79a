import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { scratch } from "../../../../../test/support/scratch.ts";
import type { ToolContext } from "../../contract/context.ts";
import { defineTool } from "../../contract/tool.ts";
import type { Tool, Touch } from "../../contract/tool.ts";

/** A tool that declares access to one path and then works with its files. */
function fileTool(touch: Touch, work: (context: ToolContext) => Promise<unknown>): Tool {
  return defineTool({
    name: "work",
    version: "1.0.0",
    description: "Works on files",
    args: z.strictObject({}),
    returns: z.strictObject({}),
    required_permissions: ["fs.read"],
    side_effects: ["none"],
    risk: "low",
    permission_class: "file",
    touches: () => [touch],
    async execute(_, context) {
      return { data: {}, stdout: JSON.stringify(await work(context)) };
    },
  });
}

test("stat reports the kind of an entry without opening it", async () => {
  const { runtime, make } = await scratch();
  await make({ "root/a.txt": "four" });
  runtime.register(fileTool({ path: "a.txt", access: "read" }, ({ files }) => files.stat("a.txt")));
  const { payload } = await runtime.call({ name: "work", args: {} });
  expect(JSON.parse(payload?.stdout ?? "")).toEqual({
    kind: "file",
    size: 4,
    modified_ms: expect.any(Number) as number,
  });
});

test("a path that the call did not declare is refused, also one inside the roots", async () => {
  const { runtime, make } = await scratch();
  await make({ "root/a/x": "x", "root/b/y": "y" });
  runtime.register(fileTool({ path: "a", access: "list" }, ({ files }) => files.list("b", { limit: 10 })));
  const { error } = await runtime.call({ name: "work", args: {} });
  expect(error).toMatchObject({
    code: "PathTraversalBlocked",
    message: expect.stringMatching(/did not declare/) as string,
  });
});

test("a declared read does not allow a listing", async () => {
  const { runtime, make } = await scratch();
  await make({ "root/a/x": "x" });
  runtime.register(fileTool({ path: "a", access: "read" }, ({ files }) => files.list("a", { limit: 10 })));
  expect((await runtime.call({ name: "work", args: {} })).error?.code).toBe("PathTraversalBlocked");
});

// oxfmt-ignore
const SWAPS = [
  { title: "itself is swapped for a link to the outside",  path: "a",   swap: (root: string) => { renameSync(join(root, "a"), join(root, "away")); symlinkSync("../outside", join(root, "a")); } },
  { title: "a folder above it is swapped for a link",      path: "p/a", swap: (root: string) => { renameSync(join(root, "p"), join(root, "away")); symlinkSync("../outside", join(root, "p")); } },
  { title: "it is swapped for a link inside the root",     path: "a",   swap: (root: string) => { rmSync(join(root, "a"), { recursive: true }); symlinkSync("other", join(root, "a")); } },
] as const;

for (const { title, path, swap } of SWAPS) {
  test(`the checked path is the one that is opened: where ${title}, nothing is shown`, async () => {
    const { runtime, make, path: folder } = await scratch();
    await make({
      "root/a/mine": "",
      "root/p/a/mine": "",
      "root/other/theirs": "",
      "outside/a/secret": "",
      "outside/secret": "",
    });
    const tool = fileTool({ path, access: "list" }, async ({ files }) => {
      swap(join(folder, "root"));
      return await files.list(path, { limit: 10 });
    });
    runtime.register(tool);
    const result = await runtime.call({ name: "work", args: {} });
    expect(result.ok).toBe(false);
    expect(JSON.stringify(result)).not.toMatch(/secret|theirs/);
  });
}

test("links below a folder are not followed, whatever the tool asks for", async () => {
  const { runtime, make } = await scratch();
  await make({ "root/a/link": "-> ../../outside", "outside/secret": "" });
  runtime.register(
    fileTool({ path: "a", access: "list" }, ({ files }) => files.list("a", { below: ["link"], limit: 10 })),
  );
  expect((await runtime.call({ name: "work", args: {} })).ok).toBe(false);
});

test('a key with ".." leads nowhere', async () => {
  const { runtime, make } = await scratch();
  await make({ "root/a/x": "", "outside/secret": "" });
  for (const below of [[".."], ["..", "..", "outside"], ["../../outside"], ["."], [""]]) {
    const place = fileTool({ path: "a", access: "list" }, ({ files }) => files.list("a", { below, limit: 10 }));
    runtime.register({ ...place, name: `work${below.join("").length}${below.length}` });
  }
  const results = await runtime.callAll(
    ["work21", "work113", "work131", "work11", "work01"].map((name) => ({ name, args: {} })),
  );
  for (const result of results) {
    expect(result.error?.code).not.toBe("UnknownTool");
    expect(JSON.stringify(result)).not.toContain("secret");
  }
});

test("a subfolder closed by a rule is skipped and reported", async () => {
  const { runtime, make } = await scratch({
    config: { rules: [{ effect: "deny", path: "private/**", reason: "not for agents" }] },
  });
  await make({ "root/open/x": "", "root/private/diary": "", "root/z": "" });
  const { payload, error } = await runtime.call({ name: "ls", args: { recursive: true } });
  expect(error).toBeNull();
  expect(payload?.stdout).toBe("open/\nopen/x\nprivate/\nz\n");
  expect(payload?.stderr).toMatch(/not for agents/);
});

test("entries beyond the limit are not held, and their existence is reported", async () => {
  const { runtime, path } = await scratch();
  mkdirSync(join(path, "root/many"));
  for (let i = 0; i < 50; i++) mkdirSync(join(path, "root/many", `d${String(i).padStart(2, "0")}`));
  runtime.register(
    fileTool({ path: "many", access: "list" }, ({ files }) => files.list("many", { limit: 3, after: "d09" })),
  );
  const { payload } = await runtime.call({ name: "work", args: {} });
  expect(JSON.parse(payload?.stdout ?? "")).toMatchObject({
    more: true,
    entries: [{ name: "d10" }, { name: "d11" }, { name: "d12" }],
  });
});

test("an opened file is read from any position, and stays the same file", async () => {
  const { runtime, make, path } = await scratch();
  await make({ "root/a.txt": "0123456789" });
  const tool = fileTool({ path: "a.txt", access: "read" }, async ({ files }) => {
    const file = await files.open("a.txt");
    rmSync(join(path, "root/a.txt"));
    writeFileSync(join(path, "root/a.txt"), "another");
    const slices = [[0, 4], [8, 10], [3, 0], [99, 5]] as const; // oxfmt-ignore
    const parts: string[] = [];
    for (const [position, length] of slices) parts.push(String(await file.read(position, length)));
    file.close();
    file.close();
    const closed = await file.read(0, 1).catch((error: Error) => error.message);
    return { size: file.size, parts, closed };
  });
  runtime.register(tool);
  const { payload } = await runtime.call({ name: "work", args: {} });
  expect(JSON.parse(payload?.stdout ?? "")).toEqual({
    size: 10,
    parts: ["0123", "89", "", ""],
    closed: 'Cannot read "a.txt": it was closed',
  });
});

test("the identity of a file differs when its content may differ, and only then", async () => {
  const { runtime, make, path } = await scratch();
  await make({ "root/a.txt": "one" });
  const file = join(path, "root/a.txt");
  const tool = fileTool({ path: "a.txt", access: "read" }, async ({ files }) => {
    const identities: string[] = [];
    // oxfmt-ignore
    const steps = [() => undefined, () => statSync(file), () => appendFileSync(file, "x"), () => { rmSync(file); writeFileSync(file, "onex"); }];
    for (const step of steps) {
      step();
      const opened = await files.open("a.txt");
      identities.push(opened.identity);
      opened.close();
    }
    return identities;
  });
  runtime.register(tool);
  const [first, second, third, fourth] = JSON.parse(
    (await runtime.call({ name: "work", args: {} })).payload?.stdout ?? "",
  ) as string[];
  expect(second).toBe(first);
  expect(new Set([first, third, fourth]).size).toBe(3);
});

// oxfmt-ignore
const NOT_OPENED = [
  { title: "a folder",             path: "folder",  code: "InvalidArguments",     says: /it is a folder; list it with ls/ },
  { title: "a pipe",               path: "pipe",    code: "InvalidArguments",     says: /a pipe, a socket or a device/ },
  { title: "a missing file",       path: "missing", code: "NotFound",             says: /Cannot read "missing": not found$/ },
  { title: "something below a file", path: "file/x", code: "InvalidArguments",    says: /a name above it is a file/ },
  { title: "an undeclared path",   path: "other",   code: "PathTraversalBlocked", says: /did not declare/ },
] as const;

for (const { title, path, code, says } of NOT_OPENED) {
  test(`${title} is refused without being opened`, async () => {
    const { runtime, make, path: folder } = await scratch();
    await make({ "root/folder/": "", "root/file": "f", "root/other": "o" });
    execFileSync("mkfifo", [join(folder, "root/pipe")]);
    const declared = path === "other" ? "file" : path;
    runtime.register(fileTool({ path: declared, access: "read" }, async ({ files }) => (await files.open(path)).size));
    const { error } = await runtime.call({ name: "work", args: {} });
    expect(error).toMatchObject({ code, message: expect.stringMatching(says) as string });
  });
}

test("reading a file of any size does not block the event loop", async () => {
  const { runtime, path } = await scratch();
  writeFileSync(join(path, "root/long"), Buffer.alloc(40 << 20));
  let turns = 0;
  const tool = fileTool({ path: "long", access: "read" }, async ({ files }) => {
    const file = await files.open("long");
    const timer = setInterval(() => turns++, 0);
    let total = 0;
    for (let position = 0; position < file.size; position += 65_536)
      total += (await file.read(position, 65_536)).length;
    clearInterval(timer);
    file.close();
    return total;
  });
  runtime.register(tool);
  expect((await runtime.call({ name: "work", args: {} })).payload?.stdout).toBe(String(40 << 20));
  expect(turns).toBeGreaterThan(0);
});

test("a tool changes the files that it declared, and the change can be found", async () => {
  const { runtime, make, read } = await scratch();
  await make({ "root/a.txt": "old" });
  const tool = fileTool({ path: "a.txt", access: "write" }, ({ files }) =>
    files.change(["a.txt"], async () => [{ path: "a.txt", content: Buffer.from("new") }]),
  );
  runtime.register(tool);
  const { payload } = await runtime.call({ name: "work", args: {} });
  expect(JSON.parse(payload?.stdout ?? "")).toMatchObject({
    files: [{ path: "a.txt", before: { size: 3 }, after: { size: 3 } }],
    undo_id: expect.stringMatching(/^undo_/) as string,
  });
  expect(await read("root/a.txt")).toBe("new");
});
