import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { scratch } from "../../../../test/support/scratch.ts";
import type { Scratch } from "../../../../test/support/scratch.ts";
import { findProgram, PROGRAMS } from "../machine/processes/programs.ts";
import type { ToolCallResult } from "../protocol/result.ts";

const hasFd = (await findProgram("fd", { roots: [] })) !== undefined;
const needs = hasFd ? "" : ` (skipped: needs fd, ${PROGRAMS.fd.install})`;

const TREE = {
  "root/a.txt": "1",
  "root/.secret-notes/hidden.txt": "h",
  "root/.gitignore": "ignored.txt\n/top.txt\nout*/\n",
  "root/ignored.txt": "i",
  "root/top.txt": "t",
  "root/out-dir/x.txt": "x",
  "root/.git/HEAD.txt": "g",
  "root/src/b.ts": "b",
  "root/src/top.txt": "t",
  "root/src/deep/c.ts": "c",
  "root/src/deep/ignored.txt": "i",
  "root/src-b.txt": "s",
  "root/empty/": "",
  "root/.ssh/key.txt": "k",
  "root/server.pem": "k",
  "root/link.txt": "-> a.txt",
  "root/away": "-> ../outside",
  "outside/o.txt": "o",
} as const;

async function found(
  args: Record<string, unknown>,
  options: Parameters<typeof scratch>[0] = {},
): Promise<ToolCallResult> {
  const { make, call } = await scratch(options);
  await make(TREE);
  return await call("find", args);
}

// oxfmt-ignore
const FOUND = [
  { title: "files by name, hidden ones too, nothing ignored, sensitive or git's", args: { name_pattern: "*.txt", type: "file" },
    gives: [".secret-notes/hidden.txt", "a.txt", "src/top.txt", "src-b.txt"] },
  { title: "files by path",             args: { name_pattern: "src/**/*.ts", type: "f" },              gives: ["src/b.ts", "src/deep/c.ts"] },
  { title: "files by alternatives",     args: { name_pattern: "{b,c}.ts", type: "f" },                 gives: ["src/b.ts", "src/deep/c.ts"] },
  { title: "files by a set",            args: { name_pattern: "[bc].t?", type: "f" },                  gives: ["src/b.ts", "src/deep/c.ts"] },
  { title: "files down to a depth",     args: { name_pattern: "*.ts", type: "f", max_depth: 2 },       gives: ["src/b.ts"] },
  { title: "files below a folder",      args: { path: "src/deep", name_pattern: "*", type: "f" },      gives: ["src/deep/c.ts"] },
  { title: "the first ones",            args: { name_pattern: "*", type: "f", limit: 2 },              gives: [".gitignore", ".secret-notes/hidden.txt"] },
  { title: "nothing",                   args: { name_pattern: "*.md" },                                gives: [] },
  { title: "no file ignored by naming it", args: { name_pattern: "ignored.txt", type: "f" },           gives: [] },
] as const;

for (const { title, args, gives } of FOUND) {
  test(`find gives ${title}`, async () => {
    const { error, payload } = await found(args);
    expect(error).toBeNull();
    expect(payload?.stdout).toBe(gives.map((line) => `${line}\n`).join(""));
  });
}

// oxfmt-ignore
const WITH_FD = [
  { title: "every kind, marked, each folder's own entries right after it", args: { name_pattern: "*" },
    gives: [".gitignore", ".secret-notes/", ".secret-notes/hidden.txt", "a.txt", "away@", "empty/", "link.txt@", "src/", "src/b.ts", "src/deep/", "src/deep/c.ts", "src/top.txt", "src-b.txt"] },
  { title: "folders, empty ones too",   args: { name_pattern: "*", type: "directory" },               gives: [".secret-notes/", "empty/", "src/", "src/deep/"] },
  { title: "no folder that is ignored", args: { name_pattern: "out*", type: "d" },                    gives: [] },
  { title: "links",                     args: { name_pattern: "*", type: "l" },                       gives: ["away@", "link.txt@"] },
  { title: "what has a name, of any kind", args: { name_pattern: "{src,c.ts}" },                      gives: ["src/", "src/deep/c.ts"] },
  { title: "folders down to a depth",   args: { name_pattern: "*", type: "d", max_depth: 1 },         gives: [".secret-notes/", "empty/", "src/"] },
  { title: "what is below a folder",    args: { path: "src", name_pattern: "*" },                     gives: ["src/b.ts", "src/deep/", "src/deep/c.ts", "src/top.txt"] },
] as const;

for (const { title, args, gives } of WITH_FD) {
  for (const repository of [true, false]) {
    test.skipIf(!hasFd)(`find gives ${title}, ${repository ? "in a repository" : "without one"}${needs}`, async () => {
      const { make, call } = await scratch();
      await make(
        repository ? TREE : Object.fromEntries(Object.entries(TREE).filter(([name]) => !name.includes(".git/"))),
      );
      const { error, payload } = await call("find", args);
      expect(error).toBeNull();
      expect(payload?.stdout).toBe(gives.map((line) => `${line}\n`).join(""));
      expect(payload?.stdout).not.toContain("ignored");
    });
  }
}

test("a .gitignore further down counts without a repository, whatever fd can do", async () => {
  const { make, call } = await scratch();
  await make({
    "root/a/.gitignore": "gone/\n*.log\n",
    "root/a/gone/x": "",
    "root/a/kept/x": "",
    "root/a/b.log": "",
    "root/b.log": "",
  });
  expect((await call("find", { name_pattern: "*" })).payload?.stdout).toBe(
    "a/\na/.gitignore\na/kept/\na/kept/x\nb.log\n",
  );
  expect((await call("find", { name_pattern: "{gone,kept}", type: "d" })).payload?.stdout).toBe("a/kept/\n");
  expect((await call("find", { name_pattern: "*", path: "a", max_depth: 1 })).payload?.stdout).toContain("a/kept/\n");
});

test("names that are kept back are counted, not shown", async () => {
  const { payload } = await found({ name_pattern: "*.{pem,txt}", type: "file" });
  expect(payload?.stdout).not.toMatch(/pem|ssh/);
  expect(payload?.meta).toMatchObject({ engine: "rg", hidden: 2 });
});

test("what a rule closes is not listed", async () => {
  const config = { rules: [{ effect: "deny", path: "src/deep/**" } as const] };
  const { payload } = await found({ name_pattern: "*", path: "src", type: "file" }, { config });
  expect(payload?.stdout).toBe("src/b.ts\nsrc/top.txt\n");
});

test("the aliases take the arguments that their callers send, and give files, newest first", async () => {
  const { make, call, path } = await scratch();
  await make({ "root/lib/old.ts": "", "root/lib/new.ts": "", "root/lib/dir.ts/": "", "root/x/lib/other.ts": "" });
  utimesSync(join(path, "root/lib/old.ts"), 1, 1);
  utimesSync(join(path, "root/x/lib/other.ts"), 2, 2);
  const search = await call("glob_file_search", { glob_pattern: "lib/*.ts", target_directory: "." });
  expect(search.payload?.stdout).toBe("lib/new.ts\nx/lib/other.ts\nlib/old.ts\n");
  expect((await call("glob", { pattern: "*.ts", path: "lib" })).payload?.stdout).toBe("lib/new.ts\nlib/old.ts\n");
  expect((await call("glob", { pattern: "lib/*.ts" })).payload?.stdout).toBe("lib/new.ts\nlib/old.ts\n");
});

// oxfmt-ignore
const REFUSED = [
  { title: "something that is not there", args: { path: "nowhere", name_pattern: "*" },          code: "NotFound",             says: /"nowhere"/ },
  { title: "a file",                      args: { path: "a.txt", name_pattern: "*" },            code: "InvalidArguments",     says: /not a folder/ },
  { title: "a link to the outside",       args: { path: "away", name_pattern: "*" },             code: "PathTraversalBlocked", says: /outside/ },
  { title: "a sensitive place",           args: { path: ".ssh", name_pattern: "*" },             code: "SensitivePath",        says: /keys/ },
  { title: "a pattern with no end",       args: { name_pattern: "{a,b}".repeat(20) },            code: "InvalidArguments",     says: /name_pattern.*alternatives/ },
  { title: "a pattern that is missing",   args: {},                                              code: "InvalidArguments",     says: /"name_pattern"/ },
  { title: "a kind that there is not",    args: { name_pattern: "*", type: "x" },                code: "InvalidArguments",     says: /"type"/ },
  { title: "a cursor that is none",       args: { name_pattern: "*", cursor: "x" },              code: "InvalidCursor",        says: /altered/ },
] as const;

for (const { title, args, code, says } of REFUSED) {
  test(`find of ${title} is refused with ${code}`, async () => {
    const { error } = await found(args);
    expect(error?.code).toBe(code);
    expect(error?.message).toMatch(says);
  });
}

test("patterns and names that look like options are only text", async () => {
  const { make, call } = await scratch();
  await make({ "root/--exec=id": "", "root/-x": "", "root/new\nline.txt": "", "root/\u001b[31m": "" });
  expect((await call("find", { name_pattern: "--exec=id" })).payload?.stdout).toBe("--exec=id\n");
  expect((await call("find", { name_pattern: "-x" })).payload?.stdout).toBe("-x\n");
  expect((await call("find", { name_pattern: "--exec=*", type: "f" })).payload?.stdout).toBe("--exec=id\n");
  expect((await call("find", { name_pattern: "*.txt" })).payload?.stdout).toBe("new\\nline.txt\n");
  expect((await call("find", { name_pattern: "*\\[*" })).payload?.stdout).toBe("\\e[31m\n");
});

async function allPages({ call }: Scratch, args: Record<string, unknown>): Promise<string[]> {
  const lines: string[] = [];
  let cursor: string | undefined;
  do {
    const { payload, error } = await call("find", { ...args, ...(cursor === undefined ? {} : { cursor }) });
    expect(error).toBeNull();
    lines.push(...(payload?.stdout.split("\n").slice(0, -1) ?? []));
    cursor = payload?.next_page_cursor;
  } while (cursor !== undefined);
  return lines;
}

test("any sequence of pages is the whole, in the order of ls or of time", async () => {
  const place = await scratch();
  const name = fc
    .string({ unit: fc.constantFrom("a", "b", "Z", "é", " ", "-", ".", "\n", "!"), minLength: 1, maxLength: 3 })
    .filter((each) => !/^\.+$/.test(each));
  const paths = fc.uniqueArray(fc.array(name, { minLength: 1, maxLength: 3 }), {
    maxLength: 12,
    selector: (parts) => parts.join("/"),
  });
  const type = fc.constantFrom("any", "file", "directory");
  let round = 0;
  await fc.assert(
    fc.asyncProperty(paths, type, fc.integer({ min: 1, max: 5 }), async (list, kind, limit) => {
      const folder = `t${round++}`;
      for (const parts of list) {
        const path = join(place.path, "root", folder, ...parts);
        mkdirSync(path, { recursive: true });
        writeFileSync(join(path, "file"), "");
        utimesSync(join(path, "file"), parts.length, parts.length); // many of the same time
      }
      mkdirSync(join(place.path, "root", folder), { recursive: true });
      const args = { path: folder, name_pattern: "*", type: kind };
      const whole = await allPages(place, args);
      expect(await allPages(place, { ...args, limit })).toEqual(whole);
      const newest = await allPages(place, { ...args, sort: "newest" });
      expect(await allPages(place, { ...args, sort: "newest", limit })).toEqual(newest);
      expect(newest.toSorted()).toEqual(whole.toSorted());
      if (kind === "directory") return;
      const { payload } = await place.call("ls", { path: folder, recursive: true });
      const listed =
        payload?.stdout
          .split("\n")
          .slice(0, -1)
          .map((line) => `${folder}/${line}`) ?? [];
      expect(whole).toEqual(kind === "file" ? listed.filter((line) => !line.endsWith("/")) : listed);
    }),
    { numRuns: 40 },
  );
});

test("a page holds what the limits allow, says so, and the cursor is for the same search", async () => {
  const { make, call } = await scratch({ limits: { lines: 4, bytes: 300 } });
  await make(Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`root/file${i}`, "x"])));
  await make(Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`root/${"n".repeat(99)}${i}`, "x"])));
  const byLines = await call("find", { name_pattern: "file*" });
  expect(byLines.payload).toMatchObject({
    truncated_lines: true,
    stdout: "file0\nfile1\nfile2\nfile3\n",
    data: { complete: false },
  });
  const byBytes = await call("find", { name_pattern: "n*" });
  expect(byBytes.payload).toMatchObject({ truncated_bytes: true, truncated_lines: false });
  const byLimit = await call("find", { name_pattern: "file*", limit: 2 });
  expect(byLimit.payload).toMatchObject({ truncated_lines: false, truncated_bytes: false });
  const cursor = byLimit.payload?.next_page_cursor;
  expect((await call("find", { name_pattern: "file*", limit: 1, cursor })).payload?.stdout).toBe("file2\n");
  expect((await call("find", { name_pattern: "n*", limit: 2, cursor })).error?.code).toBe("InvalidCursor");
});

test("50,000 names are paged in bounded memory", async () => {
  const place = await scratch();
  for (let i = 0; i < 50; i++) {
    const folder = join(place.path, "root", `d${i}`);
    mkdirSync(folder);
    for (let j = 0; j < 1000; j++) writeFileSync(join(folder, `f${j}`), "");
  }
  await place.call("find", { name_pattern: "*", limit: 10 });
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  const { payload } = await place.call("find", { name_pattern: "f9*9", limit: 3 });
  expect(payload?.stdout).toBe("d0/f909\nd0/f919\nd0/f929\n");
  globalThis.gc?.();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(16 * 1024 * 1024);
});
