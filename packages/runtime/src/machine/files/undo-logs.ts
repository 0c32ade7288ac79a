import { readdirSync } from "node:fs";
import { join } from "node:path";
import { closedPath, parseLogName, parseLines } from "./change-log.ts";
import { stateFolders } from "../system/state-folders.ts";
import { readOwnText } from "../../own-files/read-own-file.ts";
import type { UndoRecord } from "../../contract/undo-keeper.ts";

/** A log of a current or earlier process of a state folder. */
export interface LogFile {
  readonly id: string;
  readonly path: string;
}

/** Newest first. Open logs are listed first: a log that is closed meanwhile is then found in its new folder. */
export function findLogs(state_dir: string): LogFile[] {
  const { open, closed } = stateFolders(state_dir);
  const paths = new Map<string, string>();
  for (const folder of [open, closed]) {
    for (const name of undefinedIfMissing(() => readdirSync(folder)) ?? []) {
      if (name.endsWith(".jsonl")) paths.set(parseLogName(name).id, join(folder, name));
    }
  }
  return [...paths].map(([id, path]) => ({ id, path })).sort((a, b) => (a.id < b.id ? 1 : -1));
}

export function readLog(state_dir: string, log: LogFile): string {
  return readIfExists(log.path) ?? readIfExists(closedPath(state_dir, log)) ?? "";
}

function readIfExists(path: string): string | undefined {
  return undefinedIfMissing(() => readOwnText(path));
}

function undefinedIfMissing<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** The changes in a log that were applied, completely or in part. */
export function recordsIn(text: string): UndoRecord[] {
  const records = new Map<string, UndoRecord>();
  const ended = new Set<string>();
  for (const line of parseLines(text)) {
    if ("change" in line) records.set(line.change.undo_id, line.change);
    if ("ended" in line && line.outcome !== "failed") ended.add(line.ended);
  }
  return [...records.values()].filter(({ undo_id }) => ended.has(undo_id));
}
