import { join } from "node:path";
import { hasOpenApproval, listUndoLogs, objectBytesOf } from "@autonous/runtime/internal";
import type { Store } from "../store/store.ts";
import { bytesBelow, openBelow, runFolders } from "./run-folders.ts";

/** Retention limits. 0: no limit. */
export interface Retention {
  readonly keep_days: number;
  readonly keep_undo_days: number;
  readonly keep_megabytes: number;
}

export interface StatePlace {
  /** The real path (links resolved): the heads of the chains contain it. */
  readonly state_dir: string;
  readonly heads: string;
  /** Undefined if no service has run here. */
  readonly store: Store | undefined;
  readonly clock: () => number;
}

/** A run, or an undo log, past its retention. */
export interface Old {
  readonly kind: "run" | "undo";
  readonly id: string;
  /** Time of its last change. */
  readonly lastMs: number;
  readonly setting: string;
}

export const DAY_MS = 86_400_000;

/**
 * The size limit alone removes nothing younger than this. By then, even a run whose process we cannot see has ended.
 */
const MIN_MS = DAY_MS;

export interface PruneSelection {
  readonly limit: number;
  /** Runs to keep, whatever their age. */
  readonly except: ReadonlySet<string>;
}

/** Runs and undo logs past their retention, oldest first. */
export async function findOutOfTime(
  place: StatePlace,
  retention: Retention,
  wanted: PruneSelection,
): Promise<readonly Old[]> {
  const now = place.clock();
  const { keep_days, keep_undo_days } = retention;
  const runs = keep_days === 0 ? [] : await oldRuns(place, now - keep_days * DAY_MS, wanted);
  const ofRuns = runs.map((run) => ({ ...run, kind: "run" as const, setting: `AUTONOUS_KEEP_DAYS=${keep_days}` }));
  const undoBefore = now - keep_undo_days * DAY_MS;
  const logs = keep_undo_days === 0 ? [] : listUndoLogs(place.state_dir).filter(({ lastMs }) => lastMs < undoBefore);
  const setting = `AUTONOUS_KEEP_UNDO_DAYS=${keep_undo_days}`;
  const ofUndo = logs.map(({ id, lastMs }) => ({ kind: "undo" as const, id, lastMs, setting }));
  return [...ofRuns, ...ofUndo].sort(oldestFirst).slice(0, wanted.limit);
}

interface OldRun {
  readonly id: string;
  readonly lastMs: number;
}

/** Old runs of the store, and those that exist only as files. */
async function oldRuns(
  place: StatePlace,
  before: number,
  { limit, except }: PruneSelection,
): Promise<readonly OldRun[]> {
  const { state_dir, store } = place;
  const found: OldRun[] = [];
  for (let offset = 0; found.length < limit; offset += limit) {
    const stored = (await store?.upkeep.oldRuns({ before, limit, offset })) ?? [];
    const fresh = stored.filter(({ run_id }) => !except.has(run_id));
    found.push(...fresh.map(({ run_id, finished_at }) => ({ id: run_id, lastMs: finished_at })));
    if (stored.length < limit) break;
  }
  const inFiles: OldRun[] = [];
  for await (const { run_id, lastMs } of runFolders(state_dir))
    if (lastMs !== undefined && lastMs < before && !except.has(run_id)) inFiles.push({ id: run_id, lastMs });
  const idle = await idleFileRuns(place, inFiles.sort(oldestFirst), limit);
  return [...found, ...idle].sort(oldestFirst).slice(0, limit);
}

/** Runs that are not in the store, that no process has open, and that have no pending approval. */
async function idleFileRuns(place: StatePlace, runs: readonly OldRun[], limit: number): Promise<readonly OldRun[]> {
  const idle: OldRun[] = [];
  if (runs.length === 0) return idle;
  const isIdle = idleCheck(place);
  for (const run of runs) {
    if (idle.length >= limit) break;
    if ((await place.store?.upkeep.knows(run.id)) !== true && isIdle(run.id)) idle.push(run);
  }
  return idle;
}

/** Whether a run that exists only as files is idle, as of now. */
export function idleCheck({ state_dir, clock }: StatePlace): (run_id: string) => boolean {
  const open = openBelow(join(state_dir, "runs"));
  const now = clock();
  return (run_id) =>
    !open.has(join(state_dir, "runs", run_id, "events.jsonl")) && !hasOpenApproval({ state_dir, run_id }, now);
}

/** How many of the oldest runs are kept as candidates: enough for many batches. */
const MAX_SIZES = 4096;

/** What to remove to get below the size limit, oldest first; and the total size. */
export async function findTooMuch(
  place: StatePlace,
  { keep_megabytes }: Retention,
  { limit, except }: PruneSelection,
): Promise<{ readonly old: readonly Old[]; readonly bytes: number }> {
  const { state_dir, store } = place;
  const before = place.clock() - MIN_MS;
  const setting = `AUTONOUS_KEEP_MEGABYTES=${keep_megabytes}`;
  let bytes = ((await store?.upkeep.usedBytes()) ?? 0) + (await undoBytes(state_dir));
  let sized: (Old & { readonly bytes: number })[] = [];
  for await (const { run_id, lastMs } of runFolders(state_dir)) {
    const inFolder = await bytesBelow(join(state_dir, "runs", run_id));
    bytes += inFolder;
    if (lastMs === undefined || lastMs >= before || except.has(run_id)) continue;
    sized.push({ kind: "run", id: run_id, lastMs, setting, bytes: inFolder });
    if (sized.length >= 2 * MAX_SIZES) sized = sized.sort(oldestFirst).slice(0, MAX_SIZES);
  }
  for (const log of listUndoLogs(state_dir))
    if (log.lastMs < before) sized.push({ kind: "undo", id: log.id, lastMs: log.lastMs, setting, bytes: log.bytes });
  let over = bytes - keep_megabytes * 1_000_000;
  if (keep_megabytes === 0 || over <= 0) return { old: [], bytes };
  const old: Old[] = [];
  const isIdle = idleCheck(place);
  for (const each of sized.sort(oldestFirst)) {
    if (over <= 0 || old.length >= limit) break;
    const isStored = each.kind === "run" && (await store?.upkeep.knows(each.id)) === true;
    if (each.kind === "run" && !isStored && !isIdle(each.id)) continue;
    const { bytes: freed, ...rest } = each;
    old.push(rest);
    if (each.kind === "undo") over -= freed + objectBytesOf(state_dir, each.id);
    else over -= isStored ? 2 * freed : freed; // the store has a second copy
  }
  return { old, bytes };
}

/** Without the objects that are already scheduled for deletion (a day later): they must not cause further removals. */
async function undoBytes(state_dir: string): Promise<number> {
  const undo = join(state_dir, "undo");
  return (await bytesBelow(undo)) - (await bytesBelow(join(undo, "condemned")));
}

function oldestFirst(one: OldRun, other: OldRun): number {
  return one.lastMs - other.lastMs;
}
