import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { syncFolder } from "@autonous/runtime/internal";
import { namesIn } from "./copy-tree.ts";

export interface PartialFolder {
  /** Temporary path of the folder while it is created. */
  readonly made: string;
  /** Call when the folder is complete: renames it to its final name atomically. */
  keep(): void;
}

/** Subfolder for temporary files; removed before the folder gets its final name. */
const PASSING = "passing";

export function passingFolder(made: string, name: string): string {
  return join(made, PASSING, name);
}

/**
 * Creates a folder under a temporary name. Removes it unless `keep` was called; also removes leftovers of killed
 * processes.
 */
export async function inPartial<T>(target: string, work: (partial: PartialFolder) => Promise<T>): Promise<T> {
  removeLeftovers(target);
  const made = `${target}.partial-${process.pid}`;
  mkdirSync(made, { mode: 0o700 });
  try {
    return await work({
      made,
      keep() {
        rmSync(join(made, PASSING), { recursive: true, force: true });
        renameSync(made, target);
        syncFolder(dirname(target));
      },
    });
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

function removeLeftovers(target: string): void {
  const prefix = `${basename(target)}.partial-`;
  for (const name of namesIn(dirname(target))) {
    const pid = name.startsWith(prefix) ? name.slice(prefix.length) : "";
    const isLeft = /^\d+$/.test(pid) && (pid === `${process.pid}` || !existsSync(`/proc/${pid}`));
    if (isLeft) rmSync(join(dirname(target), name), { recursive: true, force: true });
  }
}
