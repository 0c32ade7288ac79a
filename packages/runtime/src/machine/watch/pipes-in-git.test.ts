import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { scratch } from "../../../../../test/support/scratch.ts";

const HASH = "a".repeat(40);

// oxfmt-ignore
const PIPES = [
  ".git/index", ".git/HEAD", ".git/config", ".git/config.worktree", ".git/info/attributes", ".git/info/exclude", ".git/rebase-merge/git-rebase-todo", ".git/packed-refs",
  `.git/objects/aa/${"a".repeat(38)}`, `.git/objects/pack/pack-${HASH}.idx`, `.git/objects/pack/pack-${HASH}.pack`, ".git/objects/info/alternates",
  ".git/worktrees/w/commondir", ".git/worktrees/w/rebase-merge/git-rebase-todo", ".gitattributes", ".gitmodules", ".gitignore", "sub/.gitignore", "sub/.git",
] as const;

for (const name of PIPES) {
  test(`a pipe at ${name} does not block the runtime before or after a command`, async () => {
    const { make, call, path } = await scratch({ state_dir: ".agent", profile: "autonomous" });
    await make({ "root/a.txt": "a\n", "root/sub/b.txt": "b\n" });
    execFileSync("git", ["init", "-q"], { cwd: join(path, "root") });
    const pipe = join(path, "root", name);
    mkdirSync(dirname(pipe), { recursive: true });
    rmSync(pipe, { recursive: true, force: true });
    execFileSync("mkfifo", [pipe]);
    for (const command of ["echo new > new.txt", "timeout 1 git commit --allow-empty -qm x; true"]) {
      expect(await call("bash", { cmd: command }), command).toMatchObject({ ok: true, error: null });
    }
    expect(await call("read", { path: "a.txt" })).toMatchObject({ ok: true, error: null });
  });
}
