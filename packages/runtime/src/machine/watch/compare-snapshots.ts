import { folderOf } from "../system/keys.ts";
import { findHardLinks } from "./hard-links.ts";
import { haveSameContent, joinKey } from "../tree/tree-snapshot.ts";
import type { TreeEntry, TreeFolder, TreeSnapshot } from "../tree/tree-snapshot.ts";

/** One changed path. */
export interface Difference {
  /** Its real path, one character per byte. */
  readonly key: string;
  readonly before: TreeEntry | undefined;
  readonly after: TreeEntry | undefined;
}

export interface Differences {
  readonly entries: readonly Difference[];
  /** Keys of folders that are new, outermost first. */
  readonly folders_made: readonly string[];
}

/** Differences between two snapshots in the paths that both covered: files, links, and folders with their modes. */
export function compareSnapshots(before: TreeSnapshot, after: TreeSnapshot): Differences {
  const found = new Map<string, Difference>();
  const links = { before: findHardLinks(before), after: findHardLinks(after) };
  const isRelinked = (was: TreeEntry | undefined, now: TreeEntry): boolean =>
    was !== undefined &&
    was.inode !== now.inode &&
    (links.before.namesOf(was).length > 0 || links.after.namesOf(now).length > 0);
  const add = (key: string, was: TreeEntry | undefined, now: TreeEntry | undefined): void =>
    void found.set(key, { key, before: atLook(key, was, before), after: atLook(key, now, after) });
  for (const [key, folder] of after.folders) {
    const old = before.folders.get(key);
    for (const [name, now] of folder.entries) {
      const was = old?.entries.get(name);
      if (was !== now && (isOfNote(was, now) || isRelinked(was, now))) add(joinKey(key, name), was, now);
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

/** The state of a scanned folder is its own; its entry in the parent folder does not have it. */
function atLook(key: string, entry: TreeEntry | undefined, { folders }: TreeSnapshot): TreeEntry | undefined {
  const folder = entry?.kind === "directory" ? folders.get(key) : undefined;
  return folder === undefined ? entry : entryOf(folder, entry?.place);
}

function entryOf({ facts, isYoung }: TreeFolder, place?: TreeEntry["place"]): TreeEntry {
  return { ...facts, place, isYoung, sha256: undefined, target: undefined };
}

/** New folders are found by their parent folder. */
function isFolderChanged(was: TreeFolder | undefined, now: TreeFolder): boolean {
  return was !== undefined && was.facts.mode !== now.facts.mode;
}

function isLeftOut(key: string, { left_out }: TreeSnapshot): boolean {
  if (left_out.size === 0) return false;
  for (let each = key; each !== ""; each = folderOf(each)) if (left_out.has(each)) return true;
  return false;
}

/** A folder counts where it is new or replaced something else. */
function isOfNote(was: TreeEntry | undefined, now: TreeEntry): boolean {
  if (now.kind === "directory") return was?.kind !== "directory";
  return was === undefined || isChanged(was, now);
}

function isChanged(was: TreeEntry, now: TreeEntry): boolean {
  if (was.kind !== now.kind) return true;
  if (now.kind === "link") return was.target !== now.target;
  if (now.kind !== "file") return was.inode !== now.inode;
  // Without both contents only the times can tell, and they differ: the entry is a new object.
  return was.mode !== now.mode || !haveSameContent(was, now);
}

export function bytesOf({ before, after }: Difference): number {
  if (after?.kind !== "file") return 0;
  return haveSameContent(before, after) ? 0 : after.size;
}

export function laterContents(snapshot: TreeSnapshot): Iterable<string> {
  return contentsIn(snapshot, ({ place }) => place === "later");
}

export function* contentsIn(
  { folders }: TreeSnapshot,
  isWanted: (entry: TreeEntry) => boolean = () => true,
): Iterable<string> {
  for (const { entries } of folders.values()) {
    for (const entry of entries.values()) if (entry.sha256 !== undefined && isWanted(entry)) yield entry.sha256;
  }
}
