import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync } from "node:fs";
import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime } from "@autonous/runtime";
import type { Runtime } from "@autonous/runtime";

interface LargeTreeOptions {
  /** Tracked files. */
  readonly files: number;
  /** Files of up to 30 KB and four of 200 MB, instead of some of up to 6 KB. */
  readonly isHeavy: boolean;
  /** Objects in one pack, as `git gc` leaves them, instead of a file for each. */
  readonly isPacked: boolean;
  /** Called with each step when it ends. */
  readonly onStep?: (step: LargeTreeStep) => void;
}

interface LargeTreeStep {
  readonly command: string;
  readonly seconds: number;
  /** Processor time of the runtime alone. */
  readonly cpu_seconds: number;
  /** As the result counts them. */
  readonly changed: number;
  readonly result_bytes: number;
  readonly undo_seconds?: number;
  /** After undo, compared byte for byte and mode for mode; undefined where nothing changed. */
  readonly restored?: boolean;
  /** What the result, or undo, said against it. */
  readonly problem?: string;
}

const EVERY_100TH = "git ls-files src | sed -n '1~100p'";

/** In this order; each is undone before the next. */
const COMMANDS = [
  "touch /tmp/nothing",
  "touch /tmp/nothing",
  `for file in $(${EVERY_100TH}); do echo changed >> $file; done`,
  `${EVERY_100TH} | xargs rm`,
  "mv src/m0 src/renamed",
  "find src -type f -exec sed -i '1s/^/x/' {} +",
  "git gc --quiet --prune=now",
  "rm -rf src",
] as const;

/** Runs commands in a repository of many files, undoes each, and compares. The caller prints it. */
export async function runLargeTree(options: LargeTreeOptions): Promise<readonly LargeTreeStep[]> {
  const { onStep } = options;
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "autonous-tree-")));
  const root = join(folder, "root");
  const steps: LargeTreeStep[] = [];
  try {
    makeRepository(root, options);
    const before = snapshot(root);
    const runtime = await createRuntime({
      roots: [root],
      state_dir: join(folder, "state"),
      onApproval: () => ({ answer: "grant" as const }),
    });
    try {
      for (const command of COMMANDS) {
        const step = await runStep(runtime, command, () => snapshot(root) === before);
        onStep?.(step);
        steps.push(step);
      }
    } finally {
      await runtime.close();
    }
    return steps;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runStep(runtime: Runtime, command: string, isAsBefore: () => boolean): Promise<LargeTreeStep> {
  const started = { ms: performance.now(), cpu: process.cpuUsage() };
  const result = await runtime.call({ name: "bash", args: { cmd: command, timeout_seconds: 600 } });
  const cpu = process.cpuUsage(started.cpu);
  const step = {
    command,
    seconds: secondsSince(started.ms),
    cpu_seconds: Math.round((cpu.user + cpu.system) / 1e5) / 10,
    changed: Number(result.payload?.meta["files_changed"] ?? result.artifacts.files_changed.length),
    result_bytes: JSON.stringify(result).length,
  };
  const said = result.error?.message ?? result.payload?.stderr ?? "";
  if (result.artifacts.undo_id === undefined) return said === "" ? step : { ...step, problem: said.slice(0, 500) };
  const undoMs = performance.now();
  const undone = await runtime.undo(result.artifacts.undo_id);
  const undo_seconds = secondsSince(undoMs);
  const problem = `${said}${undone.error?.message ?? ""}`.slice(0, 500);
  return { ...step, undo_seconds, restored: undone.ok && isAsBefore(), ...(problem === "" ? {} : { problem }) };
}

function secondsSince(ms: number): number {
  return Math.round((performance.now() - ms) / 100) / 10;
}

function makeRepository(root: string, { files, isHeavy, isPacked }: LargeTreeOptions): void {
  const noise = createHash("shake256", { outputLength: 1 << 20 })
    .update("noise")
    .digest();
  for (let each = 0; each < files; each++) {
    const folder = join(root, `src/m${Math.floor(each / 1000)}/p${Math.floor(each / 50) % 20}`);
    if (each % 50 === 0) mkdirSync(folder, { recursive: true });
    const size = isHeavy ? 2000 + ((each * 7919) % 28_000) : 200 + ((each * 7919) % 6000);
    const at = (each * 104_729) % (noise.length - size);
    const content = noise
      .subarray(at, at + size)
      .toString(isHeavy ? "latin1" : "hex")
      .slice(0, size);
    writeFileSync(join(folder, `f${each}.ts`), `// file ${each}\n${content}`, "latin1");
  }
  if (isHeavy) {
    mkdirSync(join(root, "big"));
    for (let each = 0; each < 4; each++) writeLarge(join(root, `big/${each}.bin`), each);
  }
  const git = (...words: string[]): void =>
    void execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "gc.auto=0", ...words], {
      cwd: root,
      stdio: "ignore",
    });
  git("init", "-q");
  git("config", "gc.auto", "0");
  git("add", "-A");
  git("commit", "-qm", "all");
  if (isPacked) git("gc", "-q", "--prune=now");
}

function writeLarge(path: string, seed: number): void {
  const piece = createHash("shake256", { outputLength: 1 << 20 })
    .update(`large ${seed}`)
    .digest();
  for (let each = 0; each < 200; each++) {
    piece.writeUInt32BE(each, 0);
    writeFileSync(path, piece, { flag: "a" });
  }
}

/** A hash of every name, mode and content below a folder, git's own included. */
function snapshot(root: string): string {
  const sum = createHash("sha256");
  const visit = (path: string): void => {
    const stats = lstatSync(path);
    sum.update(`${path}\0${(stats.mode & 0o7777).toString(8)}\0`);
    if (stats.isSymbolicLink()) sum.update(readlinkSync(path));
    else if (stats.isFile()) sum.update(readFileSync(path));
    if (stats.isDirectory()) for (const name of readdirSync(path).sort()) visit(join(path, name));
  };
  visit(root);
  return sum.digest("hex");
}
