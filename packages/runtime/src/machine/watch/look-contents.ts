import type { Difference } from "./compare-snapshots.ts";
import { haveSameContent } from "../tree/tree-snapshot.ts";
import type { TreeEntry, TreeSnapshot } from "../tree/tree-snapshot.ts";

export function bytesOf({ before, after }: Difference): number {
  if (after?.kind !== "file") return 0;
  return haveSameContent(before, after) ? 0 : after.size;
}

export function laterContents(look: TreeSnapshot): Iterable<string> {
  return contentsIn(look, ({ place }) => place === "later");
}

export function* contentsIn(
  { folders }: TreeSnapshot,
  isWanted: (entry: TreeEntry) => boolean = () => true,
): Iterable<string> {
  for (const { entries } of folders.values()) {
    for (const entry of entries.values()) if (entry.sha256 !== undefined && isWanted(entry)) yield entry.sha256;
  }
}
