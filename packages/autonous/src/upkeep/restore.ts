import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { pruningsFolder, Prunings, readHead, removeHead, runsWithHeads, syncFolder } from "@autonous/runtime";
import type { RestoredPayload } from "@autonous/runtime";
import { databaseFile, openStore } from "../store/open-store.ts";
import { copyTree } from "./copy-tree.ts";
import { CannotBackUp, MANIFEST, putHeads, readManifest } from "./manifest.ts";
import type { Manifest } from "./manifest.ts";
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
  /** Runs that this machine knows of and that the backup does not have. */
  readonly lost_runs: readonly string[];
  /** Runs that had gone on since. */
  readonly cut_runs: readonly string[];
}

/**
 * Puts a backup in the place of a state folder that is not there, and says so in the record: to go back to an earlier
 * state is what `audit verify` finds otherwise. Throws `CannotBackUp` with what to do.
 */
export async function restore(place: RestorePlace, backup: string): Promise<RestoreReport> {
  const manifest = readManifest(backup);
  const above = resolve(dirname(place.state_dir));
  mkdirSync(above, { recursive: true });
  const state_dir = join(realpathSync(above), basename(resolve(place.state_dir)));
  refuseUnlessEmpty(state_dir);
  refuseIfInUse(manifest, { ...place, state_dir });
  const partial = `${state_dir}.partial-${process.pid}`;
  const then = mkdtempSync(join(tmpdir(), "autonous-heads-"));
  try {
    await copyTree(backup, partial, (name) => name !== MANIFEST);
    putHeads(then, manifest, realpathSync(partial));
    await check(partial, { heads: then, clock: place.clock });
    const gone = whatIsLost(manifest, { ...place, state_dir });
    await recordRestore(partial, {
      heads: then,
      clock: place.clock,
      entry: { backup, made_at: manifest.made_at, ...gone },
    });
    if (existsSync(state_dir)) rmSync(state_dir, { recursive: true }); // empty, see above
    renameSync(partial, state_dir);
    syncFolder(dirname(state_dir));
    await moveHeads(manifest, { ...place, state_dir }, gone.lost);
    const { made_at, runs, records } = manifest;
    const lost_runs = gone.lost.map(({ run_id }) => run_id);
    return { state_dir, made_at, runs, records, lost_runs, cut_runs: gone.cut.map(({ run_id }) => run_id) };
  } finally {
    rmSync(partial, { recursive: true, force: true });
    rmSync(then, { recursive: true, force: true });
  }
}

function refuseUnlessEmpty(state_dir: string): void {
  if (!existsSync(state_dir) || readdirSync(state_dir).length === 0) return;
  throw new CannotBackUp(
    `Cannot put the backup back to "${state_dir}": something is there. Move it away first, and keep it`,
  );
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

async function check(partial: string, { heads, clock }: Omit<RestorePlace, "state_dir">): Promise<void> {
  const file = databaseFile(partial);
  const store = existsSync(file) ? await openStore({ file, clock }) : undefined;
  try {
    const { ok, problems } = await verifyState({ state_dir: partial, heads, store });
    if (ok) return;
    const [{ run_id = "", problem } = { problem: "" }] = problems;
    throw new CannotBackUp(
      `Cannot put the backup back: its record is damaged (${problems.length} problems; ${run_id}: ${problem}). "autonous audit verify <backup>" shows them`,
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
    const head = readHead(heads, run_id);
    return typeof head === "object" ? [head] : [];
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

/** From now on what was put back is what there is. */
async function moveHeads(manifest: Manifest, { state_dir, heads }: RestorePlace, lost: Gone["lost"]): Promise<void> {
  const { last } = await wholeLines(join(pruningsFolder(state_dir), "events.jsonl"));
  const chain = JSON.parse(last ?? "{}") as { run_id: string; seq: number; hash: string };
  const tails = manifest.heads.filter(([run_id]) => run_id !== chain.run_id);
  putHeads(heads, { heads: [...tails, [chain.run_id, chain.seq, chain.hash]] }, state_dir);
  for (const { run_id } of lost) removeHead(heads, run_id);
}
