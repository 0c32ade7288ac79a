import { statSync } from "node:fs";
import { parseLines } from "../files/change-log.ts";
import type { LogLine } from "../files/change-log.ts";
import { isSystemError } from "../system/system-error.ts";
import { findLogs, readLog } from "../files/undo-logs.ts";
import type { UndoRecord } from "../../contract/undo-keeper.ts";
import { isFileVersion } from "../../contract/versions.ts";
import { isInside } from "../../paths/inside.ts";
import { decodeKey, folderOf, keyOf, nameOf } from "../system/keys.ts";
import type { WatchRequest } from "./command-watch.ts";
import type { Interval } from "./command-turns.ts";
import type { Difference } from "./compare-snapshots.ts";
import type { TouchedFile } from "./touched-files.ts";
import type { TreeEntry, TreeSnapshot } from "../tree/tree-snapshot.ts";

/** Longer than one tick of the clock for file times. */
const MARGIN_MS = 50;

export interface CommandTime {
  readonly from: number;
  /** Undefined if it has just ended. Else it ran at least until then; later changes have no certain author. */
  readonly until?: number;
  readonly others: readonly Interval[];
  readonly before: TreeSnapshot;
  readonly after: TreeSnapshot;
}

/**
 * Whether a change was certainly made by this command and by no parallel one: no other command ran between its start and
 * the last change, by ctime, which no program can set. Checking only the moment of the last change is not enough:
 * another command may have changed the same path earlier, and undo would revert both.
 */
export function isCertainlyOwn({ key, after }: Difference, own: CommandTime): boolean {
  if (own.others.length === 0 && own.until === undefined) return true;
  const touched = touchedAt(key, after, own);
  if (own.until !== undefined && touched > own.until + MARGIN_MS) return false;
  return own.others.every((other) => touched + MARGIN_MS < other.from || own.from - MARGIN_MS > other.to);
}

/** Where a user allowed a command to change run-later files: the paths that it names, or everywhere. */
export function approvedPaths(
  { confirmed, opens }: Pick<WatchRequest, "confirmed" | "opens">,
  { roots }: { readonly roots: readonly string[] },
): readonly string[] {
  if (confirmed !== true || opens === undefined) return [];
  return opens.later === true ? roots : opens.paths;
}

/** Whether a command of another session, with a user's approval, may have made the change. */
export function isApprovedElsewhere(difference: Difference, own: CommandTime): boolean {
  if (isCertainlyOwn(difference, own)) return false;
  const real = decodeKey(difference.key);
  return own.others.some(({ agreed }) => agreed.some((path) => isInside(path, real)));
}

/** A removal shows in the ctime of the folder; a file that came with a moved folder, in the ctime of that folder. */
function touchedAt(key: string, after: TreeEntry | undefined, own: CommandTime): number {
  if (after === undefined) return touchedAround(key, own.after);
  const touched = after.kind === "directory" ? (own.after.folders.get(key)?.facts.touched ?? 0) : after.touched;
  if (touched >= own.from) return touched;
  // Within the margin it may be a new file, or an older one in a folder that was moved: only new folders count then.
  return Math.max(touched, newestAbove(key, own, { onlyNew: touched >= own.from - MARGIN_MS }));
}

/** Newest ctime of the parent folders that are new at their path, and of the first one that existed before. */
function newestAbove(key: string, { before, after }: CommandTime, { onlyNew }: { readonly onlyNew: boolean }): number {
  let newest = 0;
  for (let at = folderOf(key); at !== ""; at = folderOf(at)) {
    const isNew = before.folders.get(at)?.facts.inode !== after.folders.get(at)?.facts.inode;
    if (isNew || !onlyNew) newest = Math.max(newest, after.folders.get(at)?.facts.touched ?? Infinity);
    if (!isNew) break;
  }
  return newest;
}

function touchedAround(key: string, { folders }: TreeSnapshot): number {
  for (let at = folderOf(key); at !== ""; at = folderOf(at)) {
    const folder = folders.get(at) ?? folders.get(folderOf(at))?.entries.get(nameOf(at));
    if (folder !== undefined) return "facts" in folder ? folder.facts.touched : folder.touched;
  }
  return Infinity;
}

type ChangeLine = Extract<LogLine, { readonly change: UndoRecord }>;
type UndoFile = UndoRecord["files"][number];

interface CommandStart {
  readonly from: number;
  /** Changes of this run are left out; empty to include those of parallel calls of the run. */
  readonly run_id: string;
  /** The snapshot before the command. */
  readonly before: TreeSnapshot;
}

/** Recorded changes of calls of other runs since then, of all processes that share the state folder. */
export function changesOfOthers(state_dir: string, start: CommandStart): readonly TouchedFile[] {
  try {
    return readChanges(state_dir, start);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return []; // the undo log is unreadable, so nothing can be recorded in it and nothing will be undone
  }
}

function readChanges(state_dir: string, start: CommandStart): readonly TouchedFile[] {
  return findLogs(state_dir).flatMap((log): readonly TouchedFile[] => {
    const changedMs = statSync(log.path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity; // archived meanwhile
    if (changedMs < start.from - MARGIN_MS) return [];
    return parseLines(readLog(state_dir, log)).flatMap((line): readonly TouchedFile[] => {
      if (!("change" in line) || line.change.run_id === start.run_id) return [];
      return line.change.files
        .filter((file) => isSince(file, line, start))
        .map(({ real, after }) => [real, isFileVersion(after) ? after.sha256 : null]);
    });
  });
}

/**
 * Whether a recorded change may have been made while the command ran. Most are recorded before the first file changes,
 * so one from just before the command is over only if the command began with what the change left. Without that check a
 * command that follows a call within the margin could not be undone.
 */
function isSince({ real, key, after }: UndoFile, line: ChangeLine, { from, before }: CommandStart): boolean {
  const recordedMs = Date.parse(line.change.ts);
  if (recordedMs >= from) return true;
  if (recordedMs < from - MARGIN_MS || "ended" in line) return false; // the latter were recorded when done
  const at = key ?? keyOf(real);
  const folder = before.folders.get(folderOf(at));
  const entry = folder?.entries.get(nameOf(at));
  if (after === null) return folder === undefined || entry !== undefined;
  return !isFileVersion(after) || entry?.sha256 !== after.sha256;
}
