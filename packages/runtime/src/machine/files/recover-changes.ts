import { appendFileSync, closeSync, readdirSync, renameSync, rmdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { UndoRecord } from "../../contract/undo-keeper.ts";
import { isRemovableKey, judgePlace } from "../../policy/paths/check-path.ts";
import type { Places } from "../../policy/facts.ts";
import { isFileVersion } from "../../contract/versions.ts";
import { closedPath, isDamaged, parseLines, parseLogName } from "./change-log.ts";
import type { ChangeLine, LogLine, Outcome } from "./change-log.ts";
import { finishRestore } from "./finish-restore.ts";
import { procPath } from "../system/handle.ts";
import { openContents } from "./content-reader.ts";
import { leaveLocks, ownerOf, removeLock, tryLockOnce, unlock } from "../system/lock-files.ts";
import { readPacked } from "./pack.ts";
import type { Packed } from "./pack.ts";
import { pause } from "../../protocol/pause.ts";
import { lifeOf } from "../system/process-owner.ts";
import { recoverChange } from "./recover-change.ts";
import { stateFolders } from "../system/state-folders.ts";
import { openRealFolder, sweep } from "./sweep.ts";
import { temporaryPrefix } from "../system/temporary-name.ts";
import { UndoObjects } from "./undo-objects.ts";
import { readOwnText } from "../../own-files/read-own-file.ts";

/** An interrupted change that is left alone, with the reason. */
export interface LeftChange {
  readonly undo_id: string;
  readonly run_id: string;
  readonly tool_call_id: string;
  readonly files: readonly string[];
  readonly why: string;
}

const CHANGED = "its files have changed since";
const OUTSIDE = "it reaches outside the current roots";
const DAMAGED = "its log is damaged";

export interface RecoveryResult {
  /** Number of interrupted changes that are now resolved: completed or rolled back. */
  readonly changes: number;
  readonly left: readonly LeftChange[];
}

/**
 * For logs of processes that cannot be seen: no process pauses this long during a change; a finished log can wait
 * longer.
 */
const UNSEEN_UNFINISHED_MS = 60_000;
const UNSEEN_IDLE_MS = 24 * 3_600_000;

const PAUSE_MS = 5;

/** `<id>@<owner>.jsonl`. Files with other names are ignored. */
const LOG_NAME = /^undo_[0-9a-z]+@[^/]+\.jsonl$/;

interface RecoveryPlace {
  readonly state_dir: string;
  /** The current workspace. A log is not trusted: it reflects earlier permissions, or may be forged. */
  readonly workspace: Places;
}

/**
 * Cleans up after dead processes: interrupted changes are completed or rolled back, temporary files and locks are
 * removed. Changes of live processes are not touched. Run it before the first change; with nothing to do, it costs one
 * directory listing.
 */
export async function recoverChanges(state_dir: string, workspace: Places): Promise<RecoveryResult> {
  const { open, locks } = stateFolders(state_dir);
  const recovered: RecoveryResult[] = [];
  for (const name of namesIn(open)) {
    const log = LOG_NAME.test(name) ? await recoverLog(name, { state_dir, workspace }) : undefined;
    if (log !== undefined) recovered.push(log);
  }
  if (removeDeadLocks(state_dir, workspace) || recovered.length > 0) leaveLocks(locks);
  return {
    changes: recovered.reduce((sum, { changes }) => sum + changes, 0),
    left: recovered.flatMap(({ left }) => left),
  };
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** Processes that find the same log wait for the one that recovers it, and continue only after that. */
async function recoverLog(name: string, place: RecoveryPlace): Promise<RecoveryResult | undefined> {
  const { open, locks } = stateFolders(place.state_dir);
  const path = join(open, name);
  const lock = join(locks, parseLogName(name).id);
  while (isAbandoned(path)) {
    if (tryLockOnce(lock)) {
      try {
        // Another process may have recovered it before this one got the lock.
        return isAbandoned(path) ? await recoverLocked(path, place) : undefined;
      } finally {
        unlock(lock);
      }
    }
    await pause(PAUSE_MS);
  }
  return undefined;
}

/** Whether the log's process is gone. False if the log was closed meanwhile. */
function isAbandoned(path: string): boolean {
  const life = lifeOf(parseLogName(path).owner);
  if (life === "alive") return false;
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined || life === "gone") return stats !== undefined;
  const ageMs = Date.now() - stats.mtimeMs;
  return ageMs > UNSEEN_IDLE_MS || (ageMs > UNSEEN_UNFINISHED_MS && readState(path).unfinished.length > 0);
}

interface LogState {
  readonly isDamaged: boolean;
  /** Empty, or a newline if a power loss truncated the last line, so that the next record starts on its own line. */
  readonly separator: string;
  readonly folders: readonly string[];
  readonly madeInVain: readonly string[];
  readonly packed: ReadonlyMap<string, Packed>;
  readonly unfinished: readonly ChangeLine[];
  /** Inodes of files that were restored from the store, by undo_id and path. */
  readonly rolledBack: ReadonlyMap<string, string>;
}

function readState(path: string): LogState {
  const text = readOwnText(path);
  const lines = parseLines(text);
  const ended = new Set(lines.flatMap((line) => ("ended" in line ? [line.ended] : [])));
  const recorded = new Set(lines.flatMap((line) => ("change" in line ? [line.change.undo_id] : [])));
  return {
    isDamaged: isDamaged(text),
    separator: text === "" || text.endsWith("\n") ? "" : "\n",
    folders: lines.flatMap((line) => ("folder" in line ? [line.folder] : [])),
    madeInVain: lines.flatMap((line) =>
      "making" in line && !ended.has(line.undo_id) && !recorded.has(line.undo_id) ? line.making : [],
    ),
    packed: new Map(
      lines.flatMap((line) => ("change" in line ? (line.packed ?? []) : [])).map((each) => [each.sha256, each]),
    ),
    unfinished: lines.flatMap((line) => ("change" in line && !ended.has(line.change.undo_id) ? [line] : [])),
    rolledBack: new Map(
      lines.flatMap((line) => ("put_back" in line ? [[`${line.undo_id} ${line.put_back}`, line.inode] as const] : [])),
    ),
  };
}

async function recoverLocked(path: string, { state_dir, workspace }: RecoveryPlace): Promise<RecoveryResult> {
  const log = parseLogName(path);
  const state = readState(path);
  const why = whyLeft(state, workspace);
  if (why !== undefined) return { changes: 0, left: leftOf(state, { id: log.id, why }) };
  let { separator } = state;
  const append = (line: LogLine): void => {
    appendFileSync(path, `${separator}${JSON.stringify(line)}\n`);
    separator = "";
  };
  const objects = new UndoObjects(state_dir);
  const contentOf = (sha256: string): Buffer | undefined => {
    const packed = state.packed.get(sha256);
    return (packed && readPacked(state_dir, log.id, packed)) ?? objects.read(sha256);
  };
  const prefix = temporaryPrefix(log);
  const outcomes: { readonly change: UndoRecord; readonly outcome: Outcome }[] = [];
  for (const { change, staged, restoring } of state.unfinished) {
    const outcome =
      restoring === true
        ? await finish(change, { place: { state_dir, workspace }, prefix, append })
        : await recoverChange(change, staged, { contentOf, prefix, append, rolledBack: state.rolledBack });
    outcomes.push({ change, outcome });
  }
  // Sweep after the rollback, which needs the backups, and before folders are removed, which must be empty.
  sweep(readState(path).folders, prefix);
  const failed = outcomes.filter(({ outcome }) => outcome === "failed").flatMap(({ change }) => change.files);
  removeFolders([...state.madeInVain, ...failed.flatMap(({ folders_made = [] }) => folders_made)]);
  for (const { change, outcome } of outcomes) append({ ended: change.undo_id, outcome });
  renameSync(path, closedPath(state_dir, log));
  const left = outcomes.filter(({ outcome }) => outcome === "left").map(({ change }) => describeLeft(change, CHANGED));
  return { changes: outcomes.length - left.length, left };
}

interface FinishParts {
  readonly place: RecoveryPlace;
  readonly prefix: string;
  readonly append: (line: LogLine) => void;
}

async function finish(change: UndoRecord, { place, prefix, append }: FinishParts): Promise<Outcome> {
  const hashes = new Set(change.files.flatMap(({ after }) => (isFileVersion(after) ? [after.sha256] : [])));
  const kept = openContents(place.state_dir, new UndoObjects(place.state_dir), hashes);
  let count = 0;
  // As with any other change, the folder is recorded before a temporary file is created in it.
  const temporaryName = (folder: string): string => {
    append({ folder });
    return `${prefix}${RECOVERY_NUMBER + ++count}.tmp`;
  };
  try {
    return await finishRestore(change, { places: place.workspace, kept, log: { temporaryName } });
  } finally {
    kept.close();
  }
}

/** No process creates this many temporary files, so the names cannot collide. */
const RECOVERY_NUMBER = 1_000_000_000;

function describeLeft({ undo_id, run_id, tool_call_id, files }: UndoRecord, why: string): LeftChange {
  return { undo_id, run_id, tool_call_id, files: files.map(({ real }) => real), why };
}

/**
 * Why a log may not be replayed. All or nothing: a change that is only partly inside the roots would be rolled back
 * only in part. The log stays open for a start with the roots that it belongs to.
 */
function whyLeft(state: LogState, workspace: Places): string | undefined {
  if (state.isDamaged) return DAMAGED;
  // A restore may remove a key file, but never writes one.
  const files = state.unfinished.flatMap(({ change, restoring }) =>
    change.files.filter(({ real, after }) => !(restoring && after === null && isRemovableKey(real, workspace))),
  );
  const places = [
    ...state.folders,
    ...state.madeInVain,
    ...files.flatMap(({ real, folders_made = [] }) => [real, ...folders_made]),
  ];
  return places.every((real) => judgePlace(real, workspace) === undefined) ? undefined : OUTSIDE;
}

/** A log without an unfinished change leaves only temporary files behind: nothing to report. */
function leftOf({ unfinished, isDamaged: damaged }: LogState, { id, why }: { id: string; why: string }): LeftChange[] {
  const left = unfinished.map(({ change }) => describeLeft(change, why));
  if (left.length > 0 || !damaged) return left;
  return [{ undo_id: id, run_id: "unknown", tool_call_id: "unknown", files: [], why }];
}

/** Undefined if it was closed meanwhile. */
function readIfThere(path: string): LogState | undefined {
  try {
    return readState(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Innermost first, and only if they are empty. */
function removeFolders(folders: readonly string[]): void {
  for (const folder of [...new Set(folders)].sort().reverse()) {
    const above = openRealFolder(dirname(folder));
    if (above === undefined) continue;
    try {
      rmdirSync(`${procPath(above)}/${basename(folder)}`);
    } catch {
      // Not created yet, already removed, or in use because it is not empty.
    } finally {
      closeSync(above);
    }
  }
}

/**
 * Locks stay while a log of their owner is open: the files they guard may be half changed. The logs are listed only
 * after the owner is known to be dead, so it cannot create another one. Returns whether any lock was removed.
 */
function removeDeadLocks(state_dir: string, workspace: Places): boolean {
  const { open, locks } = stateFolders(state_dir);
  const dead = namesIn(locks).flatMap((name) => {
    const path = join(locks, name);
    const owner = ownerOf(path);
    return owner !== undefined && lifeOf(owner) === "gone" ? [{ path, owner }] : [];
  });
  if (dead.length === 0) return false;
  // A log that is left alone keeps no locks, or other processes would wait forever for its files inside the roots.
  const kept = namesIn(open).filter((name) => {
    const state = LOG_NAME.test(name) ? readIfThere(join(open, name)) : undefined;
    return state !== undefined && whyLeft(state, workspace) === undefined;
  });
  const withLogs = new Set(kept.map((name) => parseLogName(name).owner));
  for (const { path, owner } of dead) if (!withLogs.has(owner)) removeLock(path, owner);
  return true;
}
