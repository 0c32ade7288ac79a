import { folderOf } from "../search/keys.ts";
import { findHardLinks } from "./hard-links.ts";
import { holdSame, joinKey } from "./tree-entry.ts";
import type { TreeEntry, TreeFolder, TreeLook } from "./tree-entry.ts";

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

/** What differs between two looks, as far as both looked: files, links, and folders with their modes. */
export function compareLooks(before: TreeLook, after: TreeLook): Differences {
  const found = new Map<string, Difference>();
  const links = { before: findHardLinks(before), after: findHardLinks(after) };
  const isLinkedAnew = (was: TreeEntry | undefined, now: TreeEntry): boolean =>
    was !== undefined &&
    was.inode !== now.inode &&
    (links.before.namesOf(was).length > 0 || links.after.namesOf(now).length > 0);
  const add = (key: string, was: TreeEntry | undefined, now: TreeEntry | undefined): void =>
    void found.set(key, { key, before: atLook(key, was, before), after: atLook(key, now, after) });
  for (const [key, folder] of after.folders) {
    const old = before.folders.get(key);
    for (const [name, now] of folder.entries) {
      const was = old?.entries.get(name);
      if (was !== now && (isOfNote(was, now) || isLinkedAnew(was, now))) add(joinKey(key, name), was, now);
    }
    if (isFolderChanged(old, folder)) found.set(key, { key, before: old && entryOf(old), after: entryOf(folder) });
  }
  for (const [key, folder] of before.folders) {
    const now = after.folders.get(key)?.entries;
    if (now === undefined && isLeftOut(key, after)) continue;
    for (const [name, was] of folder.entries) {
      if (now?.has(name) !== true) add(joinKey(key, name), was, undefined);
    }
  }
  const entries = [...found.values()].sort((one, other) => (one.key < other.key ? -1 : 1));
  const folders_made = [...after.folders.keys()].filter((key) => !before.folders.has(key)).sort();
  return { entries, folders_made };
}

/** A folder that was looked into is as it was then; its entry in the folder above does not say. */
function atLook(key: string, entry: TreeEntry | undefined, { folders }: TreeLook): TreeEntry | undefined {
  const folder = entry?.kind === "directory" ? folders.get(key) : undefined;
  return folder === undefined ? entry : entryOf(folder, entry?.place);
}

function entryOf({ facts, isYoung }: TreeFolder, place?: TreeEntry["place"]): TreeEntry {
  return { ...facts, place, isYoung, sha256: undefined, target: undefined };
}

/** New folders are found in the folder above them. */
function isFolderChanged(was: TreeFolder | undefined, now: TreeFolder): boolean {
  return was !== undefined && was.facts.mode !== now.facts.mode;
}

function isLeftOut(key: string, { left_out }: TreeLook): boolean {
  if (left_out.size === 0) return false;
  for (let each = key; each !== ""; each = folderOf(each)) if (left_out.has(each)) return true;
  return false;
}

/** A folder counts where it is new or took the place of something else. */
function isOfNote(was: TreeEntry | undefined, now: TreeEntry): boolean {
  if (now.kind === "directory") return was?.kind !== "directory";
  return was === undefined || isChanged(was, now);
}

function isChanged(was: TreeEntry, now: TreeEntry): boolean {
  if (was.kind !== now.kind) return true;
  if (now.kind === "link") return was.target !== now.target;
  if (now.kind !== "file") return was.inode !== now.inode;
  // Without both contents the times have to do, and they differ: it is another object.
  return was.mode !== now.mode || !holdSame(was, now);
}
