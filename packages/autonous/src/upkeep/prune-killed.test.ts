import fs, { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StatementSync } from "node:sqlite";
import { JsonlJournal, makeId, makeTraceId, replaceHead, readHead, runsWithHeads } from "@autonous/runtime/internal";
import { afterAll, afterEach, expect, test } from "vitest";
import { databaseFile, openStore } from "../store/open-store.ts";
import { Mirror } from "../queue/mirror.ts";
import { DAY_MS } from "./find-old.ts";
import { Pruner } from "./prune.ts";
import { verifyState } from "./verify-state.ts";

const folder = fs.realpathSync(mkdtempSync(join(tmpdir(), "autonous-killed-")));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

class KilledError extends Error {}

/** Calls with an effect that outlasts the process. */
const STEPS = [
  "writeSync",
  "rmSync",
  "unlinkSync",
  "renameSync",
  "mkdirSync",
  "ftruncateSync",
  "fdatasyncSync",
  "fsyncSync",
] as const;
const real = {
  ...Object.fromEntries(STEPS.map((name) => [name, fs[name]])),
  rm: promises.rm,
  run: StatementSync.prototype.run,
};
type PatchedModule = Record<string, unknown>;

/** From step `last` on, calls of this process have no effect, as if it had been killed there. */
function killAt(last: number): () => number {
  let step = 0;
  const guarded = (work: unknown) =>
    function (this: unknown, ...values: unknown[]): unknown {
      step++;
      if (step > last) throw new KilledError(`killed at step ${step}`);
      return (work as (...args: unknown[]) => unknown).apply(this, values);
    };
  for (const name of STEPS) (fs as unknown as PatchedModule)[name] = guarded((real as PatchedModule)[name]);
  (promises as unknown as PatchedModule)["rm"] = guarded(real.rm);
  StatementSync.prototype.run = guarded(real.run) as typeof real.run;
  syncBuiltinESMExports();
  return () => step;
}

function comeAlive(): void {
  for (const name of STEPS) (fs as unknown as PatchedModule)[name] = (real as PatchedModule)[name];
  (promises as unknown as PatchedModule)["rm"] = real.rm;
  StatementSync.prototype.run = real.run;
  syncBuiltinESMExports();
}
afterEach(comeAlive);

const now = Date.now();

/** A state folder with a completed task, a run of the command line and an undo log, all old. */
async function makeTemplate(): Promise<{ readonly state_dir: string; readonly heads: string }> {
  const state_dir = join(folder, "template", "state");
  const heads = join(folder, "template", "heads");
  mkdirSync(state_dir, { recursive: true });
  const store = await openStore({ file: databaseFile(state_dir), clock: () => now - 40 * DAY_MS });
  for (const lane of ["one"]) {
    await store.inbox.ingest({ source: "test", lane, text: "words" });
    const [lease] = await store.inbox.claim("worker", 1);
    if (lease === undefined) throw new Error("nothing to claim");
    await store.inbox.finish(lease, { outcome: "done", reply: "an answer" });
    for (const { id } of await store.outbox.pending({ limit: 10 })) await store.outbox.markSent(id);
  }
  const mirror = new Mirror({ store, state_dir, heads, clock: () => now, log: () => undefined });
  await mirror.catchUp();
  await mirror.save();
  await store.close();
  const run_id = makeId("run", now);
  const journal = new JsonlJournal({ state_dir, run_id, heads });
  const about = { trace_id: makeTraceId(), task_id: null, run_id, parent_id: null };
  const payload = { level: "info", content: "said" };
  await journal.append([
    { event_id: makeId("evt", now), ts: new Date(now).toISOString(), type: "display", ...about, payload },
  ]);
  await journal.close();
  mkdirSync(join(state_dir, "undo/logs"), { recursive: true });
  const change = {
    undo_id: makeId("undo", now),
    run_id,
    tool_call_id: "call_1",
    ts: new Date(now).toISOString(),
    files: [],
  };
  const line = JSON.stringify({ change, staged: [], packed: [], ended: change.undo_id, outcome: "done" });
  writeFileSync(join(state_dir, "undo/logs", `${makeId("undo", now - DAY_MS)}.jsonl`), `${line}\n`);
  for (const name of readdirSync(state_dir, { recursive: true, encoding: "utf8" }))
    utimesSync(join(state_dir, name), (now - 40 * DAY_MS) / 1000, (now - 40 * DAY_MS) / 1000);
  return { state_dir, heads };
}

const RETENTION = { keep_days: 30, keep_undo_days: 14, keep_megabytes: 0 };

test(
  "a pruning killed at any step leaves each run or its entry in the log, and the next one completes it",
  { timeout: 120_000 },
  async () => {
    const template = await makeTemplate();
    let steps = 0;
    for (let last = 0; ; last++) {
      const state_dir = join(folder, String(last), "state");
      const heads = join(folder, String(last), "heads");
      cpSync(template.state_dir, state_dir, { recursive: true, preserveTimestamps: true });
      for (const run_id of runsWithHeads(template.heads, template.state_dir)) {
        const head = readHead(template.heads, run_id, template.state_dir);
        if (typeof head === "object") replaceHead(heads, { ...head, state_dir });
      }
      let store = await openStore({ file: databaseFile(state_dir), clock: () => now });
      const steppedSoFar = killAt(last);
      const died = await new Pruner({ state_dir, heads, store, clock: () => now }, RETENTION).prune().then(
        () => false,
        () => true,
      );
      steps = steppedSoFar();
      comeAlive();
      await store.close();

      store = await openStore({ file: databaseFile(state_dir), clock: () => now });
      const after = await verifyState({ state_dir, heads, store });
      expect({ last, problems: after.problems }).toEqual({ last, problems: [] });

      const again = new Pruner({ state_dir, heads, store, clock: () => now }, RETENTION);
      while ((await again.prune())?.more === true);
      expect(await again.prune()).toMatchObject({ runs: 0, changes: 0 });
      expect({ last, left: readdirSync(join(state_dir, "runs")) }).toEqual({ last, left: [] });
      expect(readdirSync(join(state_dir, "undo/logs"))).toEqual([]);
      expect(readdirSync(heads).filter((name) => !name.startsWith("prune_"))).toEqual([]);
      expect(await store.upkeep.unfinished(10)).toEqual([]);
      const verdict = await verifyState({ state_dir, heads, store });
      expect({ last, ok: verdict.ok, problems: verdict.problems }).toEqual({ last, ok: true, problems: [] });
      expect(verdict.pruned?.runs).toBeGreaterThanOrEqual(2);
      await store.close();
      rmSync(join(folder, String(last)), { recursive: true });
      if (!died) break;
    }
    expect(steps).toBeGreaterThan(40);
  },
);
