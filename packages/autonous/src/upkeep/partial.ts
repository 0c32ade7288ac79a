import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { syncFolder } from "@autonous/runtime";
import { namesIn } from "./copy-tree.ts";

export interface PartialFolder {
  /** Where the folder is made. */
  readonly made: string;
  /** It is whole: gives it its name, in one step. */
  keep(): void;
}

/** In it is what is needed while a folder is made; it is gone when the folder is kept. */
const PASSING = "passing";

export function passingFolder(made: string, name: string): string {
  return join(made, PASSING, name);
}

/** For making a folder: it has its name when it is whole, or is removed; and so is what others left that were killed. */
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
