import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { verifyAudit } from "@autonous/runtime";
import {
  isInside,
  parseEvent,
  pruningsFile,
  readHead,
  replaceHead,
  runsWithHeads,
  summarizeRun,
} from "@autonous/runtime/internal";
import type { AuditVerdict } from "@autonous/runtime";
import { Mirror } from "../queue/mirror.ts";
import { databaseFile, openStore } from "../store/open-store.ts";
import type { Store } from "../store/store.ts";
import { copyOne, copyTree, namesIn } from "./copy-tree.ts";
import type { StatePlace } from "./find-old.ts";
import { CannotBackUp, problemLine, putHeads, readManifest, writeManifest } from "./manifest.ts";
import type { Manifest } from "./manifest.ts";
import { inPartial, passingFolder } from "./partial.ts";
import { holdUpkeep } from "./prune.ts";
import { runFolders } from "./run-folders.ts";
import { verifyState } from "./verify-state.ts";
import { truncateLines, wholeLines } from "./whole-lines.ts";

/** What a backup leaves out. */
const LEFT_OUT: readonly string[] = [
  "http.token (a secret; a new one is made at the next start)",
  "logs/ (the service's own log)",
  "chat-history.jsonl (input history of the interactive chat)",
  "your own configuration ($XDG_CONFIG_HOME/autonous) and trust decisions ($XDG_STATE_HOME/autonous/trust)",
  "keys in the environment",
];

/**
 * Copied in addition to the database, the runs and the undo data. A state folder named `.agent` also contains the
 * project's config.json.
 */
const FOLDERS = ["pruned", "open-approvals"] as const;
const FILES = ["grants.json", "config.json"] as const;

/** Everything that a backup contains. Other files in a backup folder do not come from `backUp` and are not restored. */
export const BACKED_UP: readonly string[] = ["autonous.db", "runs", "undo", ...FOLDERS, ...FILES];

export interface BackupReport extends Pick<Manifest, "made_at" | "runs" | "records" | "problems" | "left_out"> {
  readonly folder: string;
}

/**
 * Makes a complete copy of a state folder, even while a service runs on it: a snapshot of the database, every run's
 * files up to that snapshot, and the undo data. The copy gets its final name after it was verified. Throws
 * `CannotBackUp`.
 */
export async function backUp(place: StatePlace, target: string): Promise<BackupReport> {
  const above = dirname(resolve(target));
  if (!existsSync(above))
    throw new CannotBackUp(`Cannot make the backup "${target}": the folder "${above}" does not exist`);
  const folder = join(realpathSync(above), basename(resolve(target)));
  if (existsSync(folder)) throw new CannotBackUp(`Cannot make the backup "${folder}": it already exists`);
  if (isInside(place.state_dir, folder))
    throw new CannotBackUp(
      `Cannot make the backup "${folder}": it is inside the state folder; choose another location`,
    );
  const release = holdUpkeep(place.state_dir);
  if (release === undefined)
    throw new CannotBackUp(
      "Cannot make a backup now: another process is pruning or making a backup. Try again in a moment",
    );
  try {
    return await inPartial(folder, async ({ made, keep }) => {
      const report = await writeBackup(place, made);
      keep();
      return { ...report, folder };
    });
  } finally {
    release();
  }
}

async function writeBackup(place: StatePlace, made: string): Promise<Omit<BackupReport, "folder">> {
  const { state_dir, heads, store, clock } = place;
  const made_at = new Date(clock()).toISOString();
  const then = passingFolder(made, "heads");
  // Read the heads before copying anything: the copied chains must reach at least these.
  for (const run_id of runsWithHeads(heads, state_dir)) {
    const head = readHead(heads, run_id, state_dir);
    if (typeof head === "object") replaceHead(then, { ...head, state_dir: made });
  }
  await store?.upkeep.backup(databaseFile(made));
  await copyFiles(state_dir, made);
  const copy = store === undefined ? undefined : await openStore({ file: databaseFile(made), clock });
  try {
    if (copy !== undefined) await levelFiles(copy, made, clock);
    const verdict = await verifyState({ state_dir: made, heads: then, store: copy });
    return await describe(made, { verdict, made_at, state_dir });
  } finally {
    await copy?.close();
  }
}

/**
 * Uses the heads in the backup's manifest: the original runs may have grown since. Does not open its database, because
 * that would change it.
 */
export async function verifyBackup(folder: string): Promise<AuditVerdict> {
  const manifest = readManifest(folder);
  const real = realpathSync(folder);
  const heads = mkdtempSync(join(tmpdir(), "autonous-heads-"));
  try {
    putHeads(heads, manifest, real);
    return await verifyAudit(real, { heads });
  } finally {
    rmSync(heads, { recursive: true, force: true });
  }
}

/** Copies references before the files that they refer to, so that the copy has no dangling reference. */
async function copyFiles(from: string, to: string): Promise<void> {
  mkdirSync(join(to, "undo", "logs"), { recursive: true, mode: 0o700 });
  // A log still being written is copied as a closed one: a change that was in progress is not part of the copy.
  for (const folder of ["open", "logs"])
    for (const name of namesIn(join(from, "undo", folder))) {
      const target = join(to, "undo", "logs", `${basename(name, ".jsonl").split("@")[0] ?? name}.jsonl`);
      if (!existsSync(target)) await copyOne(join(from, "undo", folder, name), target);
    }
  for (const folder of ["packs", "objects", "condemned", "pruned"])
    if (existsSync(join(from, "undo", folder))) await copyTree(join(from, "undo", folder), join(to, "undo", folder));
  for (const name of namesIn(join(from, "runs"))) {
    const [source, target] = [join(from, "runs", name), join(to, "runs", name)];
    mkdirSync(target, { recursive: true, mode: 0o700 });
    await copyOne(join(source, "events.jsonl"), join(target, "events.jsonl"));
    await copyTree(source, target, (each) => each !== "events.jsonl");
    await truncateLines(join(target, "events.jsonl")); // the run may have been writing
  }
  for (const folder of FOLDERS)
    if (existsSync(join(from, folder))) await copyTree(join(from, folder), join(to, folder));
  for (const name of FILES) await copyOne(join(from, name), join(to, name));
}

/** The database snapshot decides: truncates files that are ahead of it, and completes files that lag behind. */
async function levelFiles(copy: Store, state_dir: string, clock: () => number): Promise<void> {
  for await (const { run_id, lastMs } of runFolders(state_dir)) {
    if (lastMs === undefined || !(await copy.upkeep.knows(run_id))) continue;
    const last = (await copy.events.lastRows({ run_id, limit: 1 }))[0]?.seq ?? 0;
    await truncateLines(join(state_dir, "runs", run_id, "events.jsonl"), last);
  }
  const heads = passingFolder(state_dir, "level"); // temporary: the copy's heads are not kept
  // Write errors are not logged here: verifying the copy finds what is missing.
  const mirror = new Mirror({ store: copy, state_dir, heads, clock, is_copy: true, log: () => undefined });
  await mirror.catchUp();
  await mirror.save();
}

interface BackupDescription {
  readonly verdict: AuditVerdict;
  readonly made_at: string;
  readonly state_dir: string;
}

async function describe(
  partial: string,
  { verdict, made_at, state_dir }: BackupDescription,
): Promise<Omit<BackupReport, "folder">> {
  const none = join(partial, "no-heads");
  const tails: [string, number, string][] = [];
  for await (const { run_id, lastMs } of runFolders(partial)) {
    if (lastMs === undefined) continue;
    const { run } = await summarizeRun({ state_dir: partial, run_id }, { heads: none });
    tails.push([run_id, run.events, run.last_hash]);
  }
  const runs = tails.length;
  const { last } = await wholeLines(pruningsFile(partial));
  const chain = last === undefined ? undefined : parseEvent(last); // damaged: the verdict reports it
  if (chain !== undefined) tails.push([chain.run_id, chain.seq, chain.hash]);
  const problems = verdict.problems.map(problemLine);
  const report = { made_at, runs, records: verdict.records, problems, left_out: LEFT_OUT };
  writeManifest(partial, { ...report, state_dir, heads: tails });
  return report;
}
