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
} from "@autonous/runtime";
import type { RestoredPayload, RuntimeEvent } from "@autonous/runtime";
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
  /** What was damaged in it when it was made, and is still. */
  readonly problems: readonly string[];
  /** Runs that this machine knows of and that the backup does not have. */
  readonly lost_runs: readonly string[];
  /** Runs that had gone on since. */
  readonly cut_runs: readonly string[];
}

/**
 * Puts a backup in the place of a state folder that is not there, and says so in the record: to go back to an earlier
 * state is what `audit verify` finds otherwise. One that was killed is gone on with. Throws `CannotBackUp` with what to
 * do.
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
  const gone = whatIsLost(manifest, place);
  await recordRestore(made, { heads, clock, entry: { backup, made_at: manifest.made_at, ...gone } });
  removeUnused(state_dir);
  keep();
  return gone;
}

/**
 * What is there may be this very backup, put back by one that was killed before it had moved all heads: its record says
 * so, and all that the backup has is there. Anything else is somebody's, and stays.
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
      `Cannot put the backup back to "${state_dir}": something is there. Move it away first, and keep it`,
    );
  const then = passingFolder(made, "heads");
  // The restore made a record of prunings where the backup had none.
  putHeads(then, { heads: [[last.run_id, last.seq, last.hash], ...manifest.heads] }, state_dir);
  await check(state_dir, { heads: then, clock }, manifest);
  const { lost, cut } = last.payload as unknown as RestoredPayload;
  return { lost, cut };
}

/** The heads of two copies of one record would be in each other's way. */
function refuseIfInUse({ heads: tails }: Manifest, { state_dir, heads }: RestorePlace): void {
  for (const [run_id] of tails) {
    const head = readHead(heads, run_id);
    if (typeof head !== "object" || head.state_dir === state_dir) continue;
    const isThere = existsSync(join(head.state_dir, "runs", run_id)) || existsSync(join(head.state_dir, "pruned"));
    if (isThere)
      throw new CannotBackUp(
        `Cannot put the backup back to "${state_dir}": what it is a copy of is still in "${head.state_dir}", and both would have one head. Move that away first; or, to try a backup, set XDG_STATE_HOME to an empty folder`,
      );
  }
}

/** What was damaged when the backup was made is put back as it was: it is evidence. Anything else is refused. */
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
      `Cannot put the backup back: its record is damaged (${problems.length} problems; ${problems[0]}). "autonous audit verify <backup>" shows them`,
    );
  } finally {
    await store?.close();
  }
}

type Gone = Pick<RestoredPayload, "lost" | "cut">;

/** What the heads know of this folder that the backup does not have. */
function whatIsLost({ heads: tails }: Manifest, { state_dir, heads }: RestorePlace): Gone {
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

/** The record of prunings is no run, although it has a head like one. */
function isChainId(run_id: string): boolean {
  return run_id.startsWith("prune_");
}

interface Recorded {
  readonly heads: string;
  readonly clock: () => number;
  readonly entry: RestoredPayload;
}

async function recordRestore(partial: string, { heads, clock, entry }: Recorded): Promise<void> {
  const prunings = await Prunings.open({ state_dir: partial, heads }, clock);
  try {
    await prunings.record("upkeep.restored", entry);
  } finally {
    await prunings.close();
  }
}

/** From now on what was put back is what there is. The head that shows that this was done is moved last. */
async function moveHeads(manifest: Manifest, { state_dir, heads }: RestorePlace, lost: Gone["lost"]): Promise<void> {
  const chain = await lastOfChain(state_dir);
  if (chain === undefined) throw new Error(`The record of prunings in "${state_dir}" is gone since it was written`);
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
    return undefined; // somebody changed it: no restore of ours
  }
}
