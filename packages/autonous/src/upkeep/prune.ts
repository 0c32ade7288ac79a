import { existsSync, rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import {
  countChanges,
  forgetOpenApprovals,
  pruneUndoLog,
  Prunings,
  readPrunings,
  removeHead,
  removeOldPruned,
  runPath,
  summarizeRun,
  sweepUndoObjects,
  syncFolder,
  verifyEvents,
} from "@autonous/runtime/internal";
import type { PrunedRun } from "@autonous/runtime/internal";
import { tryHoldFile } from "../store/sqlite/state-lock.ts";
import type { ForgottenRun } from "../store/store.ts";
import { DAY_MS, findOutOfTime, findTooMuch, idleCheck } from "./find-old.ts";
import type { Old, Retention, StatePlace } from "./find-old.ts";
import { runFolders } from "./run-folders.ts";

/** Runs and undo logs removed per batch: takes a fraction of a second, and writes one line to the log of prunings. */
const BATCH = 50;

/** How long the note remains that a change can no longer be undone. */
const UNDO_NOTE_MS = 365 * DAY_MS;

export interface PruneReport {
  readonly runs: number;
  readonly events: number;
  /** Changes that can no longer be undone. */
  readonly changes: number;
  /** Whether another batch is needed. */
  readonly more: boolean;
  /** Runs kept past their retention because their log is damaged: `audit verify` must still be able to report that. */
  readonly damaged: readonly string[];
  /** Messages about what could not be removed. */
  readonly problems: readonly string[];
}

/** Lock for pruning and backups: one process at a time. Undefined: another process has it. */
export function holdUpkeep(state_dir: string): (() => void) | undefined {
  return tryHoldFile(join(state_dir, "upkeep.lock"));
}

/**
 * Removes runs and undo data past their retention. Records each removal first (`pruned/events.jsonl`), then removes;
 * what a crash leaves between the two is removed by the next pruning. So every removal is recorded, and `audit verify`
 * can distinguish pruned runs from runs that were deleted by other means.
 */
export class Pruner {
  readonly #place: StatePlace;
  readonly #retention: Retention;
  readonly #damaged = new Set<string>();
  #problems: string[] = [];

  constructor(place: StatePlace, retention: Retention) {
    this.#place = place;
    this.#retention = retention;
  }

  /** What `prune` would remove now. Removes nothing. */
  async preview(): Promise<readonly Old[]> {
    const wanted = { limit: Number.MAX_SAFE_INTEGER, except: this.#damaged };
    const outOfTime = await findOutOfTime(this.#place, this.#retention, wanted);
    const except = new Set(outOfTime.map(({ id }) => id));
    const { old } = await findTooMuch(this.#place, this.#retention, { ...wanted, except });
    return [...outOfTime, ...old.filter(({ id }) => !except.has(id))];
  }

  /** Prunes one batch. Undefined: another process is pruning or making a backup. */
  async prune(): Promise<PruneReport | undefined> {
    const { state_dir, clock } = this.#place;
    if (!existsSync(state_dir)) return { runs: 0, events: 0, changes: 0, more: false, damaged: [], problems: [] };
    const release = holdUpkeep(state_dir);
    if (release === undefined) return undefined;
    try {
      const prunings = await Prunings.open(this.#place, clock);
      try {
        return await this.#pruneHeld(prunings);
      } finally {
        await prunings.close();
      }
    } finally {
      release();
    }
  }

  async #pruneHeld(prunings: Prunings): Promise<PruneReport> {
    this.#problems = [];
    await this.#finish(prunings);
    const except = new Set(this.#damaged);
    const wanted = { limit: BATCH, except };
    const outOfTime = await findOutOfTime(this.#place, this.#retention, wanted);
    const done = await this.#pruneAll(prunings, outOfTime);
    let more = outOfTime.length === BATCH;
    if (!more && this.#retention.keep_megabytes > 0) {
      const tooMuch = await findTooMuch(this.#place, this.#retention, wanted);
      const further = await this.#pruneAll(prunings, tooMuch.old);
      for (const name of ["runs", "events", "changes"] as const) done[name] += further[name];
      more = further.runs + further.changes > 0; // the next measurement shows whether that was enough
      if (further.changes > 0) await sweepUndoObjects(this.#place.state_dir, this.#place.clock());
    }
    if (!more) await this.#tidy();
    if (done.runs > 0) await this.#place.store?.upkeep.shrink();
    return { ...done, more, damaged: [...this.#damaged], problems: this.#problems };
  }

  /** Completes removals that an earlier pruning recorded but did not finish. */
  async #finish(prunings: Prunings): Promise<void> {
    const { state_dir, store } = this.#place;
    const { runs = [], undo, setting = "" } = prunings.last ?? {};
    for (const run of runs) if ((await store?.upkeep.knows(run.run_id)) !== true) await this.#removeFileRun(run);
    for (const id of undo?.logs ?? []) pruneUndoLog(state_dir, id, { now: this.#place.clock(), setting });
    const unfinished = (await store?.upkeep.unfinished(BATCH)) ?? [];
    if (unfinished.length === 0) return;
    const recorded = new Set(runs.map(({ run_id }) => run_id));
    const missing = unfinished.filter(({ run_id }) => !recorded.has(run_id)).map(leftOf);
    if (missing.length > 0) {
      const isOver = `AUTONOUS_KEEP_DAYS=${this.#retention.keep_days}`;
      await prunings.record("upkeep.pruned", { setting: isOver, runs: missing });
    }
    for (const { run_id } of unfinished) await this.#removeStoredRun(run_id);
  }

  async #pruneAll(prunings: Prunings, old: readonly Old[]): Promise<{ runs: number; events: number; changes: number }> {
    const done = { runs: 0, events: 0, changes: 0 };
    for (const [setting, some] of Map.groupBy(old, (each) => each.setting)) {
      const ids = (kind: Old["kind"]): string[] => some.filter((each) => each.kind === kind).map(({ id }) => id);
      const stored: PrunedRun[] = [];
      const inFiles: PrunedRun[] = [];
      for (const run_id of ids("run")) {
        const isStored = (await this.#place.store?.upkeep.knows(run_id)) === true;
        const left = isStored ? await this.#markStored(run_id) : await this.#checkFile(run_id);
        if (left !== undefined) (isStored ? stored : inFiles).push(left);
      }
      const logs = ids("undo");
      const changes = logs.reduce((sum, id) => sum + countChanges(this.#place.state_dir, id), 0);
      const runs = [...stored, ...inFiles];
      if (runs.length === 0 && logs.length === 0) continue;
      await prunings.record("upkeep.pruned", {
        setting,
        runs,
        ...(logs.length === 0 ? {} : { undo: { logs, changes } }),
      });
      for (const { run_id } of stored) await this.#removeStoredRun(run_id);
      for (const run of inFiles) await this.#removeFileRun(run);
      for (const id of logs) pruneUndoLog(this.#place.state_dir, id, { now: this.#place.clock(), setting });
      done.runs += runs.length;
      done.events += runs.reduce((sum, { events }) => sum + events, 0);
      done.changes += changes;
    }
    return done;
  }

  /** Undefined if the run is kept: it is in use after all, or it was tampered with, which pruning must not hide. */
  async #markStored(run_id: string): Promise<PrunedRun | undefined> {
    const { state_dir, store, heads } = this.#place;
    if (store === undefined) return undefined;
    const { ok: isWhole } = await verifyEvents(run_id, store.checks.events(run_id), { heads, state_dir });
    const hasFile = existsSync(join(runPath(state_dir, run_id), "events.jsonl"));
    const ok = isWhole && (!hasFile || (await summarizeRun({ state_dir, run_id }, { heads })).ok);
    if (!ok) this.#damaged.add(run_id);
    const marked = ok ? await store.upkeep.markForgotten(run_id) : undefined;
    return marked && leftOf(marked);
  }

  async #checkFile(run_id: string): Promise<PrunedRun | undefined> {
    const { state_dir, heads } = this.#place;
    const { ok, run } = await summarizeRun({ state_dir, run_id }, { heads });
    if (!ok) this.#damaged.add(run_id);
    return ok ? run : undefined;
  }

  async #removeStoredRun(run_id: string): Promise<void> {
    const { store } = this.#place;
    await store?.upkeep.forgetRun(run_id);
    await this.#removeFolder(run_id);
    await store?.upkeep.markRemoved(run_id);
  }

  /** Keeps the run if it was started again under the same id, or if a process has just resumed it. */
  async #removeFileRun(run: PrunedRun): Promise<void> {
    const { state_dir, heads } = this.#place;
    const { run_id } = run;
    const isRecorded = existsSync(join(runPath(state_dir, run_id), "events.jsonl"));
    if (isRecorded) {
      const { run: found } = await summarizeRun({ state_dir, run_id }, { heads });
      if (found.last_hash !== run.last_hash || !idleCheck(this.#place)(run_id)) return;
    }
    await this.#removeFolder(run_id);
  }

  /** Removes events.jsonl first: a folder that still has it is complete. Removes the head last. */
  async #removeFolder(run_id: string): Promise<void> {
    const { state_dir, heads } = this.#place;
    const folder = runPath(state_dir, run_id);
    rmSync(join(folder, "events.jsonl"), { force: true });
    await this.#removeTree(folder);
    if (existsSync(join(state_dir, "runs"))) syncFolder(join(state_dir, "runs"));
    forgetOpenApprovals(state_dir, new Set([run_id]));
    removeHead(heads, run_id, state_dir);
  }

  /** Removes leftovers that nothing refers to any more. */
  async #tidy(): Promise<void> {
    const { state_dir, clock } = this.#place;
    const now = clock();
    await sweepUndoObjects(state_dir, now);
    removeOldPruned(state_dir, now - UNDO_NOTE_MS);
    const empty: string[] = [];
    for await (const { run_id, lastMs } of runFolders(state_dir)) if (lastMs === undefined) empty.push(run_id);
    if (empty.length === 0) return;
    const { byRun } = await readPrunings(this.#place);
    for (const run_id of empty) if (byRun.has(run_id)) await this.#removeTree(runPath(state_dir, run_id));
  }

  /** A folder that cannot be removed does not stop the pruning: it is reported, and retried by the next `#tidy`. */
  async #removeTree(folder: string): Promise<void> {
    try {
      await rm(folder, { recursive: true, force: true });
    } catch (error) {
      this.#problems.push(`Cannot remove "${folder}" (${(error as NodeJS.ErrnoException).code ?? String(error)})`);
    }
  }
}

function leftOf({ run_id, task_id, events, first_ts, last_ts, last_hash }: ForgottenRun): PrunedRun {
  return { run_id, task_id, events, first_ts, last_ts, last_hash };
}
