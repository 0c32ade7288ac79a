import { execFileSync } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratch, scratchFolder } from "../../../../../test/support/scratch.ts";
import { findProgram, PROGRAMS } from "../processes/programs.ts";
import { noteIndex, trackedFiles } from "./tracked-files.ts";

const hasBwrap = (await findProgram("bwrap", { roots: [] })) !== undefined;
const needs = hasBwrap ? "" : ` (skipped: needs bwrap, ${PROGRAMS.bwrap.install})`;

const IDENTITY = ["-c", "user.name=a", "-c", "user.email=a@example.org"];

function git(cwd: string, ...args: readonly string[]): string {
  const env = {
    PATH: process.env["PATH"],
    HOME: "/nonexistent",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_CONFIG_SYSTEM: "/dev/null",
  };
  return execFileSync("git", [...IDENTITY, ...args], { cwd, env, encoding: "utf8" });
}

test("tracked files are read from git's index, in a subfolder and in a worktree", async () => {
  const { path, make } = await scratchFolder();
  await make({ "repo/a.txt": "a", "repo/src/ü.txt": "b", "repo/new.txt": "c" });
  const repo = join(path, "repo");
  expect(trackedFiles(join(repo, "src"))).toBeUndefined();
  git(repo, "init", "-q");
  expect(trackedFiles(repo)).toBeUndefined(); // no index yet
  git(repo, "add", "a.txt", "src");
  git(repo, "commit", "-qm", "x");
  const files = ["a.txt", "src/ü.txt"];
  expect(trackedFiles(join(repo, "src"))).toMatchObject({ top: repo, files: files.map((name) => join(repo, name)) });
  git(repo, "worktree", "add", "-q", "../other");
  const other = join(path, "other");
  expect(trackedFiles(other)).toMatchObject({ top: other, files: files.map((name) => join(other, name)) });
  rmSync(join(other, "a.txt"));
  const isThere = files.map((name) => trackedFiles(other)?.isThere(join(other, name)));
  expect(isThere).toEqual([false, true]);
  expect(trackedFiles(join(path, "nothing/there"))).toBeUndefined();
});

test("files that are no longer tracked are reported, and only those", async () => {
  const { path, make } = await scratchFolder();
  await make({ "a.txt": "a", "b.txt": "b" });
  expect(noteIndex(path)).toBeUndefined();
  git(path, "init", "-q");
  git(path, "add", ".");
  const before = noteIndex(path);
  expect(before?.forgotten()).toEqual([]);
  writeFileSync(join(path, "c.txt"), "c");
  git(path, "add", "c.txt");
  expect(before?.forgotten()).toEqual([]);
  git(path, "rm", "-q", "--cached", "b.txt");
  expect(before?.forgotten()).toEqual([join(path, "b.txt")]);
  writeFileSync(join(path, ".git/index"), "not an index");
  expect(before?.forgotten()).toEqual([]);
  rmSync(join(path, ".git/index"));
  expect(before?.forgotten()).toEqual([]);
});

test.skipIf(!hasBwrap)(`no commit silently deletes files hidden from commands${needs}`, async () => {
  const folder = await scratch({ sandbox: "required", config: { rules: [{ effect: "deny", path: "private/**" }] } });
  const root = join(folder.path, "root");
  await folder.make({ "root/private/a.txt": "kept", "root/.aws/credentials": "kept", "root/src/a.txt": "a" });
  await folder.make({ "root/all.sh": "git add -A && git -c user.name=a -c user.email=a@b.c commit -qm all" });
  git(root, "init", "-q");
  git(root, "add", "-f", ".");
  git(root, "commit", "-qm", "x");
  const bash = (cmd: string) => folder.call("bash", { cmd });

  const refused = await bash("git add -A");
  expect(refused.error).toMatchObject({ code: "CommandDenied" });
  expect(refused.error?.message).toMatch(/"\.aws\/credentials", "private\/a\.txt"/);
  const read = await bash("git show HEAD:.aws/credentials");
  expect(read.error).toMatchObject({ code: "SensitivePath" });

  writeFileSync(join(root, "src/b.txt"), "b");
  const left = await bash(
    "git add -A -- :/ ':(top,exclude).aws' ':(top,exclude)private' && git diff --cached --name-status",
  );
  expect(left).toMatchObject({ ok: true, payload: { stdout: "A\tsrc/b.txt\n" } });

  // What the command line does not reveal is reported afterwards, and can be undone like any change.
  const hidden = await bash("sh all.sh");
  expect(hidden.payload?.stderr).toMatch(/\[private\/a\.txt: git no longer tracks it/);
  expect(hidden.payload?.stderr).toMatch(/\[\.aws\/credentials: git no longer tracks it/);
  expect(git(root, "ls-files")).not.toMatch(/private/);
  const undone = await folder.call("undo", { undo_id: hidden.artifacts?.undo_id });
  expect(undone.ok).toBe(true);
  expect(git(root, "ls-files")).toMatch(/private\/a\.txt/);
  expect(existsSync(join(root, "private/a.txt"))).toBe(true);
});
