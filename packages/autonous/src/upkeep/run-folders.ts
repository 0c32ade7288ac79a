import { lstatSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { isRunId } from "@autonous/runtime";
import { Turn } from "./give-way.ts";
import { openFiles } from "./open-files.ts";

export interface RunFolder {
  readonly run_id: string;
  /** When something was last recorded; undefined where there is no record in it. */
  readonly lastMs: number | undefined;
}

/** Every folder of a run, in no order. */
export async function* runFolders(state_dir: string): AsyncIterable<RunFolder> {
  const turn = new Turn();
  for (const run_id of namesIn(join(state_dir, "runs"))) {
    await turn.giveWay();
    if (!isRunId(run_id)) continue; // not of our making
    const file = join(state_dir, "runs", run_id, "events.jsonl");
    yield { run_id, lastMs: statSync(file, { throwIfNoEntry: false })?.mtimeMs };
  }
}

/** What a folder takes, with all that is in it. */
export async function bytesBelow(path: string, turn: Turn = new Turn()): Promise<number> {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return 0;
  if (!stats.isDirectory()) return stats.blocks * 512;
  let bytes = stats.blocks * 512;
  for (const name of namesIn(path)) {
    await turn.giveWay();
    bytes += await bytesBelow(join(path, name), turn);
  }
  return bytes;
}

/** Files below a folder that other processes have open now, as far as we may look: their runs are under way. */
export function openBelow(folder: string): ReadonlySet<string> {
  const open = new Set<string>();
  for (const { path } of openFiles()) if (path.startsWith(`${folder}/`)) open.add(path);
  return open;
}

/** None where there is no such folder, or it goes away meanwhile, or may not be looked into. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR" || code === "EACCES") return [];
    throw error;
  }
}
