import { lstatSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { isRunId } from "@autonous/runtime/internal";
import { openFiles } from "./open-files.ts";

export interface RunFolder {
  readonly run_id: string;
  /** When its events.jsonl was last written; undefined if the file is missing. */
  readonly lastMs: number | undefined;
}

/** The folders of all runs, unordered. */
export async function* runFolders(state_dir: string): AsyncIterable<RunFolder> {
  const turn = new Turn();
  for (const run_id of namesIn(join(state_dir, "runs"))) {
    await turn.giveWay();
    if (!isRunId(run_id)) continue; // not created by us
    const file = join(state_dir, "runs", run_id, "events.jsonl");
    yield { run_id, lastMs: statSync(file, { throwIfNoEntry: false })?.mtimeMs };
  }
}

/** Disk usage of a folder, recursively. */
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

/**
 * Files below a folder that other processes have open now, as far as our permissions let us see: their runs are active.
 */
export function openBelow(folder: string): ReadonlySet<string> {
  const open = new Set<string>();
  for (const { path } of openFiles()) if (path.startsWith(`${folder}/`)) open.add(path);
  return open;
}

/** Empty if the folder does not exist, disappears meanwhile, or is not readable. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR" || code === "EACCES") return [];
    throw error;
  }
}

const TURN_MS = 8;

/** Lets long work yield to the event loop regularly, so that the process stays responsive. */
class Turn {
  #endMs = performance.now() + TURN_MS;

  async giveWay(): Promise<void> {
    if (performance.now() < this.#endMs) return;
    await new Promise(setImmediate);
    this.#endMs = performance.now() + TURN_MS;
  }
}
