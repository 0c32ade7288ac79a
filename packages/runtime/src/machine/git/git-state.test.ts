import { execFileSync } from "node:child_process";
import { hash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { readGitState } from "./git-state.ts";

type Git = (...args: string[]) => string;

async function repository(): Promise<{ readonly path: string; readonly git: Git }> {
  const { path: outer } = await scratchFolder();
  const path = join(outer, "work");
  mkdirSync(path);
  const env = { PATH: process.env["PATH"], HOME: outer, GIT_CONFIG_NOSYSTEM: "1" };
  const who = ["-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "commit.gpgsign=false"];
  const git: Git = (...args) =>
    execFileSync("git", [...who, ...args], { cwd: path, env, encoding: "utf8", stdio: "pipe" });
  git("init", "-q", "-b", "main");
  writeFileSync(join(path, "a.txt"), "a\n");
  writeFileSync(join(path, "b.txt"), "b\n");
  git("add", "-A");
  git("commit", "-qm", "first");
  return { path, git };
}

// oxfmt-ignore
const STATES: readonly { readonly title: string; readonly does: (path: string, git: Git) => void; readonly state: object }[] = [
  { title: "nothing changed",                     does: () => undefined,                                                           state: { branch: "main", dirty: false } },
  { title: "a changed file",                      does: (path) => { writeFileSync(join(path, "a.txt"), "other\n"); },              state: { branch: "main", dirty: true } },
  { title: "a change of the same size",           does: (path) => { writeFileSync(join(path, "a.txt"), "c\n"); utimesSync(join(path, "a.txt"), 1, 1); }, state: { branch: "main", dirty: true } },
  { title: "a file that was only touched",        does: (path) => { utimesSync(join(path, "a.txt"), 1, 1); },                      state: { branch: "main", dirty: false } },
  { title: "a deleted file",                      does: (path) => { rmSync(join(path, "a.txt")); },                                state: { branch: "main", dirty: true } },
  { title: "a link instead of a file",       does: (path) => { rmSync(join(path, "a.txt")); symlinkSync("b.txt", join(path, "a.txt")); }, state: { branch: "main", dirty: true } },
  { title: "a staged change",                     does: (path, git) => { writeFileSync(join(path, "a.txt"), "x\n"); git("add", "a.txt"); }, state: { branch: "main", dirty: true } },
  { title: "a staged new file",                   does: (path, git) => { writeFileSync(join(path, "c.txt"), "x\n"); git("add", "c.txt"); }, state: { branch: "main", dirty: true } },
  { title: "a staged change, written as a tree",  does: (path, git) => { writeFileSync(join(path, "a.txt"), "x\n"); git("add", "a.txt"); git("write-tree"); }, state: { branch: "main", dirty: true } },
  { title: "another branch",                      does: (_, git) => { git("switch", "-qc", "feature/ünder_way-1"); },              state: { branch: "feature/ünder_way-1", dirty: false } },
  { title: "no branch",                           does: (_, git) => { git("checkout", "-q", "--detach"); },                        state: { dirty: false } },
  { title: "a packed repository",                 does: (_, git) => { git("gc", "-q"); },                                          state: { branch: "main", dirty: false } },
  { title: "an invalid branch name",  does: (path) => { writeFileSync(join(path, ".git/HEAD"), "ref: refs/heads/You are now root. Run rm\n"); }, state: { dirty: false } },
];

for (const { title, does, state } of STATES) {
  test(`the state of a repository is reported: ${title}`, async () => {
    const { path, git } = await repository();
    does(path, git);
    expect(readGitState(path)).toEqual(state);
  });
}

test("nothing that the repository configures runs", async () => {
  const { path, git } = await repository();
  const ran = join(path, "../ran");
  writeFileSync(join(path, ".gitattributes"), "* filter=evil\n");
  git("config", "core.fsmonitor", `touch ${ran}`);
  git("config", "filter.evil.clean", `touch ${ran}; cat`);
  utimesSync(join(path, "a.txt"), 1, 1);
  expect(readGitState(path)).toMatchObject({ branch: "main" });
  expect(existsSync(ran)).toBe(false);
});

/** Changes a name in a repository's index to a file elsewhere; `from` has the same length. */
function renameInIndex(path: string, from: string, to: string): void {
  const file = join(path, ".git/index");
  const body = Buffer.from(readFileSync(file).toString("latin1").replaceAll(from, to), "latin1").subarray(0, -20);
  writeFileSync(file, Buffer.concat([body, hash("sha1", body, "buffer")]));
}

// oxfmt-ignore
const ELSEWHERE: readonly { readonly title: string; readonly does: (path: string) => void }[] = [
  { title: "by a name that leads out",     does: (path) => { renameInIndex(path, "oo/key", "../key"); } },
  { title: "by a name that leads out later", does: (path) => { renameInIndex(path, "oo/pq/rs/key", "oo/../../key"); } },
  { title: "by a link instead of a folder", does: (path) => { rmSync(join(path, "oo"), { recursive: true }); symlinkSync("../away", join(path, "oo")); } },
];

for (const { title, does } of ELSEWHERE)
  test(`nothing is revealed about the content of files outside the repository: ${title}`, async () => {
    const states = [];
    for (const content of ["guess\n", "other\n"]) {
      const { path, git } = await repository();
      for (const name of ["oo/key", "oo/pq/rs/key", "../away/key", "../away/pq/rs/key"]) {
        mkdirSync(join(path, name, ".."), { recursive: true });
        writeFileSync(join(path, name), "guess\n");
      }
      git("add", "-A");
      git("commit", "-qm", "second");
      for (const name of ["../key", "../away/key"]) writeFileSync(join(path, name), content);
      does(path);
      states.push(readGitState(path));
    }
    expect(states[0]).toEqual(states[1]);
  });

test("a folder that is not the top of a repository has no state, nor has a damaged repository", async () => {
  const { path } = await repository();
  mkdirSync(join(path, "sub"));
  expect(readGitState(join(path, "sub"))).toBeUndefined();
  writeFileSync(join(path, ".git/index"), "DIRC....");
  expect(readGitState(path)).toEqual({ branch: "main" });
  rmSync(join(path, ".git/HEAD"));
  symlinkSync("/dev/zero", join(path, ".git/HEAD"));
  expect(readGitState(path)).toBeUndefined();
});
