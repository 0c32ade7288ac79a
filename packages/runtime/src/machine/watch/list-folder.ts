import { lstatSync, readdirSync } from "node:fs";
import type { Stats } from "node:fs";
import { systemPath } from "../search/keys.ts";
import { reasonOf } from "../files/system-error.ts";
import { isTemporaryName } from "../files/temporary-name.ts";
import { joinKey } from "./tree-entry.ts";
import { FOLDER_BYTES } from "./tree-limits.ts";

export interface Child {
  /** One character a byte. */
  readonly name: string;
  readonly isFolder: boolean;
}

/** Undefined where there is nothing, or nothing that we may know of. */
export function statsOf(key: string): Stats | undefined {
  try {
    return lstatSync(systemPath(key), { throwIfNoEntry: false });
  } catch {
    return undefined; // in a folder that may be listed but not entered
  }
}

/** Why something that has a name cannot be looked at, as a clause. Undefined where it is gone, or can be. */
export function whyHidden(key: string): string | undefined {
  try {
    lstatSync(systemPath(key), { throwIfNoEntry: false });
    return undefined;
  } catch (error) {
    return reasonOf(error);
  }
}

/** All but temporary files. Throws what the system says. */
export function childrenIn(key: string): readonly Child[] {
  return readdirSync(systemPath(key), { withFileTypes: true, encoding: "latin1" })
    .filter(({ name }) => !isTemporaryName(name))
    .map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() }));
}

/** Whether a folder holds more entries than `limit`, at any depth. Counts names only, and no further than it has to. */
export function isHeavy(key: string, heavy: Map<string, number>, limit: number): boolean {
  const inode = statsOf(key)?.ino;
  if (inode !== undefined && heavy.get(key) === inode) return true;
  let left = limit;
  const open = [key];
  for (let next = open.pop(); next !== undefined && left >= 0; next = open.pop()) {
    try {
      const children = (statsOf(next)?.size ?? 0) > FOLDER_BYTES ? undefined : childrenIn(next);
      left -= children?.length ?? limit + 1;
      for (const { name, isFolder } of children ?? []) if (isFolder) open.push(joinKey(next, name));
    } catch {
      // Gone, or not to be listed by us: told when it is looked into.
    }
  }
  if (left < 0 && inode !== undefined) heavy.set(key, inode);
  return left < 0;
}
