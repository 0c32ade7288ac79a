import type { Difference } from "./compare-looks.ts";
import { holdSame } from "../tree/tree-entry.ts";
import type { TreeEntry, TreeLook } from "../tree/tree-entry.ts";

export function bytesOf({ before, after }: Difference): number {
  if (after?.kind !== "file") return 0;
  return holdSame(before, after) ? 0 : after.size;
}

export function laterContents(look: TreeLook): Iterable<string> {
  return contentsIn(look, ({ place }) => place === "later");
}

export function* contentsIn(
  { folders }: TreeLook,
  isWanted: (entry: TreeEntry) => boolean = () => true,
): Iterable<string> {
  for (const { entries } of folders.values()) {
    for (const entry of entries.values()) if (entry.sha256 !== undefined && isWanted(entry)) yield entry.sha256;
  }
}
