import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { expect, test, vi } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { GitPlacesReader } from "./read-git-places.ts";

async function repositories() {
  const { path, make } = await scratchFolder();
  await make({ "root/": "", "home/": "" });
  const root = join(path, "root");
  const git = (...args: string[]): string =>
    execFileSync("git", ["-c", "protocol.file.allow=always", "-c", "user.name=a", "-c", "user.email=a@b", ...args], {
      cwd: root,
      env: { PATH: process.env["PATH"], HOME: "/nonexistent", GIT_CONFIG_SYSTEM: "/dev/null" },
      encoding: "utf8",
    });
  const reader = (...below: string[]) =>
    new GitPlacesReader({
      roots: below.length === 0 ? [root] : below.map((each) => join(root, each)),
      home: join(path, "home"),
    });
  const namesOf = (from: GitPlacesReader): readonly string[] => from.current().map((each) => relative(root, each.path));
  return { path, root, make, git, reader, namesOf };
}

test("the hooks of a root's repository are found, and found again when its configuration changes", async () => {
  const { git, reader, namesOf } = await repositories();
  const reading = reader();
  expect(namesOf(reading)).toEqual([]);

  git("init", "-q", ".");
  git("config", "core.hooksPath", "tools/hooks");
  await vi.waitFor(() => expect(namesOf(reading)).toEqual(["tools/hooks"]));
  const known = reading.current();
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(reading.current()).toBe(known);
  git("config", "core.fsmonitor", "./watch.sh");
  await vi.waitFor(() => expect(namesOf(reading)).toEqual(["tools/hooks", "watch.sh"]));
});

test("hooks of repositories above and below a root, of worktrees and of submodules are found", async () => {
  const { git, reader, namesOf, root } = await repositories();
  git("init", "-q", ".");
  git("commit", "-q", "--allow-empty", "-m", "x");
  git("config", "core.hooksPath", "pkg/hooks");
  git("init", "-q", "group/inner");
  git("-C", "group/inner", "config", "diff.x.textconv", "bin/show");
  git("worktree", "add", "-q", "tree");
  git("init", "-q", "lib");
  git("-C", "lib", "commit", "-q", "--allow-empty", "-m", "x");
  git("submodule", "add", "-q", "./lib", "mods/lib");
  git("config", "--file", ".git/modules/mods/lib/config", "core.hooksPath", "lib-hooks");

  expect(namesOf(reader("pkg"))).toEqual(["pkg/hooks"]);
  expect([...namesOf(reader())].sort()).toEqual(
    ["pkg/hooks", "group/inner/bin/show", "tree/pkg/hooks", "mods/lib/lib-hooks"].sort(),
  );
  expect(root).toContain("root");
});

test("places from includes, from the user's own configuration and behind links are found", async () => {
  const { git, reader, namesOf, root, path, make } = await repositories();
  git("init", "-q", ".");
  await make({ "root/conf/team": "[core]\n\thooksPath = real-hooks/../hooks\n", "root/elsewhere/": "" });
  symlinkSync("elsewhere", join(root, "hooks"));
  appendFileSync(join(root, ".git/config"), "[include]\n\tpath = ../conf/team\n");
  writeFileSync(
    join(path, "home/.gitconfig"),
    "[core]\n\tattributesFile = etc/attributes\n[alias]\n\tx = !sh run.sh\n",
  );
  writeFileSync(join(root, "run.sh"), "");

  expect([...namesOf(reader())].sort()).toEqual(["conf/team", "elsewhere", "etc/attributes", "hooks", "run.sh"].sort());
});

test("an include of itself, an endless include and a folder in its place do not block", async () => {
  const { git, reader, namesOf, root } = await repositories();
  git("init", "-q", ".");
  appendFileSync(join(root, ".git/config"), "[include]\n\tpath = config\n\tpath = ../loop\n\tpath = ../folder\n");
  writeFileSync(join(root, "loop"), "[include]\n\tpath = loop\n\tpath = .git/config\n");
  mkdirSync(join(root, "folder"));

  expect([...new Set(namesOf(reader()))].sort()).toEqual([".git/config", "folder", "loop"]);
});

test("targets of links at paths that run later are found, near the top of a root and in its repository", async () => {
  const { git, make, reader, root } = await repositories();
  git("init", "-q", ".");
  await make({
    "root/conf/editor/x": "",
    "root/.vscode": "-> conf/editor",
    "root/docs/orders.md": "",
    "root/app/AGENTS.md": "-> ../docs/orders.md",
    "root/app/.github": "-> ../shared",
    "root/.envrc": "-> not/there/yet",
    "root/CLAUDE.md": "-> ../../outside.md",
    "root/plain": "-> docs/orders.md",
    "root/tools/check.sh": "",
    "root/.git/hooks/pre-commit": "-> ../../tools/check.sh",
  });
  const places = reader().current();
  const found = places.map(({ path, is_linked }) => `${relative(root, path)} ${is_linked ? "linked" : "git"}`);

  expect(found).toEqual(
    expect.arrayContaining([
      "conf/editor linked",
      "docs/orders.md linked",
      "shared/workflows linked",
      "not/there/yet linked",
      "tools/check.sh git",
    ]),
  );
  expect(found.filter((each) => each.includes("outside") || each.startsWith("plain"))).toEqual([]);
});
