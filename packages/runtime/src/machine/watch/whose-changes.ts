import { statSync } from "node:fs";
import { parseLines } from "../files/change-log.ts";
import { isSystemError } from "../files/system-error.ts";
import { findLogs, readLog } from "../files/undo-logs.ts";
import { isFileVersion } from "../../contract/versions.ts";
import { folderOf, nameOf } from "../search/keys.ts";
import type { Interval } from "./command-turns.ts";
import type { Difference } from "./compare-looks.ts";
import type { TouchedFile } from "./touched-files.ts";
import type { TreeLook } from "./tree-entry.ts";

/** Longer than the clock for times of files stands still. */
const MARGIN_MS = 50;

interface OwnTime {
  readonly from: number;
  readonly others: readonly Interval[];
  readonly after: TreeLook;
}

/**
 * Whether a change was surely made by this command and by none of those that ran beside it: the kernel's own time of the
 * last change, which no program can set, lies where no other one ran.
 */
export function isSurelyOwn({ key, after }: Difference, own: OwnTime): boolean {
  if (own.others.length === 0) return true;
  // What was removed leaves its time in the folder that it was in; something before it may have been removed earlier.
  if (after === undefined) return isAlone(own.from, touchedAround(key, own.after), own.others);
  const touched = after.kind === "directory" ? (own.after.folders.get(key)?.facts.touched ?? 0) : after.touched;
  return isAlone(touched, touched, own.others);
}

function isAlone(from: number, to: number, others: readonly Interval[]): boolean {
  return others.every((other) => to + MARGIN_MS < other.from || from - MARGIN_MS > other.to);
}

function touchedAround(key: string, { folders }: TreeLook): number {
  for (let at = folderOf(key); at !== ""; at = folderOf(at)) {
    const folder = folders.get(at) ?? folders.get(folderOf(at))?.entries.get(nameOf(at));
    if (folder !== undefined) return "facts" in folder ? folder.facts.touched : folder.touched;
  }
  return Infinity;
}

interface LogTime {
  readonly from: number;
  readonly run_id: string;
}

/** What calls of other runs did to files since, as far as it is on record: of all processes of a state folder. */
export function changesOfOthers(state_dir: string, time: LogTime): readonly TouchedFile[] {
  try {
    return readChanges(state_dir, time);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return []; // the record cannot be read, so nothing can be put there either, and nothing is undone by it
  }
}

function readChanges(state_dir: string, { from, run_id }: LogTime): readonly TouchedFile[] {
  return findLogs(state_dir).flatMap((log): readonly TouchedFile[] => {
    const changedMs = statSync(log.path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity; // put away meanwhile
    if (changedMs < from - MARGIN_MS) return [];
    return parseLines(readLog(state_dir, log)).flatMap((line): readonly TouchedFile[] => {
      if (!("change" in line) || line.change.run_id === run_id || Date.parse(line.change.ts) < from - MARGIN_MS)
        return [];
      return line.change.files.map(({ real, after }) => [real, isFileVersion(after) ? after.sha256 : null]);
    });
  });
}
