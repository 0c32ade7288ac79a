/**
 * Commands that change files run in throw-away workspaces and are undone; then the tree is compared with the tree before,
 * byte for byte and mode for mode. `npm run campaign:undo -- --ops 2000 [--seed 1]`
 */
import { execFileSync } from "node:child_process";
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync } from "node:fs";
import { chmodSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { createRuntime } from "@autonous/runtime";
import type { Runtime } from "@autonous/runtime";
import { createRandom } from "./kill/random.ts";
import { makeCommand } from "./undo/grammar.ts";

export interface UndoResult {
  readonly operations: number;
  /** Commands that changed something. */
  readonly changed: number;
  /** Of those: the tree is as before. */
  readonly restored: number;
  /** The result of the command said beforehand what undo cannot restore, and undo failed. */
  readonly stated: number;
  /** The policy refused the command. */
  readonly denied: number;
  /** What undo said was restored and was not. */
  readonly different: readonly string[];
}

/** A workspace is used for as many commands before a new one is made. */
const COMMANDS_EACH = 25;

export async function runUndoCampaign(operations: number, seed = 1): Promise<UndoResult> {
  const random = createRandom(seed);
  const counts = { operations: 0, changed: 0, restored: 0, stated: 0, denied: 0, different: [] as string[] };
  while (counts.operations < operations) {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "autonous-undo-")));
    const root = join(folder, "root");
    makeTree(root);
    const runtime = await createRuntime({
      roots: [root],
      state_dir: join(folder, "state"),
      onApproval: () => ({ answer: "grant" as const }),
    });
    try {
      for (let each = 0; each < COMMANDS_EACH && counts.operations < operations; each++) {
        const command = makeCommand(random);
        const outcome = await tryOne(runtime, root, command);
        counts.operations++;
        if (outcome === "different") counts.different.push(command);
        else if (outcome !== "unchanged") counts[outcome]++;
        if (outcome !== "unchanged" && outcome !== "denied") counts.changed++;
        if (outcome === "different" || outcome === "stated") break; // the next one begins with a tree that is known
      }
    } finally {
      await runtime.close();
      execFileSync("chmod", ["-R", "u+rwX", folder]);
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return counts;
}

type Outcome = "unchanged" | "restored" | "stated" | "denied" | "different";

async function tryOne(runtime: Runtime, root: string, cmd: string): Promise<Outcome> {
  const before = snapshot(root);
  const { artifacts, payload, error } = await runtime.call({ name: "bash", args: { cmd } });
  const after = snapshot(root);
  if (after === before) return payload === null && error !== null ? "denied" : "unchanged";
  const said = /undo cannot restore this|changes in it are not listed|more changes/.test(payload?.stderr ?? "");
  const undone = artifacts.undo_id === undefined ? undefined : await runtime.undo(artifacts.undo_id);
  if (snapshot(root) === before) return "restored";
  return said && undone?.ok !== true ? "stated" : "different";
}

/** Files, folders, links, modes, a repository with a history: what commands of the grammar find. */
function makeTree(root: string): void {
  const write = (name: string, content: string | Buffer): void => {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), content);
  };
  for (const name of ["a.txt", "b.txt", "src/c.ts", "src/deep/d.ts", "docs/e.md", "with space/f g.txt", "é.txt"]) {
    write(name, `${name}\n`.repeat(20));
  }
  write("data.bin", Buffer.from(Array.from({ length: 5000 }, (_, at) => (at * 7919) % 256)));
  write("run.sh", "#!/bin/sh\necho run\n");
  write(".gitignore", "build/\n");
  write("build/out.js", "built\n");
  chmodSync(join(root, "run.sh"), 0o755);
  mkdirSync(join(root, "empty/inner"), { recursive: true });
  symlinkSync("a.txt", join(root, "link"));
  symlinkSync("nowhere", join(root, "dangling"));
  const git = (...args: string[]): void =>
    void execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.org", ...args], {
      cwd: root,
      stdio: "ignore",
      env: { PATH: process.env["PATH"], HOME: root, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" },
    });
  git("init", "-q", "-b", "main");
  git("config", "user.name", "a");
  git("config", "user.email", "a@example.org");
  git("add", "-A");
  git("commit", "-qm", "one");
  write("a.txt", "changed\n");
  git("commit", "-qam", "two");
  git("branch", "other", "HEAD~1");
  write("untracked.txt", "untracked\n");
}

/** Everything below a folder, as text that is the same only if the tree is. */
function snapshot(root: string): string {
  const rows: string[] = [];
  const visit = (path: Buffer): void => {
    const stats = lstatSync(path);
    const mode = (stats.mode & 0o7777).toString(8);
    const name = path.toString("latin1");
    if (stats.isSymbolicLink()) rows.push(`${name} -> ${readlinkSync(path, "latin1")}`);
    else if (stats.isFile()) rows.push(`${name} ${mode} ${readFileSync(path, "latin1")}`);
    else rows.push(`${name} ${mode} ${stats.isDirectory() ? "folder" : "other"}`);
    if (!stats.isDirectory()) return;
    const names = readdirSync(path, { encoding: "buffer" }).sort((one, other) => one.compare(other));
    for (const each of names) visit(Buffer.concat([path, Buffer.from("/"), each]));
  };
  visit(Buffer.from(root));
  return rows.join("\n");
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { ops: { type: "string", default: "2000" }, seed: { type: "string", default: "1" } },
  });
  const { different, ...counts } = await runUndoCampaign(Number(values.ops), Number(values.seed));
  console.log(JSON.stringify({ ...counts, different: different.length }));
  for (const command of different) console.log(`different: ${command}`);
  process.exitCode = different.length === 0 ? 0 : 1;
}
