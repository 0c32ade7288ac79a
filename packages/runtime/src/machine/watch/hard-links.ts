import { joinKey } from "../tree/tree-snapshot.ts";
import type { TreeEntry, TreeSnapshot } from "../tree/tree-snapshot.ts";

/** Names of files with several hard links, in one snapshot. */
export interface HardLinks {
  /** Sorted keys of all names of a file below the roots; empty where it has only one. */
  namesOf(entry: TreeEntry): readonly string[];
}

/** Lazy: the first query for a file with several names collects the names of all such files, once. */
export function findHardLinks(snapshot: TreeSnapshot): HardLinks {
  let byInode: ReadonlyMap<string, string[]> | undefined;
  return {
    namesOf(entry) {
      if (entry.kind !== "file" || entry.links < 2) return [];
      byInode ??= groupByInode(snapshot);
      const names = byInode.get(inodeOf(entry)) ?? [];
      return names.length > 1 ? names : [];
    },
  };
}

function groupByInode({ folders }: TreeSnapshot): ReadonlyMap<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const [key, { entries }] of folders) {
    for (const [name, entry] of entries) {
      if (entry.kind !== "file" || entry.links < 2) continue;
      const id = inodeOf(entry);
      const names = groups.get(id) ?? [];
      if (names.length === 0) groups.set(id, names);
      names.push(joinKey(key, name));
    }
  }
  for (const names of groups.values()) names.sort();
  return groups;
}

/** Roots may be on several file systems, where inode numbers repeat; times and sizes tell them apart. */
function inodeOf({ inode, size, modified }: TreeEntry): string {
  return `${inode}:${size}:${modified}`;
}

/**
 * The names that a restored file is hard-linked to: one that is unchanged, and the first of all. Undefined where it had
 * no other names.
 */
export function linkedTo(
  { key, entry }: { readonly key: string; readonly entry: TreeEntry },
  { links, isStill }: { readonly links: HardLinks; readonly isStill: (key: string, entry: TreeEntry) => boolean },
): readonly string[] | undefined {
  const others = links.namesOf(entry).filter((name) => name !== key);
  if (others.length === 0) return undefined;
  const still = others.find((name) => isStill(name, entry));
  return [...new Set([...(still === undefined ? [] : [still]), ...others.slice(0, 1)])];
}
