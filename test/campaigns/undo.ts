/**
 * Commands that change files run in throw-away workspaces and are undone; then the tree is compared with the tree before,
 * byte for byte and mode for mode, with links of both kinds. Some undos are undone too. `npm run campaign:undo -- --ops 2000 [--seed 1]`
 *
 * Or in one repository of many files, with times: `npm run campaign:undo -- --tree 200000 [--heavy] [--packed]`
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createRuntime } from "@autonous/runtime";
import type { Runtime } from "@autonous/runtime";
import { createRandom } from "./kill/random.ts";
import { makeCommand } from "./undo/grammar.ts";
import { runLargeTree } from "./undo/large-tree.ts";
import { differenceOf, makeTree, snapshot } from "./undo/tree.ts";

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
  /** Undos that were undone, after which the tree was as the command had left it. */
  readonly redone: number;
  /** What undo said was restored and was not: the command, and the rows that differ. */
  readonly different: readonly string[];
}

/** A workspace is used for as many commands before a new one is made. */
const COMMANDS_EACH = 25;

interface CampaignOptions {
  readonly operations: number;
  readonly seed: number;
  /** Called with each difference when it is found. */
  readonly onDifferent?: (different: string) => void;
}

export async function runUndoCampaign({ operations, seed, onDifferent }: CampaignOptions): Promise<UndoResult> {
  const random = createRandom(seed);
  const counts = { operations: 0, changed: 0, restored: 0, stated: 0, denied: 0, redone: 0, different: [] as string[] };
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
        const { outcome, rows = "" } = await tryOne({ runtime, root, redoes: random.percent(20) }, command);
        counts.operations++;
        if (outcome === "different") {
          counts.different.push(`${command}\n${rows}`);
          onDifferent?.(`${command}\n${rows}`);
        } else if (outcome !== "unchanged") counts[outcome]++;
        if (outcome === "redone") counts.restored++;
        if (outcome !== "unchanged" && outcome !== "denied") counts.changed++;
        // The next one begins with a tree that is known.
        if (outcome === "different" || outcome === "stated" || outcome === "redone") break;
      }
    } finally {
      await runtime.close();
      execFileSync("chmod", ["-R", "u+rwX", folder]);
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return counts;
}

interface Tried {
  readonly outcome: "unchanged" | "restored" | "redone" | "stated" | "denied" | "different";
  readonly rows?: string;
}

interface Workspace {
  readonly runtime: Runtime;
  readonly root: string;
  readonly redoes: boolean;
}

async function tryOne({ runtime, root, redoes }: Workspace, cmd: string): Promise<Tried> {
  const before = snapshot(root);
  const { artifacts, payload, error } = await runtime.call({ name: "bash", args: { cmd } });
  const after = snapshot(root);
  if (after === before) return { outcome: payload === null && error !== null ? "denied" : "unchanged" };
  const said = /undo cannot restore this|changes in it are not listed|more changes/.test(payload?.stderr ?? "");
  const undone = artifacts.undo_id === undefined ? undefined : await runtime.undo(artifacts.undo_id);
  const now = snapshot(root);
  if (now !== before) {
    const rows = `${differenceOf(before, now)}\n  ${payload?.stderr ?? ""}\n  undo: ${JSON.stringify(undone?.error ?? undone?.ok)}`;
    return said && undone?.ok !== true ? { outcome: "stated" } : { outcome: "different", rows };
  }
  const redo_id = undone?.artifacts.undo_id;
  if (!redoes || redo_id === undefined) return { outcome: "restored" };
  const redone = await runtime.undo(redo_id);
  const again = snapshot(root);
  if (again === after) return { outcome: "redone" };
  const isStated = said || !redone.ok || undone?.payload?.stderr !== "";
  return isStated ? { outcome: "stated" } : { outcome: "different", rows: `  redo:\n${differenceOf(after, again)}` };
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      ops: { type: "string", default: "2000" },
      seed: { type: "string", default: "1" },
      tree: { type: "string" },
      heavy: { type: "boolean", default: false },
      packed: { type: "boolean", default: false },
    },
  });
  process.exitCode = (values.tree === undefined ? await runCommands(values) : await runTree(values)) ? 0 : 1;
}

async function runTree(values: { tree?: string; heavy: boolean; packed: boolean }): Promise<boolean> {
  const steps = await runLargeTree({
    files: Number(values.tree),
    isHeavy: values.heavy,
    isPacked: values.packed,
    onStep: (step) => console.log(JSON.stringify(step)),
  });
  return steps.every(({ restored, problem }) => restored !== false && problem === undefined);
}

async function runCommands(values: { ops: string; seed: string }): Promise<boolean> {
  const { different, ...counts } = await runUndoCampaign({
    operations: Number(values.ops),
    seed: Number(values.seed),
    onDifferent: (text) => console.log(`different: ${text}`),
  });
  console.log(JSON.stringify({ ...counts, different: different.length }));
  return different.length === 0;
}
