import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { scratch } from "../../../../test/support/scratch.ts";
import type { Scratch } from "../../../../test/support/scratch.ts";
import type { ToolCallResult } from "../protocol/result.ts";

const TREE = {
  "root/a.txt": "a",
  "root/B.md": "b",
  "root/.gitignore": "x",
  "root/.env": "A=1",
  "root/dir/inner.ts": "i",
  "root/dir/deeper/z": "z",
  "root/empty/": "",
  "root/link": "-> a.txt",
  "root/broken": "-> nowhere",
  "root/out": "-> ../outside",
  "root/.ssh/id_rsa": "key",
  "root/server.pem": "key",
  "outside/secret": "s",
} as const;

async function listing(
  args: Record<string, unknown>,
  options: Parameters<typeof scratch>[0] = {},
): Promise<ToolCallResult> {
  const { make, call } = await scratch({ state_dir: ".agent", ...options });
  await make(TREE);
  return await call("ls", args);
}

test("a folder is listed in the order of its names, folders and links marked, sensitive names kept back", async () => {
  const { ok, payload } = await listing({ path: "." });
  expect(ok).toBe(true);
  expect(payload?.stdout).toBe(".env\n.gitignore\nB.md\na.txt\nbroken@\ndir/\nempty/\nlink@\nout@\n");
  expect(payload?.meta).toEqual({ hidden: 3 }); // .ssh, server.pem, and the state folder
  expect(payload?.data).toMatchObject({
    path: ".",
    entries: expect.arrayContaining([{ path: "dir", kind: "directory" }]) as unknown,
  });
  expect(payload).not.toHaveProperty("next_page_cursor");
});

test("recursive lists each folder's own entries right after it, and follows no link", async () => {
  const { payload } = await listing({ path: ".", recursive: true });
  expect(payload?.stdout).toBe(
    ".env\n.gitignore\nB.md\na.txt\nbroken@\ndir/\ndir/deeper/\ndir/deeper/z\ndir/inner.ts\nempty/\nlink@\nout@\n",
  );
});

test("what matches ignore_globs is left out, with what is below it", async () => {
  const { payload } = await listing({
    path: ".",
    recursive: true,
    ignore_globs: ["dir/deeper", "*.md", ".*", "{link,out,broken}"],
  });
  expect(payload?.stdout).toBe("a.txt\ndir/\ndir/inner.ts\nempty/\n");
});

test("all shows sensitive names where policy agrees, but never the runtime's own state", async () => {
  const { payload, error } = await listing({ path: ".", all: true }, { profile: "autonomous" });
  expect(error).toBeNull();
  expect(payload?.stdout.split("\n")).toEqual(expect.arrayContaining([".ssh/", "server.pem"]));
  expect(payload?.stdout).not.toContain(".agent");
  expect((await listing({ path: ".", all: true })).error?.code).toBe("ApprovalRequired");
});

test("an empty folder is an empty listing", async () => {
  expect((await listing({ path: "empty" })).payload).toMatchObject({ stdout: "", exit_code: 0, data: { entries: [] } });
});

test("the alias list_dir takes the arguments that its callers send", async () => {
  const { make, call } = await scratch();
  await make(TREE);
  expect((await call("list_dir", { target_directory: "dir" })).payload?.stdout).toBe("deeper/\ninner.ts\n");
  expect((await call("list_dir", { path: "dir", ignore_globs: ["*.ts"] })).payload?.stdout).toBe("deeper/\n");
});

// oxfmt-ignore
const REFUSED = [
  { title: "something that is not there",     args: { path: "nowhere" },                    code: "NotFound",             says: /"nowhere"/ },
  { title: "a file",                          args: { path: "a.txt" },                      code: "InvalidArguments",     says: /not a folder/ },
  { title: "a link to the outside",           args: { path: "out" },                        code: "PathTraversalBlocked", says: /outside/ },
  { title: "the outside itself",              args: { path: ".." },                         code: "PathTraversalBlocked", says: /outside/ },
  { title: "the outside by a long way",       args: { path: "dir/../../outside" },          code: "PathTraversalBlocked", says: /outside/ },
  { title: "an absolute path outside",        args: { path: "/etc" },                       code: "PathTraversalBlocked", says: /outside/ },
  { title: "the root of the process",         args: { path: "/proc/self/root/etc" },        code: "PathTraversalBlocked", says: /outside/ },
  { title: "the outside that is not there",   args: { path: "../nowhere" },                 code: "PathTraversalBlocked", says: /outside/ },
  { title: "a sensitive place",               args: { path: ".ssh" },                       code: "SensitivePath",        says: /SSH keys and configuration/ },
  { title: "a sensitive place in other case", args: { path: ".SSH" },                       code: "SensitivePath",        says: /keys/ },
  { title: "the runtime's own state",         args: { path: ".agent" },                     code: "SensitivePath",        says: /state/ },
  { title: "an empty path",                   args: { path: "" },                           code: "InvalidArguments",     says: /"path"/ },
  { title: "a limit of nothing",              args: { path: ".", limit: 0 },                code: "InvalidArguments",     says: /"limit"/ },
  { title: "an argument that it has not",     args: { path: ".", depth: 2 },                code: "InvalidArguments",     says: /"depth" is not an argument/ },
  { title: "a cursor that is none",           args: { path: ".", cursor: "x" },             code: "InvalidCursor",        says: /altered/ },
  { title: "a pattern with no end",           args: { path: ".", ignore_globs: ["{a,b}".repeat(20)] }, code: "InvalidArguments", says: /alternatives/ },
] as const;

for (const { title, args, code, says } of REFUSED) {
  test(`ls of ${title} is refused with ${code}`, async () => {
    const { ok, error } = await listing(args);
    expect(ok).toBe(false);
    expect(error?.code).toBe(code);
    expect(error?.message).toMatch(says);
  });
}

async function allPages({ call }: Scratch, args: Record<string, unknown>): Promise<string[]> {
  const lines: string[] = [];
  let cursor: string | undefined;
  do {
    const { payload, error } = await call("ls", { ...args, ...(cursor === undefined ? {} : { cursor }) });
    expect(error).toBeNull();
    lines.push(...(payload?.stdout.split("\n").slice(0, -1) ?? []));
    cursor = payload?.next_page_cursor;
  } while (cursor !== undefined);
  return lines;
}

test("any sequence of pages is the whole listing", async () => {
  const place = await scratch();
  const name = fc
    .string({ unit: fc.constantFrom("a", "b", "Z", "é", " ", "-", "."), minLength: 1, maxLength: 3 })
    .filter((each) => !/^\.+$/.test(each));
  const paths = fc.uniqueArray(fc.array(name, { minLength: 1, maxLength: 3 }), {
    maxLength: 25,
    selector: (parts) => parts.join("/"),
  });
  let round = 0;
  await fc.assert(
    fc.asyncProperty(paths, fc.integer({ min: 1, max: 7 }), async (list, limit) => {
      const folder = `t${round++}`;
      mkdirSync(join(place.path, "root", folder));
      for (const parts of list) mkdirSync(join(place.path, "root", folder, ...parts), { recursive: true });
      const args = { path: folder, recursive: true };
      const whole = await allPages(place, args);
      expect(await allPages(place, { ...args, limit })).toEqual(whole);
      expect(new Set(whole).size).toBe(whole.length);
    }),
    { numRuns: 60 },
  );
});

test("a page holds what the limits allow, says so, and the cursor goes on", async () => {
  const { make, call } = await scratch({ limits: { lines: 4, bytes: 1000 } });
  await make(Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`root/file${i}`, "x"])));
  const byLines = await call("ls", { path: "." });
  expect(byLines.payload).toMatchObject({
    truncated_lines: true,
    truncated_bytes: false,
    stdout: "file0\nfile1\nfile2\nfile3\n",
  });
  const byLimit = await call("ls", { path: ".", limit: 2 });
  expect(byLimit.payload).toMatchObject({ truncated_lines: false, truncated_bytes: false, stdout: "file0\nfile1\n" });
  const next = await call("ls", { path: ".", limit: 2, cursor: byLimit.payload?.next_page_cursor });
  expect(next.payload?.stdout).toBe("file2\nfile3\n");
  const other = await call("ls", { path: ".", recursive: true, cursor: byLimit.payload?.next_page_cursor });
  expect(other.error?.code).toBe("InvalidCursor");
});

test("the limit of bytes cuts between entries", async () => {
  const { make, call } = await scratch({ limits: { lines: 100, bytes: 256 } });
  await make(Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`root/${"n".repeat(99)}${i}`, "x"])));
  const { payload } = await call("ls", { path: "." });
  expect(payload).toMatchObject({ truncated_bytes: true, truncated_lines: false });
  expect(payload?.stdout.split("\n")).toHaveLength(3);
});

test("100,000 entries come page by page in bounded memory", async () => {
  const place = await scratch();
  const folder = join(place.path, "root/many");
  mkdirSync(folder);
  for (let i = 0; i < 100_000; i++) writeFileSync(join(folder, `f${i}`), "");
  await place.call("ls", { path: "many" });
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  const first = await place.call("ls", { path: "many" });
  expect(first.payload?.stdout.split("\n").slice(0, 3)).toEqual(["f0", "f1", "f10"]);
  expect(first.payload).toMatchObject({ truncated_lines: true });
  const second = await place.call("ls", { path: "many", cursor: first.payload?.next_page_cursor });
  expect((second.payload?.stdout ?? "") > "f10").toBe(true);
  globalThis.gc?.();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(64 * 1024 * 1024);
});

test("names that are not valid text, or contain terminal control characters, are shown safely and still paged", async () => {
  const place = await scratch();
  const folder = join(place.path, "root/odd");
  mkdirSync(folder);
  writeFileSync(join(folder, "new\nline"), "");
  writeFileSync(join(folder, "\u001b[31mred"), "");
  writeFileSync(Buffer.concat([Buffer.from(`${folder}/bad-`), Buffer.from([0xff, 0xfe])]), "");
  execFileSync("mkdir", ["-p", join(folder, "ünïcode 世界/sub dir")]);
  const lines = await allPages(place, { path: "odd", recursive: true, limit: 1 });
  expect(lines).toEqual(["\\e[31mred", "bad-\ufffd\ufffd", "new\\nline", "ünïcode 世界/", "ünïcode 世界/sub dir/"]);
});

test("a root reached through a link, and absolute paths inside it, just work", async () => {
  const { make, path } = await scratch();
  await make({ "root/x": "x", "by-link": "-> root" });
  const { createRuntime } = await import("../runtime.ts");
  const runtime = await createRuntime({ roots: [join(path, "by-link")] });
  for (const asked of [".", join(path, "by-link"), join(path, "root"), `${path}/root/./`]) {
    expect((await runtime.call({ name: "ls", args: { path: asked } })).payload?.stdout, asked).toBe("x\n");
  }
  await runtime.close();
});
