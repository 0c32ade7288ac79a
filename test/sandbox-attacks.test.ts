/** Ways out of the sandbox, and round what it protects, tried by real commands of a real runtime. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { scratch } from "./support/scratch.ts";

const hasSandbox = spawnSync("bwrap", ["--version"]).status === 0;
const needs = hasSandbox ? "" : " (skipped: needs bwrap, apt-get install bubblewrap)";

// Not in /tmp, which is private inside.
process.env["TMPDIR"] = "/var/tmp";

const FIXED = "fixed\n";
const SECRET = "planted-canary\n";

interface Attack {
  readonly how: string;
  readonly files?: Readonly<Record<string, string>>;
  /** Run by `bash attack.sh`, whose words do not tell what it does. */
  readonly script: string;
  /** A second command, after the first. */
  readonly next?: string;
  /** Must be as it was planted. */
  readonly fixed?: readonly string[];
  /** Must not exist afterwards. */
  readonly absent?: readonly string[];
}

const REPOSITORY = { "root/.git/HEAD": "ref: refs/heads/main\n", "root/.git/objects/x": "", "root/.git/refs/x": "" };

// oxfmt-ignore
const ATTACKS: readonly Attack[] = [
  { how: "keys in a folder that is read-only", files: { "root/.codex/auth.json": SECRET, "root/.claude/sub/.aws/credentials": SECRET, "root/.github/workflows/id_rsa": SECRET, "root/.vscode/server.pem": SECRET }, script: "grep -r planted . ; cat .codex/auth.json .claude/sub/.aws/* .github/workflows/id_rsa .vscode/server.pem; cp -r .vscode v; cat v/*" },
  { how: "the folder above a place of several names is moved", files: { "root/w/.ethereum/keystore/k": SECRET }, script: "mv w/.ethereum w/e; mv w v; cat */*/keystore/k */.*/keystore/k", next: "cat w/e/keystore/k v/.ethereum/keystore/k v/e/keystore/k" },
  { how: "a folder that holds a hidden place is moved", files: { "root/a/b/.ssh/id_rsa": SECRET }, script: "mv a c; cat c/b/.ssh/id_rsa", next: "cat c/b/.ssh/id_rsa; mv c/b d; cat d/.ssh/id_rsa" },
  { how: "a hard link to a hidden file", files: { "root/server.pem": SECRET }, script: "ln server.pem plain; cat plain; cp -l server.pem plain2; cat plain2" },
  { how: "a hard link to a read-only file", files: { "root/.envrc": FIXED }, script: "ln .envrc plain && echo evil > plain; echo evil > .envrc", fixed: ["root/.envrc"] },
  { how: "a read-only file is moved away", files: { "root/.envrc": FIXED }, script: "mv .envrc old; rm -f .envrc; echo evil > .envrc", fixed: ["root/.envrc"] },
  { how: "the folder above a read-only file is moved away and made again", files: { "root/sub/.envrc": FIXED }, script: "mv sub old && mkdir sub; echo evil > sub/.envrc; true", fixed: ["root/sub/.envrc"] },
  { how: "configuration of a submodule", files: { ...REPOSITORY, "root/.git/modules/lib/HEAD": "x", "root/.git/modules/lib/config": FIXED, "root/.git/modules/lib/hooks/a": FIXED }, script: "for f in config hooks/a hooks/post-checkout; do echo evil > .git/modules/lib/$f; done; true", fixed: ["root/.git/modules/lib/config", "root/.git/modules/lib/hooks/a"], absent: ["root/.git/modules/lib/hooks/post-checkout"] },
  { how: "configuration of a worktree", files: { ...REPOSITORY, "root/.git/worktrees/w/HEAD": "x", "root/.git/worktrees/w/commondir": FIXED, "root/.git/worktrees/w/config.worktree": FIXED }, script: "for f in commondir config.worktree; do echo evil > .git/worktrees/w/$f; done; true", fixed: ["root/.git/worktrees/w/commondir", "root/.git/worktrees/w/config.worktree"] },
  { how: "a file .git that points elsewhere", files: { "root/sub/.git": "gitdir: ../real\n", "root/real/HEAD": "ref: refs/heads/main\n", "root/real/objects/x": "", "root/real/refs/x": "", "root/real/config": FIXED, "root/real/hooks/a": FIXED }, script: "echo 'gitdir: /tmp/evil' > sub/.git; echo evil > real/config; echo evil > real/hooks/a; true", fixed: ["root/real/config", "root/real/hooks/a"] },
  { how: "a new file .git that points elsewhere", script: "mkdir -p lib evil/hooks; echo 'gitdir: ../evil' > lib/.git; true", absent: ["root/lib/.git"] },
  { how: "hooks that are a link", files: { ...REPOSITORY, "root/tools/hooks/pre-commit": FIXED, "root/.git/hooks": "-> ../tools/hooks" }, script: "echo evil > tools/hooks/pre-commit; echo evil > tools/hooks/post-commit; true", fixed: ["root/tools/hooks/pre-commit"], absent: ["root/tools/hooks/post-commit"] },
  { how: "a hook that is a link", files: { ...REPOSITORY, "root/tools/check.sh": FIXED, "root/.git/hooks/pre-commit": "-> ../../tools/check.sh" }, script: "echo evil > tools/check.sh; true", fixed: ["root/tools/check.sh"] },
  { how: "settings of the editor that are a link", files: { "root/conf/editor/tasks.json": FIXED, "root/.vscode": "-> conf/editor" }, script: "echo evil > conf/editor/tasks.json; echo evil > conf/editor/settings.json; true", fixed: ["root/conf/editor/tasks.json"], absent: ["root/conf/editor/settings.json"] },
  { how: "a file that the shell runs that is a link", files: { "root/conf/env": FIXED, "root/.envrc": "-> conf/env" }, script: "echo evil > conf/env; mv conf old; mkdir conf; echo evil > conf/env; true", fixed: ["root/conf/env"] },
  { how: "a link to a folder of settings below the root", files: { "root/app/shared/workflows/ci.yml": FIXED, "root/app/.github": "-> shared" }, script: "echo evil > app/shared/workflows/ci.yml; echo evil > app/shared/workflows/x.yml; true", fixed: ["root/app/shared/workflows/ci.yml"], absent: ["root/app/shared/workflows/x.yml"] },
  { how: "another root of the process", files: { "outside/a": SECRET }, script: "cat /proc/self/root{at}/outside/a /proc/1/root{at}/outside/a /proc/$$/cwd/../../outside/a ../outside/a; ls -l /proc/*/fd; true" },
  { how: "names by case and by unicode", files: { ...REPOSITORY, "root/.git/config": FIXED, "root/.envrc": FIXED }, script: "echo evil > .GIT/config; echo evil > .git/./config; echo evil > .git//config; cd .git && echo evil > config; cd ..; echo evil > ./.envrc; true", fixed: ["root/.git/config", "root/.envrc"] },
  { how: "truncation, times and modes of what is read-only", files: { "root/.envrc": FIXED }, script: "truncate -s 0 .envrc; chmod 777 .envrc; touch -d 2001-01-01 .envrc; : > .envrc; perl -e 'truncate(\".envrc\", 0); unlink \".envrc\"'; true", fixed: ["root/.envrc"] },
  { how: "a new user namespace with mounts of its own", files: { "root/server.pem": SECRET }, script: "unshare -Urm sh -c 'umount server.pem; cat server.pem'; unshare -r sh -c 'umount -l $PWD/server.pem; cat server.pem'; umount server.pem; cat server.pem; true" },
  { how: "a state folder in the workspace", script: "ls .agent; cat .agent/*; echo x > .agent/x; mv .agent away; true", absent: ["root/away", "root/.agent/x"] },
];

describe.skipIf(!hasSandbox)(`attacks that fail${needs}`, () => {
  test.each(ATTACKS)("$how", async ({ files = {}, script, next, fixed = [], absent = [] }) => {
    const { call, make, path, read } = await scratch();
    const text = script.replaceAll("{at}", path);
    await make({ ...files, "root/attack.sh": `${text}\n`, "root/next.sh": `${next ?? "true"}\n` });

    const results = [await call("bash", { cmd: "bash attack.sh" }), await call("bash", { cmd: "bash next.sh" })];

    expect(JSON.stringify(results)).not.toContain(SECRET.trim());
    for (const { error } of results) expect(error?.code ?? "ExitNonZero").toBe("ExitNonZero");
    for (const name of fixed) expect({ name, text: await read(name) }).toEqual({ name, text: FIXED });
    expect(absent.filter((name) => existsSync(join(path, name)))).toEqual([]);
  });
});

test("writing to the target of a link at a path that runs later needs approval", async () => {
  const { call, make, read } = await scratch();
  await make({ "root/conf/editor/tasks.json": FIXED, "root/.vscode": "-> conf/editor", "root/conf/other": FIXED });

  const asked = await call("write", { path: "conf/editor/tasks.json", content: "evil" });
  const plain = await call("write", { path: "conf/other", content: "fine" });

  expect(asked.error?.code).toBe("ApprovalRequired");
  expect(asked.error?.message).toMatch(/link to it/);
  expect(plain.error).toBeNull();
  expect(await read("root/conf/editor/tasks.json")).toBe(FIXED);
});
