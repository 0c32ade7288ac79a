import { mkdirSync, openSync } from "node:fs";
import { dirname, join } from "node:path";
import { Syncs } from "./syncs.ts";

/** Subfolders of the state folder for file changes. Logs are small files; `open` contains those of live processes. */
export interface StateFolders {
  readonly locks: string;
  readonly objects: string;
  readonly packs: string;
  /** Data of processes while they run commands; removed when they end. */
  readonly looks: string;
  readonly open: string;
  readonly closed: string;
}

export function stateFolders(state_dir: string): StateFolders {
  return {
    locks: join(state_dir, "locks"),
    objects: join(state_dir, "undo/objects"),
    packs: join(state_dir, "undo/packs"),
    looks: join(state_dir, "undo/looks"),
    open: join(state_dir, "undo/open"),
    closed: join(state_dir, "undo/logs"),
  };
}

/** Folders for pruning: notes about pruned changes, and contents to be removed. Created on demand. */
export function prunedFolders(state_dir: string): { readonly pruned: string; readonly condemned: string } {
  return { pruned: join(state_dir, "undo/pruned"), condemned: join(state_dir, "undo/condemned") };
}

/** Creates missing folders durably. Runs before the first change of a process. */
export function makeStateFolders(state_dir: string): void {
  const above = new Set<string>();
  for (const folder of Object.values(stateFolders(state_dir))) {
    if (mkdirSync(folder, { recursive: true, mode: 0o700 }) === undefined) continue;
    above.add(dirname(folder)).add(state_dir);
  }
  const syncs = new Syncs();
  for (const folder of above) syncs.add(openSync(folder, "r"));
  syncs.runAtOnce();
}
