import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { resolvePath } from "./resolve.ts";

const TREE = {
  "root/a.txt": "a",
  "root/deep/er/b.txt": "b",
  "root/inner": "-> deep/er",
  "root/out": "-> ../outside",
  "root/abs": "-> /etc",
  "root/dangling": "-> ../outside/not-there",
  "root/chain": "-> dangling",
  "root/loop": "-> loop",
  "root/..foo/x": "x",
  "root/new\nline": "n",
  "outside/secret": "s",
} as const;

// oxfmt-ignore
const CASES = [
  { path: ".",                        real: "root",                     exists: true },
  { path: "a.txt",                    real: "root/a.txt",               exists: true },
  { path: "./deep/../a.txt",          real: "root/a.txt",               exists: true },
  { path: "..",                       real: ".",                        exists: true },
  { path: "..foo/x",                  real: "root/..foo/x",             exists: true },
  { path: "new\nline",                real: "root/new\nline",           exists: true },
  { path: "inner/b.txt",              real: "root/deep/er/b.txt",       exists: true },
  { path: "inner/../b",               real: "root/deep/b",              exists: false }, // ".." goes up from the link's target
  { path: "out/secret",               real: "outside/secret",           exists: true },
  { path: "abs/hostname",             real: "/etc/hostname",            exists: true },
  { path: "dangling",                 real: "outside/not-there",        exists: false },
  { path: "chain",                    real: "outside/not-there",        exists: false },
  { path: "dangling/below",           real: "outside/not-there/below",  exists: false },
  { path: "missing",                  real: "root/missing",             exists: false },
  { path: "missing/deep/x",           real: "root/missing/deep/x",      exists: false },
  { path: "missing/../../outside",    real: "outside",                  exists: false },
  { path: "a.txt/below",              real: "root/a.txt/below",         exists: false },
  { path: "loop",                     real: "root/loop",                exists: false },
  { path: "loop/x",                   real: "root/loop/x",              exists: false },
  { path: "missing/",                 real: "root/missing",             exists: false },
] as const;

for (const { path, real, exists } of CASES) {
  test(`${JSON.stringify(path)} leads to ${JSON.stringify(real)}`, async () => {
    const folder = await scratchFolder();
    await folder.make(TREE);
    expect(resolvePath(path, join(folder.path, "root"))).toEqual({
      real: real.startsWith("/") ? real : join(folder.path, real),
      exists,
    });
  });
}

test("/proc/self/root is resolved", () => {
  expect(resolvePath("/proc/self/root/etc", "/")).toEqual({ real: "/etc", exists: true });
});

test("a removed working folder is missing, not resolved to another path", async () => {
  const folder = await scratchFolder();
  await mkdir(join(folder.path, "gone"));
  await rm(join(folder.path, "gone"), { recursive: true });
  expect(resolvePath("x", join(folder.path, "gone"))).toEqual({ real: join(folder.path, "gone/x"), exists: false });
});

test("a path that system calls reject is refused", () => {
  expect(() => resolvePath("", "/")).toThrow(/empty/);
  expect(() => resolvePath("a/".repeat(3000), "/")).toThrow(/4096/);
});
