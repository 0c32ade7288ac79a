import { existsSync, mkdirSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import {
  isUnusedState,
  pruningsFile,
  Prunings,
  readHead,
  removeHead,
  removeUnused,
  runsWithHeads,
} from "@autonous/runtime/internal";
import type { RuntimeEvent } from "@autonous/runtime";
import type { RestoredPayload } from "@autonous/runtime/internal";
import { databaseFile, openStore } from "../store/open-store.ts";
import { BACKED_UP } from "./backup.ts";
import { copyTree } from "./copy-tree.ts";
import { CannotBackUp, problemLine, putHeads, readManifest } from "./manifest.ts";
import type { Manifest } from "./manifest.ts";
import { inPartial, passingFolder } from "./partial.ts";
import type { PartialFolder } from "./partial.ts";
import { verifyState } from "./verify-state.ts";
import { wholeLines } from "./whole-lines.ts";

export interface RestorePlace {
  readonly state_dir: string;
  readonly heads: string;
  readonly clock: () => number;
}

export interface RestoreReport {
  readonly state_dir: string;
  readonly made_at: string;
  readonly runs: number;
  readonly records: number;
  /** Problems that the state already had when the backup was made. */
  readonly problems: readonly string[];
  /** Runs that this machine knows but the backup does not have. */
  readonly lost_runs: readonly string[];
  /** Runs that had more events than the backup has. */
  readonly cut_runs: readonly string[];
}

/**
 * Restores a backup to a state folder that does not exist, and records that: otherwise `audit verify` would report the
 * rollback to an earlier state. Completes a restore that was killed. Throws `CannotBackUp` with what to do.
 */
export async function restore(place: RestorePlace, backup: string): Promise<RestoreReport> {
  const manifest = readManifest(backup);
  const above = resolve(dirname(place.state_dir));
  mkdirSync(above, { recursive: true });
  const state_dir = join(realpathSync(above), basename(resolve(place.state_dir)));
  const there = { ...place, state_dir };
  refuseIfInUse(manifest, there);
  const gone = await inPartial(state_dir, async (partial) =>
    isUnusedState(state_dir)
      ? await putBack({ manifest, backup, place: there, partial })
      : await checkBegun(manifest, there, partial),
  );
  await moveHeads(manifest, there, gone.lost);
  const { made_at, runs, records, problems } = manifest;
  const lost_runs = gone.lost.map(({ run_id }) => run_id);
  return { state_dir, made_at, runs, records, problems, lost_runs, cut_runs: gone.cut.map(({ run_id }) => run_id) };
}

interface PutBack {
  readonly manifest: Manifest;
  readonly backup: string;
  readonly place: RestorePlace;
  readonly partial: PartialFolder;
}

async function putBack({ manifest, backup, place, partial: { made, keep } }: PutBack): Promise<Gone> {
  const { state_dir, clock } = place;
  const heads = passingFolder(made, "heads");
  await copyTree(backup, made, (name) => BACKED_UP.includes(name));
  putHeads(heads, manifest, made);
  await check(made, { heads, clock }, manifest);
  const gone = findLosses(manifest, place);
  await recordRestore(made, { heads, clock, entry: { backup, made_at: manifest.made_at, ...gone } });
  removeUnused(state_dir);
  keep();
  return gone;
}

/**
 * The existing folder may be this backup, restored by a process that was killed before it had moved all heads: then its
 * log of prunings says so, and it has everything that the backup has. Any other folder is left alone.
 */
async function checkBegun(
  manifest: Manifest,
  { state_dir, heads, clock }: RestorePlace,
  { made }: PartialFolder,
): Promise<Gone> {
  const last = await lastOfChain(state_dir);
  const head = readHead(heads, last?.run_id ?? "", state_dir);
  const isMoved = typeof head === "object" && head.hash === last?.hash;
  if (last?.type !== "upkeep.restored" || last.payload["made_at"] !== manifest.made_at || isMoved)
    throw new CannotBackUp(
      `Cannot restore the backup to "${state_dir}": it already exists. Move it away first, and keep it`,
    );
  const then = passingFolder(made, "heads");
  // If the backup had no log of prunings, the restore created one.
  putHeads(then, { heads: [[last.run_id, last.seq, last.hash], ...manifest.heads] }, state_dir);
  await check(state_dir, { heads: then, clock }, manifest);
  const { lost, cut } = last.payload as unknown as RestoredPayload;
  return { lost, cut };
}

/** Two copies of one run would share a head and overwrite it. */
function refuseIfInUse({ heads: tails }: Manifest, { state_dir, heads }: RestorePlace): void {
  for (const [run_id] of tails) {
    const head = readHead(heads, run_id);
    if (typeof head !== "object" || head.state_dir === state_dir) continue;
    const isThere = existsSync(join(head.state_dir, "runs", run_id)) || existsSync(join(head.state_dir, "pruned"));
    if (isThere)
      throw new CannotBackUp(
        `Cannot restore the backup to "${state_dir}": the original state folder "${head.state_dir}" still exists, and both would share one head. Move it away first; or, to try a backup, set XDG_STATE_HOME to an empty folder`,
      );
  }
}

/** Damage listed in the manifest is restored unchanged, as evidence. Any other damage is refused. */
async function check(
  partial: string,
  { heads, clock }: Omit<RestorePlace, "state_dir">,
  { problems: known }: Manifest,
): Promise<void> {
  const file = databaseFile(partial);
  const store = existsSync(file) ? await openStore({ file, clock }) : undefined;
  try {
    const verdict = await verifyState({ state_dir: partial, heads, store });
    const problems = verdict.problems.map(problemLine).filter((line) => !known.includes(line));
    if (problems.length === 0) return;
    throw new CannotBackUp(
      `Cannot restore the backup: its audit log is damaged (${problems.length} problems; ${problems[0]}). "autonous audit verify <backup>" shows them`,
    );
  } finally {
    await store?.close();
  }
}

type Gone = Pick<RestoredPayload, "lost" | "cut">;

/** Runs and events that the heads of this folder know but the backup does not have. */
function findLosses({ heads: tails }: Manifest, { state_dir, heads }: RestorePlace): Gone {
  const kept = new Map(tails.map(([run_id, seq]) => [run_id, seq]));
  const known = runsWithHeads(heads, state_dir).flatMap((run_id) => {
    const head = readHead(heads, run_id, state_dir);
    return typeof head === "object" && !isChainId(run_id) ? [head] : [];
  });
  const lost = known.filter(({ run_id }) => !kept.has(run_id));
  const cut = known.flatMap(({ run_id, seq }) => {
    const have = kept.get(run_id);
    return have !== undefined && have < seq ? [{ run_id, events: seq, kept: have }] : [];
  });
  const leftOf = ({ run_id, seq, hash }: (typeof lost)[number]): Gone["lost"][number] => {
    return { run_id, task_id: null, events: seq, first_ts: null, last_ts: null, last_hash: hash };
  };
  return { lost: lost.map(leftOf), cut };
}

/** The log of prunings has a head like a run, but is not a run. */
function isChainId(run_id: string): boolean {
  return run_id.startsWith("prune_");
}

interface RestoreRecord {
  readonly heads: string;
  readonly clock: () => number;
  readonly entry: RestoredPayload;
}

async function recordRestore(partial: string, { heads, clock, entry }: RestoreRecord): Promise<void> {
  const prunings = await Prunings.open({ state_dir: partial, heads }, clock);
  try {
    await prunings.record("upkeep.restored", entry);
  } finally {
    await prunings.close();
  }
}

/**
 * Makes the restored state the current one. Moves the head of the log of prunings last: it marks the restore as
 * complete.
 */
async function moveHeads(manifest: Manifest, { state_dir, heads }: RestorePlace, lost: Gone["lost"]): Promise<void> {
  const chain = await lastOfChain(state_dir);
  if (chain === undefined) throw new Error(`The log of prunings in "${state_dir}" disappeared after it was written`);
  putHeads(heads, { heads: manifest.heads.filter(([run_id]) => run_id !== chain.run_id) }, state_dir);
  for (const { run_id } of lost) removeHead(heads, run_id, state_dir);
  for (const run_id of runsWithHeads(heads, state_dir)) if (isChainId(run_id)) removeHead(heads, run_id, state_dir);
  putHeads(heads, { heads: [[chain.run_id, chain.seq, chain.hash]] }, state_dir);
}

async function lastOfChain(state_dir: string): Promise<RuntimeEvent | undefined> {
  const { last } = await wholeLines(pruningsFile(state_dir));
  try {
    return last === undefined ? undefined : (JSON.parse(last) as RuntimeEvent);
  } catch {
    return undefined; // the line was changed, so it is not an unfinished restore
  }
}
