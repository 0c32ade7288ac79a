import { statSync } from "node:fs";
import { parseLines } from "../files/change-log.ts";
import type { LogLine } from "../files/change-log.ts";
import { isSystemError } from "../files/system-error.ts";
import { findLogs, readLog } from "../files/undo-logs.ts";
import type { UndoRecord } from "../../contract/undo.ts";
import { isFileVersion } from "../../contract/versions.ts";
import { isInside } from "../../paths/inside.ts";
import { decodeKey, folderOf, keyOf, nameOf } from "../search/keys.ts";
import type { WatchRequest } from "./command-changes.ts";
import type { Interval } from "./command-turns.ts";
import type { Difference } from "./compare-looks.ts";
import type { TouchedFile } from "./touched-files.ts";
import type { TreeEntry, TreeLook } from "./tree-entry.ts";

/** Longer than the clock for times of files stands still. */
const MARGIN_MS = 50;

export interface OwnTime {
  readonly from: number;
  /** Left out: it has just ended. Else it ran until then at least, and what changed later may be anybody's. */
  readonly until?: number;
  readonly others: readonly Interval[];
  readonly before: TreeLook;
  readonly after: TreeLook;
}

/**
 * Whether a change was surely made by this command and by none of those that ran beside it: no other one ran from its
 * start to the last change, by the kernel's own time, which no program can set. The last change alone would not do:
 * another one may have changed the same path before it, and undo would remove both.
 */
export function isSurelyOwn({ key, after }: Difference, own: OwnTime): boolean {
  if (own.others.length === 0 && own.until === undefined) return true;
  const touched = touchedAt(key, after, own);
  if (own.until !== undefined && touched > own.until + MARGIN_MS) return false;
  return own.others.every((other) => touched + MARGIN_MS < other.from || own.from - MARGIN_MS > other.to);
}

/** Where a person let a command change files that run later: what its words name, or all of it. */
export function agreedTo(
  { confirmed, opens }: Pick<WatchRequest, "confirmed" | "opens">,
  { roots }: { readonly roots: readonly string[] },
): readonly string[] {
  if (confirmed !== true || opens === undefined) return [];
  return opens.later === true ? roots : opens.paths;
}

/** Whether a change may be that of a command of another session, to which a person let it be. */
export function isAgreedElsewhere(difference: Difference, own: OwnTime): boolean {
  if (isSurelyOwn(difference, own)) return false;
  const real = decodeKey(difference.key);
  return own.others.some(({ agreed }) => agreed.some((path) => isInside(path, real)));
}

/** What was removed leaves its time in the folder that it was in; what came with a folder that was moved, in that one. */
function touchedAt(key: string, after: TreeEntry | undefined, own: OwnTime): number {
  if (after === undefined) return touchedAround(key, own.after);
  const touched = after.kind === "directory" ? (own.after.folders.get(key)?.facts.touched ?? 0) : after.touched;
  return touched >= own.from - MARGIN_MS ? touched : Math.max(touched, newestAbove(key, own));
}

/** Of the folders above, up to the first that was there before. */
function newestAbove(key: string, { before, after }: OwnTime): number {
  let newest = 0;
  for (let at = folderOf(key); at !== ""; at = folderOf(at)) {
    newest = Math.max(newest, after.folders.get(at)?.facts.touched ?? Infinity);
    if (before.folders.get(at)?.facts.inode === after.folders.get(at)?.facts.inode) break;
  }
  return newest;
}

function touchedAround(key: string, { folders }: TreeLook): number {
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
  /** Its own changes are left out; empty where those of parallel calls of the run count too. */
  readonly run_id: string;
  /** What the command began with. */
  readonly before: TreeLook;
}

/** What calls of other runs did to files since, as far as it is on record: of all processes of a state folder. */
export function changesOfOthers(state_dir: string, start: CommandStart): readonly TouchedFile[] {
  try {
    return readChanges(state_dir, start);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return []; // the record cannot be read, so nothing can be put there either, and nothing is undone by it
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
 * Whether a change on record may have been made while the command ran. Most are recorded before the first file changes,
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
