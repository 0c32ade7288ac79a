import { lstatSync, readdirSync } from "node:fs";
import type { Stats } from "node:fs";
import { systemPath } from "../system/keys.ts";
import { reasonOf } from "../../protocol/error-reason.ts";
import { isTemporaryName } from "../system/temporary-name.ts";
import { joinKey } from "./tree-snapshot.ts";
import { FOLDER_BYTES } from "./tree-limits.ts";

export interface Child {
  /** One character per byte. */
  readonly name: string;
  readonly isFolder: boolean;
}

/** Undefined where nothing exists, or we may not see it. */
export function statsOf(key: string): Stats | undefined {
  try {
    return lstatSync(systemPath(key), { throwIfNoEntry: false });
  } catch {
    return undefined; // in a folder that may be listed but not entered
  }
}

/** Why an existing entry cannot be examined, as a clause. Undefined where it is gone, or can be. */
export function whyHidden(key: string): string | undefined {
  try {
    lstatSync(systemPath(key), { throwIfNoEntry: false });
    return undefined;
  } catch (error) {
    return reasonOf(error);
  }
}

/** All entries but temporary files. Throws system errors. */
export function childrenIn(key: string): readonly Child[] {
  return readdirSync(systemPath(key), { withFileTypes: true, encoding: "latin1" })
    .filter(({ name }) => !isTemporaryName(name))
    .map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() }));
}

/** Whether a folder has more entries than `limit`, at any depth. Counts names only, and stops above the limit. */
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
      // Gone, or not readable for us: reported when the folder is scanned.
    }
  }
  if (left < 0 && inode !== undefined) heavy.set(key, inode);
  return left < 0;
}
