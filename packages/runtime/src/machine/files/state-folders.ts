import { mkdirSync, openSync } from "node:fs";
import { dirname, join } from "node:path";
import { Syncs } from "./syncs.ts";

/** Where the state folder keeps what changes of files need. Logs are small files; `open` holds those of live processes. */
export interface StateFolders {
  readonly locks: string;
  readonly objects: string;
  readonly packs: string;
  /** What processes keep while they run commands; gone when they end. */
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

/** What pruning leaves: what tells of changes that are gone, and contents that are about to go. Made when they are needed. */
export function prunedFolders(state_dir: string): { readonly pruned: string; readonly condemned: string } {
  return { pruned: join(state_dir, "undo/pruned"), condemned: join(state_dir, "undo/condemned") };
}

/** Makes the folders that are missing, so that they outlast a power cut. Done before the first change of a process. */
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
