import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { trackedIn, workTreesAbove } from "./git-index.ts";

function git(cwd: string, ...words: readonly string[]): void {
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always", ...words], {
    cwd,
    stdio: ["ignore", "ignore", "pipe"],
  });
}

const tracked = (folder: string): string | undefined => trackedIn(folder, workTreesAbove(folder));

// oxfmt-ignore
const INDEXES = [
  { title: "version 2",        init: [],                        after: [] },
  { title: "version 3",        init: [],                        after: [["add", "-N", "src/new.ts"]] },
  { title: "version 4",        init: [],                        after: [["update-index", "--index-version", "4"]] },
  { title: "SHA-256",          init: ["--object-format=sha256"], after: [] },
  { title: "a split index",    init: [],                        after: [["update-index", "--split-index"], ["add", "src/new.ts"]] },
] as const;

for (const { title, init, after } of INDEXES) {
  test(`what git tracks is found in an index of ${title}`, async () => {
    const { path, make } = await scratchFolder();
    await make({
      "src/a.ts": "a",
      "src/new.ts": "n",
      ".agent/runs/x": "1",
      ".agentic/x": "1",
      "state/sub/deep/x": "1",
    });
    git(path, "init", "-q", ...init);
    git(path, "add", "src/a.ts", ".agent", "state");
    for (const words of after) git(path, ...words);

    expect(tracked(join(path, ".agent"))).toBe(".agent/runs/x");
    expect(tracked(join(path, ".AGENT"))).toBe(".agent/runs/x");
    expect(tracked(join(path, "state/sub"))).toBe("state/sub/deep/x");
    expect(tracked(join(path, ".agentic"))).toBeUndefined();
    expect(tracked(join(path, "src/none"))).toBeUndefined();
  });
}

test("a link, a submodule and a repository around the repository count; a folder without a repository does not", async () => {
  const { path, make } = await scratchFolder();
  await make({ "outer/inner/.agent/x": "1", "other/f": "1", "plain/x": "1" });
  for (const folder of ["outer", "other"]) git(join(path, folder), "init", "-q");
  git(join(path, "other"), "add", ".");
  git(join(path, "other"), "commit", "-qm", "x");
  git(join(path, "outer"), "add", ".");
  git(join(path, "outer"), "submodule", "add", "-q", join(path, "other"), ".state");
  symlinkSync("/etc", join(path, "outer/linked"));
  git(join(path, "outer"), "add", "linked");
  git(join(path, "outer/inner"), "init", "-q"); // a separate repository without tracked files

  expect(tracked(join(path, "outer/inner/.agent"))).toBe("inner/.agent/x");
  expect(tracked(join(path, "outer/.state"))).toBe(".git");
  expect(tracked(join(path, "outer/.state/deeper"))).toBeUndefined();
  expect(tracked(join(path, "outer/linked"))).toBe("linked");
  expect(tracked(join(path, "plain"))).toBeUndefined();
  expect(workTreesAbove(join(path, "plain"))).toEqual([]);
});

test("a linked worktree has its own index; one that cannot be read is unknown", async () => {
  const { path, make } = await scratchFolder();
  await make({ "main/a": "a" });
  git(join(path, "main"), "init", "-q");
  git(join(path, "main"), "add", ".");
  git(join(path, "main"), "commit", "-qm", "x");
  git(join(path, "main"), "worktree", "add", "-q", "../second");
  mkdirSync(join(path, "second/.agent"));
  writeFileSync(join(path, "second/.agent/x"), "1");
  git(join(path, "second"), "add", "-A");

  expect(tracked(join(path, "second/.agent"))).toBe(".agent/x");
  expect(tracked(join(path, "main/.agent"))).toBeUndefined();
  writeFileSync(join(path, "main/.git/index"), "DIRC no index at all");
  expect(tracked(join(path, "main/.agent"))).toBe("unknown");
});

test("an index that is a pipe, a device or a folder is unknown, and does not block", async () => {
  const { path } = await scratchFolder();
  git(path, "init", "-q");
  const index = join(path, ".git/index");
  const forms = [
    () => execFileSync("mkfifo", [index]),
    () => symlinkSync("/dev/zero", index),
    () => symlinkSync("index", index),
    () => mkdirSync(index),
  ];
  for (const make of forms) {
    make();
    expect(tracked(join(path, ".agent"))).toBe("unknown");
    rmSync(index, { recursive: true });
  }
});
