import { appendFileSync, closeSync, readdirSync, renameSync, rmdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { UndoRecord } from "../../contract/undo.ts";
import { isRemovableKey, judgePlace } from "../../policy/check-path.ts";
import type { Places } from "../../policy/facts.ts";
import { isFileVersion } from "../../contract/versions.ts";
import { closedPath, isUnsound, parseLines, parseLogName } from "./change-log.ts";
import type { LogLine, Outcome, StagedFacts } from "./change-log.ts";
import { finishRestore } from "./finish-restore.ts";
import { procPath } from "./handle.ts";
import { openKept } from "./kept-reader.ts";
import { leaveLocks, ownerOf, takeAway, tryLockAnew, unlock } from "./lock-files.ts";
import { readPacked } from "./pack.ts";
import type { Packed } from "./pack.ts";
import { pause } from "./pause.ts";
import { lifeOf } from "./process-owner.ts";
import { putInOrder } from "./put-in-order.ts";
import { stateFolders } from "./state-folders.ts";
import { openRealFolder, sweep } from "./sweep.ts";
import { temporaryPrefix } from "./temporary-name.ts";
import { UndoObjects } from "./undo-objects.ts";
import { readOwnText } from "../../own-files/read-own-file.ts";

/** A change that was cut short and is left as it is, with why. */
export interface LeftChange {
  readonly undo_id: string;
  readonly run_id: string;
  readonly tool_call_id: string;
  readonly files: readonly string[];
  readonly why: string;
}

const CHANGED = "others have changed its files since";
const OUTSIDE = "it reaches outside the roots of today";
const UNSOUND = "its log is damaged";

export interface Recovered {
  /** How many changes were cut short and are in order now: whole, or gone. */
  readonly changes: number;
  readonly left: readonly LeftChange[];
}

/** Logs of processes that cannot be seen: with a change under way nobody pauses as long, without one nobody is in a hurry. */
const UNSEEN_UNFINISHED_MS = 60_000;
const UNSEEN_IDLE_MS = 24 * 3_600_000;

const PAUSE_MS = 5;

/** `<id>@<owner>.jsonl`. What has another name is not ours. */
const LOG_NAME = /^undo_[0-9a-z]+@[^/]+\.jsonl$/;

interface RecoveryPlace {
  readonly state_dir: string;
  /** Judged as of today: a log says where tools were allowed then, or what somebody made up. */
  readonly workspace: Places;
}

/**
 * Puts in order what processes left that are gone: a change that was cut short becomes whole or nothing, temporary
 * files go, locks are taken away. Changes of live processes are not touched. To be done before the first change; costs
 * one look into a folder when there is nothing to do.
 */
export async function recoverChanges(state_dir: string, workspace: Places): Promise<Recovered> {
  const { open, locks } = stateFolders(state_dir);
  const recovered: Recovered[] = [];
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

/** Several who find the same log wait for the one who is at it: none goes on before it is in order. */
async function recoverLog(name: string, place: RecoveryPlace): Promise<Recovered | undefined> {
  const { open, locks } = stateFolders(place.state_dir);
  const path = join(open, name);
  const lock = join(locks, parseLogName(name).id);
  while (isLeftBehind(path)) {
    if (tryLockAnew(lock)) {
      try {
        // Somebody may have been quicker between the look and the lock.
        return isLeftBehind(path) ? await recoverLocked(path, place) : undefined;
      } finally {
        unlock(lock);
      }
    }
    await pause(PAUSE_MS, new AbortController().signal);
  }
  return undefined;
}

/** Whether nobody writes the log any more. Not so where it was put away. */
function isLeftBehind(path: string): boolean {
  const life = lifeOf(parseLogName(path).owner);
  if (life === "alive") return false;
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined || life === "gone") return stats !== undefined;
  const ageMs = Date.now() - stats.mtimeMs;
  return ageMs > UNSEEN_IDLE_MS || (ageMs > UNSEEN_UNFINISHED_MS && readState(path).unfinished.length > 0);
}

interface ChangeLine {
  readonly change: UndoRecord;
  readonly staged: readonly StagedFacts[];
  readonly restoring?: true;
}

interface LogState {
  readonly isUnsound: boolean;
  /** Nothing, or the end of a last line that a power cut took, so that the next line begins anew. */
  readonly separator: string;
  readonly folders: readonly string[];
  readonly madeInVain: readonly string[];
  readonly packed: ReadonlyMap<string, Packed>;
  readonly unfinished: readonly ChangeLine[];
  /** Inodes of files that were put back from the store, by undo_id and path. */
  readonly putBack: ReadonlyMap<string, string>;
}

function readState(path: string): LogState {
  const text = readOwnText(path);
  const lines = parseLines(text);
  const ended = new Set(lines.flatMap((line) => ("ended" in line ? [line.ended] : [])));
  const recorded = new Set(lines.flatMap((line) => ("change" in line ? [line.change.undo_id] : [])));
  return {
    isUnsound: isUnsound(text),
    separator: text === "" || text.endsWith("\n") ? "" : "\n",
    folders: lines.flatMap((line) => ("folder" in line ? [line.folder] : [])),
    madeInVain: lines.flatMap((line) =>
      "making" in line && !ended.has(line.undo_id) && !recorded.has(line.undo_id) ? line.making : [],
    ),
    packed: new Map(
      lines.flatMap((line) => ("change" in line ? (line.packed ?? []) : [])).map((each) => [each.sha256, each]),
    ),
    unfinished: lines.flatMap((line) => ("change" in line && !ended.has(line.change.undo_id) ? [line] : [])),
    putBack: new Map(
      lines.flatMap((line) => ("put_back" in line ? [[`${line.undo_id} ${line.put_back}`, line.inode] as const] : [])),
    ),
  };
}

async function recoverLocked(path: string, { state_dir, workspace }: RecoveryPlace): Promise<Recovered> {
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
        : await putInOrder(change, staged, { contentOf, prefix, append, putBack: state.putBack });
    outcomes.push({ change, outcome });
  }
  // Only now: backups are temporary files too, and temporary files keep folders from being removed.
  sweep(readState(path).folders, prefix);
  const failed = outcomes.filter(({ outcome }) => outcome === "failed").flatMap(({ change }) => change.files);
  removeFolders([...state.madeInVain, ...failed.flatMap(({ folders_made = [] }) => folders_made)]);
  for (const { change, outcome } of outcomes) append({ ended: change.undo_id, outcome });
  renameSync(path, closedPath(state_dir, log));
  const left = outcomes.filter(({ outcome }) => outcome === "left").map(({ change }) => toldOf(change, CHANGED));
  return { changes: outcomes.length - left.length, left };
}

interface Finishing {
  readonly place: RecoveryPlace;
  readonly prefix: string;
  readonly append: (line: LogLine) => void;
}

async function finish(change: UndoRecord, { place, prefix, append }: Finishing): Promise<Outcome> {
  const hashes = new Set(change.files.flatMap(({ after }) => (isFileVersion(after) ? [after.sha256] : [])));
  const kept = openKept(place.state_dir, new UndoObjects(place.state_dir), hashes);
  let count = 0;
  // Where temporary files may be is on record before one is made, as with any other change.
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

/** No process makes as many temporary files. */
const RECOVERY_NUMBER = 1_000_000_000;

function toldOf({ undo_id, run_id, tool_call_id, files }: UndoRecord, why: string): LeftChange {
  return { undo_id, run_id, tool_call_id, files: files.map(({ real }) => real), why };
}

/**
 * Why nothing of a log may be replayed. All or nothing: a change that is half inside would be put back by half. The log
 * stays where it is, for a start with the roots that it belongs to.
 */
function whyLeft(state: LogState, workspace: Places): string | undefined {
  if (state.isUnsound) return UNSOUND;
  // A restore only ever removes a key.
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

/** A log without a change under way only leaves temporary files behind: nothing to be told. */
function leftOf({ unfinished, isUnsound: damaged }: LogState, { id, why }: { id: string; why: string }): LeftChange[] {
  const told = unfinished.map(({ change }) => toldOf(change, why));
  if (told.length > 0 || !damaged) return told;
  return [{ undo_id: id, run_id: "unknown", tool_call_id: "unknown", files: [], why }];
}

/** Undefined where it was put away meanwhile. */
function readIfThere(path: string): LogState | undefined {
  try {
    return readState(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Innermost first, and only while they are empty. */
function removeFolders(folders: readonly string[]): void {
  for (const folder of [...new Set(folders)].sort().reverse()) {
    const above = openRealFolder(dirname(folder));
    if (above === undefined) continue;
    try {
      rmdirSync(`${procPath(above)}/${basename(folder)}`);
    } catch {
      // Not made yet, gone, or no longer empty and thus in use.
    } finally {
      closeSync(above);
    }
  }
}

/**
 * Locks stay as long as there is a log of their owner: what they guard may be half done. The logs are looked for when
 * the owner is known to be gone, and can make none any more. Says whether there was anything to take away.
 */
function removeDeadLocks(state_dir: string, workspace: Places): boolean {
  const { open, locks } = stateFolders(state_dir);
  const dead = namesIn(locks).flatMap((name) => {
    const path = join(locks, name);
    const owner = ownerOf(path);
    return owner !== undefined && lifeOf(owner) === "gone" ? [{ path, owner }] : [];
  });
  if (dead.length === 0) return false;
  // A log that is left as it is keeps no lock: whoever wants the files that are inside would wait for ever.
  const kept = namesIn(open).filter((name) => {
    const state = LOG_NAME.test(name) ? readIfThere(join(open, name)) : undefined;
    return state !== undefined && whyLeft(state, workspace) === undefined;
  });
  const withLogs = new Set(kept.map((name) => parseLogName(name).owner));
  for (const { path, owner } of dead) if (!withLogs.has(owner)) takeAway(path, owner);
  return true;
}
