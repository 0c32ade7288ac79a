import { readdirSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { scratch } from "../../../../test/support/scratch.ts";
import type { Scratch } from "../../../../test/support/scratch.ts";
import type { ToolCallResult } from "../protocol/result.ts";

const TREE = {
  "root/a.ts": "first\nneedle one\nlast\n",
  "root/b.md": "needle two\n",
  "root/.hidden": "needle hidden\n",
  "root/.gitignore": "ignored.txt\nbuild/\n",
  "root/.ignore": "b.md\n",
  "root/ignored.txt": "needle ignored\n",
  "root/build/out.js": "needle built\n",
  "root/.git/config": "needle in git\n",
  "root/src/x.ts": "needle\nneedle\n",
  "root/src/deep/y.js": "const a = 'Needle';\n",
  "root/src-b/z.ts": "needle\n",
  "root/.ssh/id_rsa": "needle secret\n",
  "root/server.pem": "needle secret\n",
  "root/link.ts": "-> a.ts",
  "root/out": "-> ../outside",
  "root/inner": "-> src",
  "outside/secret": "needle outside\n",
} as const;

async function search(
  args: Record<string, unknown>,
  options: Parameters<typeof scratch>[0] = {},
): Promise<ToolCallResult> {
  const { make, call } = await scratch({ state_dir: ".agent", ...options });
  await make(TREE);
  return await call("grep", args);
}

// oxfmt-ignore
const FOUND = [
  { title: "finds lines in path order, hidden files too, and nothing that is ignored, sensitive, a link or git's",
    args: { pattern: "needle" },
    gives: [".hidden:1:needle hidden", "a.ts:2:needle one", "b.md:1:needle two", "src/x.ts:1:needle", "src/x.ts:2:needle", "src-b/z.ts:1:needle"] },
  { title: "joins paths to the one that was given",     args: { pattern: "needle", path: "./src/" },                gives: ["src/x.ts:1:needle", "src/x.ts:2:needle"] },
  { title: "searches one file where path is a file",    args: { pattern: "needle", path: "a.ts" },                  gives: ["a.ts:2:needle one"] },
  { title: "searches a file that is named though it is ignored", args: { pattern: "needle", path: "ignored.txt" },  gives: ["ignored.txt:1:needle ignored"] },
  { title: "follows a link that is named and leads inside", args: { pattern: "one", path: "link.ts" },              gives: ["link.ts:2:needle one"] },
  { title: "ignores case on request",                   args: { pattern: "NEEDLE", "-i": true, path: "src/deep" },  gives: ["src/deep/y.js:1:const a = 'Needle';"] },
  { title: "takes a glob over names",                   args: { pattern: "needle", glob: "*.md" },                  gives: ["b.md:1:needle two"] },
  { title: "takes a glob over paths",                   args: { pattern: "needle", glob: "src/**/*.{ts,js}" },      gives: ["src/x.ts:1:needle", "src/x.ts:2:needle"] },
  { title: "takes a glob that cannot be passed on",     args: { pattern: "needle", glob: "[bx].?[ds]" },            gives: ["b.md:1:needle two", "src/x.ts:1:needle", "src/x.ts:2:needle"] },
  { title: "finds nothing ignored by naming it in a glob", args: { pattern: "needle", glob: "ignored.txt" },        gives: [] },
  { title: "takes a type",                              args: { pattern: "needle", type: "md" },                    gives: ["b.md:1:needle two"] },
  { title: "takes a type and a glob together",          args: { pattern: "needle", type: "ts", glob: "src-b/*" },   gives: ["src-b/z.ts:1:needle"] },
  { title: "shows lines around a match",                args: { pattern: "needle", path: "a.ts", context: 1 },      gives: ["a.ts-1-first", "a.ts:2:needle one", "a.ts-3-last"] },
  { title: "separates groups",                          args: { pattern: "needle", glob: "{a,z}.ts", context: 1 },  gives: ["a.ts-1-first", "a.ts:2:needle one", "a.ts-3-last", "--", "src-b/z.ts:1:needle"] },
  { title: "names files only",                          args: { pattern: "needle", path: "src", files_only: true }, gives: ["src/x.ts"] },
  { title: "counts matching lines of each file",        args: { pattern: "needle", glob: "*.ts", count_only: true }, gives: ["a.ts:1", "src/x.ts:2", "src-b/z.ts:1"] },
  { title: "lets a match go over lines",                args: { pattern: "first.needle", multiline: true },         gives: ["a.ts:1:first", "a.ts:2:needle one"] },
  { title: "takes the smaller of two limits",           args: { pattern: "needle", limit: 3, head_limit: 1 },       gives: [".hidden:1:needle hidden"] },
  { title: "keeps the lines after the last match of a page", args: { pattern: "needle", glob: "[ab].*", context: 1, limit: 1 }, gives: ["a.ts-1-first", "a.ts:2:needle one", "a.ts-3-last"] },
  { title: "finds nothing",                             args: { pattern: "absent" },                                gives: [] },
] as const;

for (const { title, args, gives } of FOUND) {
  test(`grep ${title}`, async () => {
    const { ok, error, payload } = await search(args);
    expect(error).toBeNull();
    expect(ok).toBe(true);
    expect(payload?.stdout).toBe(gives.map((line) => `${line}\n`).join(""));
    expect(payload?.stderr).toBe("");
  });
}

test("data says the same as the text, and whether the search ran to its end", async () => {
  expect((await search({ pattern: "needle", path: "a.ts" })).payload?.data).toEqual({
    path: "a.ts",
    matches: [{ path: "a.ts", line: 2, text: "needle one" }],
    complete: true,
    summary: "1 matching line",
  });
  expect((await search({ pattern: "absent" })).payload?.data).toMatchObject({ complete: true, summary: "No match" });
  const { data, next_page_cursor } = (await search({ pattern: "needle", limit: 2 })).payload ?? {};
  expect(data).toMatchObject({ complete: false, summary: "2 matching lines on this page; more follow" });
  expect(next_page_cursor).toBeTypeOf("string");
});

// oxfmt-ignore
const REFUSED = [
  { title: "a pattern that is none",       args: { pattern: "a(b" },                          code: "InvalidArguments",     says: /^Cannot search for "a\(b": unclosed group; a "\\" makes/ },
  { title: "look-around",                  args: { pattern: "(?=x)" },                        code: "InvalidArguments",     says: /look-around.*not supported; search for the parts/ },
  { title: "a line end without multiline", args: { pattern: "a\\nb" },                        code: "InvalidArguments",     says: /set multiline/ },
  { title: "a pattern that is too much",   args: { pattern: "((a{1000}){1000}){100}" },       code: "InvalidArguments",     says: /size limit.*smaller/ },
  { title: "a NUL",                        args: { pattern: "a\0b" },                         code: "InvalidArguments",     says: /NUL/ },
  { title: "an empty pattern",             args: { pattern: "" },                             code: "InvalidArguments",     says: /"pattern"/ },
  { title: "an unknown type",              args: { pattern: "x", type: "nothing" },           code: "InvalidArguments",     says: /type "nothing"/ },
  { title: "a type that is an option",     args: { pattern: "x", type: "=--pre=sh" },         code: "InvalidArguments",     says: /"type"/ },
  { title: "a glob with no end",           args: { pattern: "x", glob: "{a,b}".repeat(20) },  code: "InvalidArguments",     says: /glob.*alternatives/ },
  { title: "two modes at once",            args: { pattern: "x", files_only: true, count_only: true }, code: "InvalidArguments", says: /exclude/ },
  { title: "something that is not there",  args: { pattern: "x", path: "nowhere" },           code: "NotFound",             says: /"nowhere"/ },
  { title: "a link to the outside",        args: { pattern: "x", path: "out" },               code: "PathTraversalBlocked", says: /outside/ },
  { title: "the outside",                  args: { pattern: "x", path: "../outside" },        code: "PathTraversalBlocked", says: /outside/ },
  { title: "a sensitive file",             args: { pattern: "x", path: "server.pem" },        code: "SensitivePath",        says: /key file/ },
  { title: "the runtime's own state",      args: { pattern: "x", path: ".agent" },            code: "SensitivePath",        says: /state/ },
  { title: "a cursor that is none",        args: { pattern: "x", cursor: "x" },               code: "InvalidCursor",        says: /altered/ },
  { title: "an argument that it has not",  args: { pattern: "x", flags: "--pre=sh" },         code: "InvalidArguments",     says: /"flags" is not an argument/ },
] as const;

for (const { title, args, code, says } of REFUSED) {
  test(`grep of ${title} is refused with ${code}`, async () => {
    const { ok, error } = await search(args);
    expect(ok).toBe(false);
    expect(error?.code).toBe(code);
    expect(error?.message).toMatch(says);
    expect(error?.message).not.toContain("/proc");
  });
}

test("text that looks like options is only text", async () => {
  const { make, call, path } = await scratch();
  const bait = "--pre=touch ran";
  await make({ "root/x.txt": `-e ${bait}\n--files\n-n\n`, "root/--pre=touch": "-n\n" });
  for (const [pattern, lines] of [
    [bait, 1],
    ["-n", 2],
    ["--files", 1],
    ["-e", 1],
  ] as const) {
    const { payload, error } = await call("grep", { pattern });
    expect(error).toBeNull();
    expect(payload?.stdout.split("\n"), pattern).toHaveLength(lines + 1);
  }
  expect((await call("grep", { pattern: "-n", glob: "--pre=*" })).payload?.stdout).toBe("--pre=touch:1:-n\n");
  expect((await call("grep", { pattern: "-n", path: "--pre=touch" })).payload?.stdout).toBe("--pre=touch:1:-n\n");
  expect(readdirSync(join(path, "root")).toSorted()).toEqual(["--pre=touch", "x.txt"].toSorted());
});

test("configuration in the workspace or the environment is ignored", async () => {
  const { make, call, path } = await scratch();
  await make({ "root/a.txt": "needle\n", "root/.rgignore": "a.txt\n", "root/.ripgreprc": "--invert-match\n" });
  process.env["RIPGREP_CONFIG_PATH"] = join(path, "root/.ripgreprc");
  try {
    expect((await call("grep", { pattern: "needle" })).payload?.stdout).toBe("a.txt:1:needle\n");
  } finally {
    delete process.env["RIPGREP_CONFIG_PATH"];
  }
});

test(".gitignore counts inside the roots, with or without a repository, and not from outside them", async () => {
  const { make, call } = await scratch();
  await make({
    ".gitignore": "root\n*.txt\n",
    "root/.gitignore": "/only-top\nnested/skip.txt\n",
    "root/only-top": "needle\n",
    "root/nested/only-top": "needle\n",
    "root/nested/skip.txt": "needle\n",
    "root/nested/keep.txt": "needle\n",
    "root/nested/.gitignore": "*.log\n!keep.log\n",
    "root/nested/a.log": "needle\n",
    "root/nested/keep.log": "needle\n",
  });
  const found = ["nested/keep.log", "nested/keep.txt", "nested/only-top"];
  expect((await call("grep", { pattern: "needle", files_only: true })).payload?.data).toMatchObject({ files: found });
  await make({ "root/.git/": "" });
  expect((await call("grep", { pattern: "needle", files_only: true })).payload?.data).toMatchObject({ files: found });
  const below = await call("grep", { pattern: "needle", path: "nested", files_only: true });
  expect(below.payload?.data).toMatchObject({ files: found });
});

test("what a rule closes is not searched, also far below", async () => {
  const { make, call } = await scratch({
    config: {
      rules: [
        { effect: "deny", path: "src/deep/**" },
        { effect: "deny", tool: "grep", path: "a.ts" },
      ],
    },
  });
  await make(TREE);
  const { payload } = await call("grep", { pattern: "needle", "-i": true, files_only: true });
  expect(payload?.data).toMatchObject({ files: [".hidden", "b.md", "src/x.ts", "src-b/z.ts"] });
});

test("nothing in the answer depends on what sensitive files say", async () => {
  const place = await scratch();
  await place.make({ "root/.ssh/id_rsa": "secret-a\n", "root/x": "x\n" });
  const [with_, without] = [
    await place.call("grep", { pattern: "secret-a" }),
    await place.call("grep", { pattern: "secret-b" }),
  ];
  expect(with_.payload).toEqual(without.payload);
});

async function allPages({ call }: Scratch, args: Record<string, unknown>): Promise<string> {
  let text = "";
  let cursor: string | undefined;
  do {
    const { payload, error } = await call("grep", { ...args, ...(cursor === undefined ? {} : { cursor }) });
    expect(error).toBeNull();
    text += payload?.stdout ?? "";
    cursor = payload?.next_page_cursor;
  } while (cursor !== undefined);
  return text;
}

test("any sequence of pages is the whole, in the order of the paths", async () => {
  const place = await scratch();
  const name = fc
    .string({ unit: fc.constantFrom("a", "b", "Z", "é", " ", "-", ".", "\n"), minLength: 1, maxLength: 3 })
    .filter((each) => !/^\.+$/.test(each));
  const files = fc.uniqueArray(
    fc.record({
      parts: fc.array(name, { minLength: 1, maxLength: 3 }),
      lines: fc.array(fc.constantFrom("hit", "miss", "", "hit\r", "é hit"), { maxLength: 8 }),
    }),
    { maxLength: 8, selector: ({ parts }) => parts.join("/") },
  );
  const mode = fc.constantFrom(
    {},
    { files_only: true },
    { count_only: true },
    { context: 1 },
    { context: 3 },
    { multiline: true },
  );
  let round = 0;
  await fc.assert(
    fc.asyncProperty(files, mode, fc.integer({ min: 1, max: 5 }), async (list, args, limit) => {
      const folder = `t${round++}`;
      await mkdir(join(place.path, "root", folder));
      for (const { parts, lines } of list) {
        const path = join(place.path, "root", folder, ...parts);
        await mkdir(join(path, ".."), { recursive: true })
          .then(() => writeFile(path, lines.join("\n")))
          .catch(ignoreClash);
      }
      const given = { pattern: "hit", path: folder, ...args };
      const whole = await allPages(place, given);
      expect(await allPages(place, { ...given, limit })).toBe(whole);
    }),
    { numRuns: 40 },
  );
});

/** A name that is a file in one path and a folder in another: the first one stays. */
function ignoreClash(error: unknown): void {
  if (!["EEXIST", "ENOTDIR", "EISDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
}

test("100,000 matches come page by page", async () => {
  const place = await scratch({ limits: { lines: 9000, bytes: 1_000_000 } });
  for (let i = 0; i < 10; i++) {
    const text = Array.from({ length: 10_000 }, (_, line) => `match ${i} ${line}\n`).join("");
    await place.make({ [`root/f${i}.txt`]: text });
  }
  const lines = (await allPages(place, { pattern: "match" })).trimEnd().split("\n");
  expect(lines).toHaveLength(100_000);
  expect(lines[34_567]).toBe("f3.txt:4568:match 3 4567");
  expect(new Set(lines).size).toBe(100_000);
});

test("a page holds what the limits allow and says which one ended it; the cursor is for the same search", async () => {
  const { make, call } = await scratch({ limits: { lines: 4, bytes: 1000 } });
  await make({ "root/a": "x\n".repeat(10), "root/b": `${"y".repeat(400)}\n`.repeat(5) });
  const byLines = await call("grep", { pattern: "x" });
  expect(byLines.payload).toMatchObject({
    truncated_lines: true,
    truncated_bytes: false,
    stdout: "a:1:x\na:2:x\na:3:x\na:4:x\n",
  });
  const byBytes = await call("grep", { pattern: "y" });
  expect(byBytes.payload).toMatchObject({ truncated_lines: false, truncated_bytes: true });
  const byLimit = await call("grep", { pattern: "x", limit: 2 });
  expect(byLimit.payload).toMatchObject({ truncated_lines: false, truncated_bytes: false });
  const cursor = byLimit.payload?.next_page_cursor;
  expect((await call("grep", { pattern: "x", limit: 1, cursor })).payload?.stdout).toBe("a:3:x\n");
  expect((await call("grep", { pattern: "y", limit: 2, cursor })).error?.code).toBe("InvalidCursor");
});

test("long lines are cut around the match, and say how much was cut", async () => {
  const { make, call } = await scratch();
  const far = `${"word ".repeat(20_000)}needle${" word".repeat(20_000)}`;
  await make({
    "root/far": `${far}\n`,
    "root/near": `needle ${"é".repeat(2000)}\n`,
    "root/huge": `${"x ".repeat(1_000_000)}needle\n`,
  });
  const { payload } = await call("grep", { pattern: "needle" });
  const [first = "", second = "", third = ""] = payload?.stdout.split("\n") ?? [];
  expect(first).toMatch(/^far:1:\[\+\d+ bytes\]…(word )+needle( word)+…\[\+\d+ bytes\]$/);
  const [before = 0, after = 0] = [...first.matchAll(/\+(\d+) bytes/g)].map((match) => Number(match[1]));
  const shown = first.replace(/^far:1:/, "").replaceAll(/\[\+\d+ bytes\]…|…\[\+\d+ bytes\]/g, "");
  expect(before + shown.length + after).toBe(far.length);
  expect(second).toMatch(/^huge:1:\[\+1999\d{3} bytes\]…(x )+needle$/);
  expect(third).toMatch(/^near:1:needle é+…\[\+\d+ bytes\]$/);
  expect(Math.max(...[first, second, third].map((line) => line.length))).toBeLessThan(600);
});

test("a line with a million matches, and one of many megabytes, are taken in bounded memory", async () => {
  const place = await scratch();
  await place.make({ "root/many": `${"a".repeat(1_000_000)}\nlast a\n` });
  const large = join(place.path, "root/large");
  for (let i = 0; i < 16; i++) await writeFile(large, "b".repeat(8 * 1024 * 1024), { flag: "a" });
  await place.call("grep", { pattern: "absent" });
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  const { payload } = await place.call("grep", { pattern: "a|^b" });
  expect(payload?.data).toMatchObject({
    matches: [
      { path: "large", line: 1 },
      { path: "many", line: 1 },
      { path: "many", line: 2, text: "last a" },
    ],
  });
  expect(payload?.stdout).toContain(`…[+${128 * 1024 * 1024 - 500} bytes]`);
  expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
});

test("names and lines that could act on a terminal are made visible", async () => {
  const place = await scratch();
  const root = join(place.path, "root");
  await writeFile(join(root, "new\nline"), "hit \u001b[31m red\ttab\r more\r\n");
  await writeFile(
    Buffer.concat([Buffer.from(`${root}/bad-`), Buffer.from([0xff])]),
    Buffer.from([0x68, 0x69, 0x74, 0xff, 0x0a]),
  );
  expect(await allPages(place, { pattern: "hit", limit: 1 })).toBe(
    "bad-\ufffd:1:hit\ufffd\nnew\\nline:1:hit \\e[31m red\ttab\\r more\n",
  );
});

test("byte order marks, UTF-16 and line ends of all kinds are read as text", async () => {
  const place = await scratch();
  const root = join(place.path, "root");
  const utf16 = Buffer.from(`\ufeff${"línea\n".repeat(60_000)}hit é\n`, "utf16le");
  await writeFile(join(root, "bom"), "\ufeffhit\nhit\n");
  await writeFile(join(root, "crlf"), "a\r\nhit\r\n");
  await writeFile(join(root, "cr"), "a\rb\nhit");
  await writeFile(join(root, "le"), utf16);
  await writeFile(join(root, "be"), Buffer.from(utf16).swap16());
  expect((await place.call("grep", { pattern: "hit" })).payload?.stdout).toBe(
    "be:60001:hit é\nbom:1:hit\nbom:2:hit\ncr:2:hit\ncrlf:2:hit\nle:60001:hit é\n",
  );
});

test("a binary file is skipped in a folder, and reported if the call names it", async () => {
  const { make, call } = await scratch();
  await make({ "root/bin": "a\0b hit\nhit\n" });
  expect((await call("grep", { pattern: "hit" })).payload?.stdout).toBe("");
  expect((await call("grep", { pattern: "hit", path: "bin" })).payload?.stdout).toBe("bin: binary file matches\n");
});

test("the search is ended when the call is cancelled, and nothing of it is left", async () => {
  const { make, runtime } = await scratch();
  await make({ "root/large": "x\n".repeat(30_000_000) });
  const stop = new AbortController();
  const ended = runtime.call({ name: "grep", args: { pattern: "x", count_only: true } }, { signal: stop.signal });
  await until(() => searchesRunning() > 0);
  stop.abort();
  expect((await ended).error?.code).toBe("Cancelled");
  await until(() => searchesRunning() === 0);
});

test("a search that takes too long is ended", async () => {
  const { make, call } = await scratch({ timeout_ms: 300 });
  await make({ "root/large": "x\n".repeat(30_000_000) });
  expect((await call("grep", { pattern: "x", count_only: true })).error?.code).toBe("Timeout");
  await until(() => searchesRunning() === 0);
});

test("a full page ends the search", async () => {
  const { make, call } = await scratch();
  await make({ "root/large": "x\n".repeat(30_000_000) });
  expect((await call("grep", { pattern: "x", limit: 1 })).payload?.stdout).toBe("large:1:x\n");
  expect(searchesRunning()).toBe(0);
});

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

/** Children of this process that are, or were not yet forgotten as, a running rg. */
function searchesRunning(): number {
  const tasks = readdirSync("/proc/self/task");
  const children = tasks.flatMap((task) => readFileSync(`/proc/self/task/${task}/children`, "utf8").split(" "));
  return children.filter((pid) => pid !== "" && nameOfProcess(pid) === "rg").length;
}

function nameOfProcess(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  } catch {
    return ""; // it ended meanwhile
  }
}

test("lines of a private key are not shown, however they are searched for", async () => {
  const { make, call } = await scratch();
  const body = Array.from({ length: 20 }, (_, i) => `${"MIIEpAIBAAKCAQEA7bq0".repeat(3)}${String(i).padStart(4, "0")}`);
  const key = ["-----BEGIN RSA PRIVATE KEY-----", ...body, "-----END RSA PRIVATE KEY-----"].join("\n");
  const hash = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB";
  await make({ "root/config.yaml": `a: 1\nkey: |\n${key}\nb: 2\n`, "root/fixture.txt": `hash:\n${hash}\n` });

  for (const args of [{ pattern: "MIIE" }, { pattern: "0007" }, { pattern: "b: 2", context: 6 }]) {
    const { ok, payload } = await call("grep", { ...args, path: "config.yaml" });
    const folder = await call("grep", args);
    expect(ok).toBe(true);
    expect(`${payload?.stdout}${folder.payload?.stdout}`).not.toMatch(/MIIE|AQEA7/);
    expect(JSON.stringify([payload?.data, folder.payload?.data])).not.toMatch(/MIIE|AQEA7/);
  }
  expect((await call("grep", { pattern: "QUFB" })).payload?.stdout).toBe(`fixture.txt:2:${hash}\n`);
});

test("the temporary files of a change are not searched", async () => {
  const { make, call } = await scratch();
  await make({ "root/.autonous-01m7f9mp1bacdz1kaeg3zyjha3-1.tmp": "needle", "root/a.txt": "needle" });
  expect((await call("grep", { pattern: "needle" })).payload?.stdout).toBe("a.txt:1:needle\n");
  expect((await call("find", { name_pattern: "*" })).payload?.stdout).toBe("a.txt\n");
  expect((await call("ls", {})).payload?.stdout).toBe("a.txt\n");
});
