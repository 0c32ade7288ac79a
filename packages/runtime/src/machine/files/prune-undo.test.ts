import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { createRuntime } from "../../index.ts";
import {
  countChanges,
  findPruned,
  listUndoLogs,
  pruneUndoLog,
  removeOldPruned,
  sweepUndoObjects,
} from "./prune-undo.ts";
import { prunedFolders, stateFolders } from "../system/state-folders.ts";

const DAY_MS = 86_400_000;
const setting = "AUTONOUS_KEEP_UNDO_DAYS=14";
/** Too large for a pack, so stored as a separate file. */
const LARGE = "large ".repeat(20_000);

/** A workspace whose files were changed, each by a separate process. */
async function scratch() {
  const { path } = await scratchFolder();
  const [root, state_dir] = [join(path, "root"), join(path, "state")];
  mkdirSync(root);
  const open = () => createRuntime({ roots: [root], state_dir, profile: "autonomous" });
  return {
    root,
    state_dir,
    undo: async (id: string) => {
      const runtime = await open();
      const result = await runtime.undo(id);
      await runtime.close();
      return result;
    },
    write: async (name: string, content: string, run_id?: string) => {
      const runtime = await open();
      const about = run_id === undefined ? {} : { run_id };
      const result = await runtime.call({ name: "write", args: { path: name, content }, ...about });
      await runtime.close();
      expect(result.error).toBeNull();
      return result.artifacts?.undo_id ?? "";
    },
  };
}

function objectsIn(state_dir: string): number {
  const { objects } = stateFolders(state_dir);
  if (!existsSync(objects)) return 0;
  return readdirSync(objects).reduce((sum, name) => sum + readdirSync(join(objects, name)).length, 0);
}

test("a pruned change says what it was, when it was pruned and why", async () => {
  const { root, state_dir, write, undo } = await scratch();
  writeFileSync(join(root, "a.txt"), "one");
  const undo_id = await write("a.txt", "two");
  const kept = await write("a.txt", "three");
  const [oldest] = listUndoLogs(state_dir);
  expect(countChanges(state_dir, oldest?.id ?? "")).toBe(1);

  const now = Date.now();
  pruneUndoLog(state_dir, oldest?.id ?? "", { now, setting });
  pruneUndoLog(state_dir, oldest?.id ?? "", { now, setting });

  const refused = await undo(undo_id);
  expect(refused.error?.code).toBe("NotFound");
  expect(refused.error?.message).toContain('"a.txt"');
  expect(refused.error?.message).toContain(`pruned on ${new Date(now).toISOString()} by ${setting}`);
  expect((await undo(kept)).error).toBeNull();
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("two");
});

test("a partly pruned run is not undone in part without an explicit request", async () => {
  const { root, state_dir, write, undo } = await scratch();
  writeFileSync(join(root, "a.txt"), "one");
  writeFileSync(join(root, "b.txt"), "one");
  await write("a.txt", "two", "run_x");
  const kept = await write("b.txt", "two", "run_x");
  pruneUndoLog(state_dir, listUndoLogs(state_dir)[0]?.id ?? "", { now: Date.now(), setting });
  expect(findPruned(state_dir, "run_x")).toHaveLength(1);

  const refused = await undo("run_x");
  expect(refused.error?.message).toContain("1 of its 2 changes");
  expect(refused.error?.hint).toContain(kept);
  expect((await undo(kept)).error).toBeNull();
});

test("a large content is removed a day after nothing needs it, unless a change came to need it", async () => {
  const { root, state_dir, write, undo } = await scratch();
  writeFileSync(join(root, "a.txt"), LARGE);
  await write("a.txt", "two");
  expect(objectsIn(state_dir)).toBe(1);
  expect(await sweepUndoObjects(state_dir, Date.now())).toBe(0);
  expect(objectsIn(state_dir)).toBe(1);

  pruneUndoLog(state_dir, listUndoLogs(state_dir)[0]?.id ?? "", { now: Date.now(), setting });
  expect(await sweepUndoObjects(state_dir, Date.now())).toBe(0);
  expect(objectsIn(state_dir)).toBe(0);
  // A change that checked just before found it, and relies on it: other processes see only its log.
  await write("b.txt", LARGE);
  const undo_id = await write("b.txt", "two");
  rmSync(stateFolders(state_dir).objects, { recursive: true });
  expect(await sweepUndoObjects(state_dir, Date.now() + 2 * DAY_MS)).toBe(0);
  expect(objectsIn(state_dir)).toBe(1);
  expect((await undo(undo_id)).error).toBeNull();
  expect(readFileSync(join(root, "b.txt"), "utf8")).toBe(LARGE);
});

test("contents that nothing needs are finally removed, and so are the notes about their changes", async () => {
  const { root, state_dir, write } = await scratch();
  writeFileSync(join(root, "a.txt"), LARGE);
  await write("a.txt", "two");
  const now = Date.now();
  pruneUndoLog(state_dir, listUndoLogs(state_dir)[0]?.id ?? "", { now, setting });
  await sweepUndoObjects(state_dir, now);
  expect(await sweepUndoObjects(state_dir, now + DAY_MS / 2)).toBe(0);
  expect(await sweepUndoObjects(state_dir, now + 2 * DAY_MS)).toBe(LARGE.length);
  const { pruned, condemned } = prunedFolders(state_dir);
  expect(readdirSync(condemned)).toEqual([]);
  for (const name of readdirSync(pruned)) utimesSync(join(pruned, name), 0, 0);
  expect(removeOldPruned(state_dir, now)).toBe(1);
});
