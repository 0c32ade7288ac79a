import { runsLater } from "../../policy/paths/check-path.ts";
import type { GitPlaces } from "../../policy/facts.ts";
import { decodeKey, folderOf, nameOf } from "../system/keys.ts";
import type { Difference } from "./compare-snapshots.ts";
import { joinKey } from "../tree/tree-snapshot.ts";
import type { Facts, TreeEntry, TreeSnapshot } from "../tree/tree-snapshot.ts";

/** Two snapshots, and the roots that they scanned. */
export interface ScannedSnapshots {
  readonly before: TreeSnapshot;
  readonly after: TreeSnapshot;
  readonly roots: readonly string[];
  readonly git_places?: GitPlaces;
}

/**
 * Distinguishes moved files from new ones. The content of a file that is off limits to all tools was never stored, so a
 * file that was only moved must not be removed. A run-later file counts as moved only together with the folder that
 * gives it its meaning: a hook that was moved to another repository is a new hook.
 */
export function findMoved({ before, after, roots }: ScannedSnapshots): (difference: Difference) => boolean {
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
      // A file without meaning at its old place, among packages, is new at a place where it has one.
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

/** Files that are off limits to all tools and no longer at their old path, by inode. */
export function closedBefore(before: TreeSnapshot, after: TreeSnapshot): ReadonlyMap<number, TreeEntry> {
  const found = new Map<number, TreeEntry>();
  for (const [key, { entries }] of before.folders) {
    for (const [name, entry] of entries) {
      const isGone = entry.place === "sensitive" && after.folders.get(key)?.entries.has(name) !== true;
      if (isGone) found.set(entry.inode, entry);
    }
  }
  return found;
}
