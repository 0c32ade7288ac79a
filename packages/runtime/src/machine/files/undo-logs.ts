import { readdirSync } from "node:fs";
import { join } from "node:path";
import { closedPath, parseLogName } from "./change-log.ts";
import { stateFolders } from "../system/state-folders.ts";
import { readOwnText } from "../../own-files/read-own-file.ts";

/** A log of a current or earlier process of a state folder. */
export interface FoundLog {
  readonly id: string;
  readonly path: string;
}

/** Newest first. Open logs are listed first: a log that is closed meanwhile is then found in its new folder. */
export function findLogs(state_dir: string): FoundLog[] {
  const { open, closed } = stateFolders(state_dir);
  const paths = new Map<string, string>();
  for (const folder of [open, closed]) {
    for (const name of orNothing(() => readdirSync(folder)) ?? []) {
      if (name.endsWith(".jsonl")) paths.set(parseLogName(name).id, join(folder, name));
    }
  }
  return [...paths].map(([id, path]) => ({ id, path })).sort((a, b) => (a.id < b.id ? 1 : -1));
}

export function readLog(state_dir: string, log: FoundLog): string {
  return readIfThere(log.path) ?? readIfThere(closedPath(state_dir, log)) ?? "";
}

function readIfThere(path: string): string | undefined {
  return orNothing(() => readOwnText(path));
}

function orNothing<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
