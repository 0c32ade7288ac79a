import { closeSync, existsSync, fsyncSync, lstatSync, mkdirSync, openSync, readdirSync } from "node:fs";
import { renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { UndoRecord } from "../../contract/undo-keeper.ts";
import { closedPath } from "./change-log.ts";
import { packPath } from "./pack.ts";
import { prunedFolders, stateFolders } from "../system/state-folders.ts";
import { recordsIn } from "./undo-logs.ts";
import { readOwnText } from "../../own-files/read-own-file.ts";

/** A closed log of changes. */
export interface OldUndoLog {
  readonly id: string;
  /** Time of its last change. */
  readonly lastMs: number;
  readonly bytes: number;
}

/** Closed logs, oldest first. Excludes logs of processes that may still write. */
export function listUndoLogs(state_dir: string): readonly OldUndoLog[] {
  const names = namesIn(stateFolders(state_dir).closed).filter((name) => name.endsWith(".jsonl"));
  const logs = names.flatMap((name) => {
    const id = basename(name, ".jsonl");
    const stats = statSync(closedPath(state_dir, { id }), { throwIfNoEntry: false });
    const pack = statSync(packPath(state_dir, id), { throwIfNoEntry: false });
    return stats === undefined ? [] : [{ id, lastMs: stats.mtimeMs, bytes: stats.size + (pack?.size ?? 0) }];
  });
  return logs.sort((one, other) => one.lastMs - other.lastMs);
}

/** Bytes of large contents that a log refers to. A content shared by several logs counts for each. */
export function objectBytesOf(state_dir: string, id: string): number {
  const { objects } = stateFolders(state_dir);
  const hashes = new Set(readOrEmpty(closedPath(state_dir, { id })).match(SHA256));
  return [...hashes].reduce((sum, sha256) => {
    const stats = lstatSync(join(objects, sha256.slice(0, 2), sha256), { throwIfNoEntry: false });
    return sum + (stats?.blocks ?? 0) * 512;
  }, 0);
}

/** Number of files named in the note about a pruned change. */
const NAMED_FILES = 5;

/** The note about a change that can no longer be undone. */
interface PrunedChange {
  readonly undo_id: string;
  readonly run_id: string;
  readonly ts: string;
  readonly files: number;
  readonly paths: readonly string[];
}

interface PrunedLog {
  readonly pruned_at: string;
  readonly setting: string;
  readonly changes: readonly PrunedChange[];
}

export interface PruneUndoOptions {
  readonly now: number;
  /** The retention setting that caused it, shown when a user asks for one of its changes. */
  readonly setting: string;
}

/** Number of undoable changes in a log. */
export function countChanges(state_dir: string, id: string): number {
  return recordsIn(readOrEmpty(closedPath(state_dir, { id }))).length;
}

/**
 * Removes a closed log and its pack, and leaves a note about its changes. The note is durable before the log goes, so a
 * crash leaves the complete log or the note. Calling this again completes an interrupted removal.
 */
export function pruneUndoLog(state_dir: string, id: string, { now, setting }: PruneUndoOptions): void {
  const log = closedPath(state_dir, { id });
  const text = readOrEmpty(log);
  if (text !== "") {
    const left: PrunedLog = { pruned_at: new Date(now).toISOString(), setting, changes: recordsIn(text).map(noteOf) };
    if (left.changes.length > 0) writeNote(state_dir, id, left);
  }
  // Log first, then its pack: an existing log always has its contents.
  rmSync(log, { force: true });
  rmSync(packPath(state_dir, id), { force: true });
}

function noteOf({ undo_id, run_id, ts, files }: UndoRecord): PrunedChange {
  return { undo_id, run_id, ts, files: files.length, paths: files.slice(0, NAMED_FILES).map(({ path }) => path) };
}

function writeNote(state_dir: string, id: string, left: PrunedLog): void {
  const folder = prunedFolders(state_dir).pruned;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `${id}.json`);
  const fd = openSync(`${path}.new`, "w", 0o600);
  try {
    writeFileSync(fd, JSON.stringify(left));
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(`${path}.new`, path);
  const folderFd = openSync(folder, "r");
  try {
    fsyncSync(folderFd);
  } finally {
    closeSync(folderFd);
  }
}

export interface PrunedRecord extends PrunedChange {
  readonly pruned_at: string;
  readonly setting: string;
}

/** Pruned changes of one undo id or one run, newest first. */
export function findPruned(state_dir: string, id: string): readonly PrunedRecord[] {
  const { pruned } = prunedFolders(state_dir);
  const found = new Map<string, PrunedRecord>();
  for (const name of namesIn(pruned).filter((each) => each.endsWith(".json"))) {
    const text = readOrEmpty(join(pruned, name));
    if (!text.includes(JSON.stringify(id))) continue;
    const { pruned_at, setting, changes } = parsePruned(text);
    for (const change of changes)
      if (change.undo_id === id || change.run_id === id) found.set(change.undo_id, { ...change, pruned_at, setting });
  }
  return [...found.values()].sort((one, other) => (one.undo_id < other.undo_id ? 1 : -1));
}

/** A damaged note counts as empty: its changes become unknown, and cannot be undone either way. */
function parsePruned(text: string): PrunedLog {
  const none: PrunedLog = { pruned_at: "", setting: "", changes: [] };
  try {
    const value = Object(JSON.parse(text)) as Partial<PrunedLog>;
    return Array.isArray(value.changes) ? { ...none, ...value } : none;
  } catch (error) {
    if (error instanceof SyntaxError) return none;
    throw error;
  }
}

/** Removes notes about changes pruned before this time. Returns the number of logs. */
export function removeOldPruned(state_dir: string, beforeMs: number): number {
  const { pruned } = prunedFolders(state_dir);
  const old = namesIn(pruned).filter((name) => {
    const stats = statSync(join(pruned, name), { throwIfNoEntry: false });
    return stats !== undefined && stats.mtimeMs < beforeMs;
  });
  for (const name of old) rmSync(join(pruned, name), { force: true });
  return old.length;
}

/** A change in progress may rely on a content before it is recorded; no change takes this long. */
const CONDEMNED_MS = 24 * 3_600_000;
const SHA256 = /[0-9a-f]{64}/g;
const TURN_MS = 8;

/**
 * Removes large contents that no log refers to, in two steps a day apart. First they are moved to another folder, where
 * later changes do not find them and write their own copy. Then those that a concurrent change came to rely on are
 * moved back, and the others are removed. Returns the number of bytes freed.
 */
export async function sweepUndoObjects(state_dir: string, now: number): Promise<number> {
  const { objects } = stateFolders(state_dir);
  const { condemned } = prunedFolders(state_dir);
  const kept = namesIn(objects).filter((name) => name.length === 2);
  const there = new Map(kept.flatMap((name) => namesIn(join(objects, name)).map((sha256) => [sha256, name] as const)));
  const aside = namesIn(condemned);
  if (there.size === 0 && aside.length === 0) return 0;
  const needed = await neededAmong(state_dir, new Set([...there.keys(), ...aside]));
  mkdirSync(condemned, { recursive: true, mode: 0o700 });
  for (const sha256 of aside.filter((each) => needed.has(each))) {
    mkdirSync(join(objects, sha256.slice(0, 2)), { recursive: true, mode: 0o700 });
    renameSync(join(condemned, sha256), join(objects, sha256.slice(0, 2), sha256)); // any new copy has the same bytes
  }
  let freed = 0;
  for (const sha256 of aside.filter((each) => !needed.has(each))) {
    const path = join(condemned, sha256);
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined || now - stats.ctimeMs < CONDEMNED_MS) continue; // the move updated its ctime
    rmSync(path, { force: true });
    freed += stats.size;
  }
  for (const [sha256, name] of there) {
    if (needed.has(sha256) || aside.includes(sha256)) continue;
    renameSync(join(objects, name, sha256), join(condemned, sha256));
  }
  return freed;
}

/** The hashes that some log refers to. */
async function neededAmong(state_dir: string, hashes: ReadonlySet<string>): Promise<ReadonlySet<string>> {
  const { open, closed } = stateFolders(state_dir);
  const needed = new Set<string>();
  let turnMs = performance.now() + TURN_MS;
  // Open logs first: a log that is closed meanwhile is then found in its new folder.
  for (const folder of [open, closed])
    for (const name of namesIn(folder)) {
      for (const [sha256] of readOrEmpty(join(folder, name)).matchAll(SHA256))
        if (hashes.has(sha256)) needed.add(sha256);
      if (performance.now() < turnMs) continue;
      await new Promise(setImmediate);
      turnMs = performance.now() + TURN_MS;
    }
  return needed;
}

/** Empty if the folder does not exist yet; no process removes it. */
function namesIn(folder: string): readonly string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}

function readOrEmpty(path: string): string {
  try {
    return readOwnText(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}
