import { runsLater } from "../../policy/check-path.ts";
import type { GitPlaces } from "../../policy/facts.ts";
import { decodeKey, folderOf, nameOf } from "../search/keys.ts";
import type { Difference } from "./compare-looks.ts";
import { joinKey } from "./tree-entry.ts";
import type { Facts, TreeEntry, TreeLook } from "./tree-entry.ts";

/** Two looks, and the roots that they looked at. */
export interface Looks {
  readonly before: TreeLook;
  readonly after: TreeLook;
  readonly roots: readonly string[];
  readonly git_places?: GitPlaces;
}

/**
 * Tells what was moved from what was made. A file that is closed to every tool was never kept, so one that was only
 * moved must not be removed. A file that runs later counts as moved only where it went with a whole folder around its
 * place: a hook that changes its repository is a new hook.
 */
export function findMoved({ before, after, roots }: Looks): (difference: Difference) => boolean {
  let folders: ReadonlyMap<number, string> | undefined;
  let closed: ReadonlyMap<number, TreeEntry> | undefined;

  function wentWithFolder(key: string, now: TreeEntry): boolean {
    folders ??= new Map([...before.folders].map(([each, { facts }]) => [facts.inode, each]));
    for (let folder = folderOf(key); folder !== ""; folder = folderOf(folder)) {
      const origin = folders.get(after.folders.get(folder)?.facts.inode ?? -1);
      if (origin === undefined || after.folders.has(origin)) continue;
      const below = key.slice(folder.length + 1);
      const oldFolder = folderOf(below) === "" ? origin : joinKey(origin, folderOf(below));
      const old = before.folders.get(oldFolder)?.entries.get(nameOf(below));
      // What meant nothing where it was, among packages, is new where it means something.
      const isMoved = isSameFile(old, now) && old?.place === now.place;
      if (isMoved && runsLater(joinKey(roots[0] ?? "/", decodeKey(below)), { roots }) !== undefined) return true;
    }
    return false;
  }

  return ({ key, after: now }) => {
    if (now === undefined) return false;
    if (now.place !== "sensitive") return wentWithFolder(key, now);
    closed ??= closedBefore(before, after);
    return isSameFile(closed.get(now.inode), now);
  };
}

export function isSameFile(old: Facts | undefined, now: Facts): boolean {
  return old?.inode === now.inode && old.size === now.size && old.modified === now.modified && old.kind === now.kind;
}

/** Files by inode that are closed to every tool and are not where they were. */
export function closedBefore(before: TreeLook, after: TreeLook): ReadonlyMap<number, TreeEntry> {
  const found = new Map<number, TreeEntry>();
  for (const [key, { entries }] of before.folders) {
    for (const [name, entry] of entries) {
      const isGone = entry.place === "sensitive" && after.folders.get(key)?.entries.has(name) !== true;
      if (isGone) found.set(entry.inode, entry);
    }
  }
  return found;
}
