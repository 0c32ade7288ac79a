import { folderOf } from "../search/keys.ts";
import { joinKey } from "./tree-entry.ts";
import type { TreeEntry, TreeLook } from "./tree-entry.ts";

/** One thing that is not as it was. */
export interface Difference {
  /** Its real path, one character a byte. */
  readonly key: string;
  readonly before: TreeEntry | undefined;
  readonly after: TreeEntry | undefined;
}

export interface Differences {
  readonly entries: readonly Difference[];
  /** Keys of folders that are new, outermost first. */
  readonly folders_made: readonly string[];
}

/** What differs between two looks, as far as both looked. Folders count where they were not looked into. */
export function compareLooks(before: TreeLook, after: TreeLook): Differences {
  const entries: Difference[] = [];
  for (const [key, folder] of after.folders) {
    const old = before.folders.get(key)?.entries;
    for (const [name, now] of folder.entries) {
      const was = old?.get(name);
      if (was !== now && isOfNote(was, now, joinKey(key, name), after)) {
        entries.push({ key: joinKey(key, name), before: was, after: now });
      }
    }
  }
  for (const [key, folder] of before.folders) {
    const now = after.folders.get(key)?.entries;
    if (now === undefined && isLeftOut(key, after)) continue;
    for (const [name, was] of folder.entries) {
      const entry = joinKey(key, name);
      const isFolderLookedInto = was.kind === "directory" && before.folders.has(entry);
      if (now?.has(name) !== true && !isFolderLookedInto) entries.push({ key: entry, before: was, after: undefined });
    }
  }
  entries.sort((one, other) => (one.key < other.key ? -1 : 1));
  const folders_made = [...after.folders.keys()].filter((key) => !before.folders.has(key)).sort();
  return { entries, folders_made };
}

function isLeftOut(key: string, { left_out }: TreeLook): boolean {
  if (left_out.size === 0) return false;
  for (let each = key; each !== ""; each = folderOf(each)) if (left_out.has(each)) return true;
  return false;
}

/** A folder counts where what is in it is not told, or where it took the place of something else. */
function isOfNote(was: TreeEntry | undefined, now: TreeEntry, key: string, after: TreeLook): boolean {
  if (now.kind === "directory") {
    return was === undefined ? now.place === "sensitive" || !after.folders.has(key) : was.kind !== "directory";
  }
  return was === undefined || isChanged(was, now);
}

function isChanged(was: TreeEntry, now: TreeEntry): boolean {
  if (was.kind !== now.kind) return true;
  if (now.kind === "link") return was.target !== now.target;
  if (now.kind !== "file") return was.inode !== now.inode;
  // Without both contents the times have to do, and they differ: it is another object.
  return was.mode !== now.mode || was.sha256 === undefined || was.sha256 !== now.sha256;
}
