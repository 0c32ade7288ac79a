import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { scratch } from "../../../../../test/support/scratch.ts";

const TREE = { "root/a.txt": "needle\n", "root/a/b/c/x.txt": "needle\n", "root/z/y.txt": "needle\n" };

function pipe(path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  rmSync(path, { recursive: true, force: true });
  execFileSync("mkfifo", [path]);
}

function link(path: string, to: string): void {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(to, path);
}

const PIPE = "it is a pipe, not a regular file";
const LINKED = "it is a link to a device, not to a regular file";

// oxfmt-ignore
const ENDLESS = [
  { title: "a pipe at the top",                   put: (at: string) => pipe(`${at}/.gitignore`),                    says: `".gitignore" cannot be read: ${PIPE}` },
  { title: "a pipe one folder down",              put: (at: string) => pipe(`${at}/a/.gitignore`),                  says: `"a/.gitignore" cannot be read: ${PIPE}` },
  { title: "a pipe three folders down",           put: (at: string) => pipe(`${at}/a/b/c/.gitignore`),              says: `"a/b/c/.gitignore" cannot be read: ${PIPE}` },
  { title: "a pipe for the excludes of git",      put: (at: string) => pipe(`${at}/.git/info/exclude`),             says: `.git/info/exclude" cannot be read: ${PIPE}` },
  { title: "a link to an endless device",         put: (at: string) => link(`${at}/.gitignore`, "/dev/zero"),       says: `".gitignore" cannot be read: ${LINKED}` },
  { title: "a link to an endless device below",   put: (at: string) => link(`${at}/z/.gitignore`, "/dev/zero"),     says: `"z/.gitignore" cannot be read: ${LINKED}` },
  { title: "a link to a pipe below",              put: (at: string) => { pipe(`${at}/p`); link(`${at}/z/.gitignore`, "../p"); }, says: `"z/.gitignore" cannot be read: it is a link to a pipe, not to a regular file` },
  { title: "a link to a file of the kernel",      put: (at: string) => link(`${at}/.gitignore`, "/proc/self/maps"), says: `".gitignore" cannot be read: it is a link to a file of the kernel, not to a regular file` },
  { title: "a file of zeros without an end",      put: (at: string) => { writeFileSync(`${at}/.gitignore`, ""); truncateSync(`${at}/.gitignore`, 2 ** 40); }, says: `".gitignore" cannot be read: it is larger than 64 MiB` },
] as const;

const CALLS = [
  ["grep", { pattern: "needle" }],
  ["find", { name_pattern: "*.txt", type: "f" }],
  ["find", { name_pattern: "*" }],
  ["find", { name_pattern: "*", type: "l" }],
] as const;

for (const { title, put, says } of ENDLESS) {
  test(`${title} instead of an ignore file is reported by every search, and none blocks on it`, async () => {
    const { make, call, path } = await scratch({ state_dir: ".agent" });
    await make(TREE);
    put(join(path, "root"));
    for (const [name, args] of CALLS) {
      const result = await call(name, args);
      expect(result.error?.code, `${name} ${JSON.stringify(args)}`).toBe("IOError");
      expect(result.error?.message).toContain(says);
      expect(result.error?.hint).toMatch(/^Remove or rename this "(?:\.gitignore|exclude)" and retry\.$/);
    }
  });
}

// fd reads them; rg runs with an option not to.
for (const name of [".ignore", ".fdignore"]) {
  test(`a pipe called ${name} in a subfolder does not block a search`, async () => {
    const { make, call, path } = await scratch({ state_dir: ".agent" });
    await make(TREE);
    pipe(join(path, "root/a/b", name));
    const grep = await call("grep", { pattern: "needle" });
    expect(grep.payload?.stdout).toBe("a/b/c/x.txt:1:needle\na.txt:1:needle\nz/y.txt:1:needle\n");
    const find = await call("find", { name_pattern: "*" });
    if (find.ok) expect(find.payload?.stdout).toContain("a/b/c/x.txt");
    else expect(find.error?.message).toContain(`"a/b/${name}" cannot be read: ${PIPE}`);
  });
}

test("a pipe above the searched folder, and above the roots, is reported", async () => {
  const { make, call, path } = await scratch({ state_dir: ".agent" });
  await make(TREE);
  pipe(join(path, "root/.gitignore"));
  const below = await call("grep", { pattern: "needle", path: "a/b" });
  expect(below.error?.message).toContain(`root/.gitignore" cannot be read: ${PIPE}`);
  rmSync(join(path, "root/.gitignore"));
  pipe(join(path, ".gitignore"));
  const above = await call("find", { name_pattern: "*.txt", type: "f" });
  expect(above.error?.message).toContain(`${path}/.gitignore" cannot be read: ${PIPE}`);
});

test("the common folder of a worktree is checked too", async () => {
  const { make, call, path } = await scratch({ state_dir: ".agent" });
  await make({
    ...TREE,
    "root/.git": "gitdir: ../main/.git/worktrees/w\n",
    "main/.git/worktrees/w/commondir": "../..\n",
  });
  pipe(join(path, "main/.git/info/exclude"));
  const result = await call("grep", { pattern: "needle" });
  expect(result.error?.message).toContain(`main/.git/info/exclude" cannot be read: ${PIPE}`);
});

test("harmless entries instead of an ignore file are skipped: a folder, a socket, the null device, a broken link", async () => {
  const { make, call, path } = await scratch({ state_dir: ".agent" });
  await make({
    ...TREE,
    "root/.gitignore": "-> /dev/null",
    "root/a/.gitignore/x": "",
    "root/a/b/.gitignore": "-> gone",
  });
  const server = createServer().listen(join(path, "root/z/.gitignore"));
  await new Promise((resolve) => server.once("listening", resolve));
  try {
    const result = await call("grep", { pattern: "needle" });
    expect(result.payload?.stdout).toBe("a/b/c/x.txt:1:needle\na.txt:1:needle\nz/y.txt:1:needle\n");
    expect(readdirSync(join(path, "root/z"))).toContain(".gitignore");
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
});

test("a pipe in a folder that .gitignore excludes does not disturb a search", async () => {
  const { make, call, path } = await scratch({ state_dir: ".agent" });
  await make({ ...TREE, "root/.gitignore": "a/\n" });
  pipe(join(path, "root/a/b/.gitignore"));
  const result = await call("grep", { pattern: "needle" });
  expect(result.payload?.stdout).toBe("a.txt:1:needle\nz/y.txt:1:needle\n");
});
