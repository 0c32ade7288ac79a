import type { FileVersion, UndoRecord } from "../contract/undo.ts";

/** What a row of changes did to one file, taken together. */
export interface NetChange {
  /** As the oldest of the changes named it. */
  readonly path: string;
  /** What the file has to be now, if nobody else has changed it. */
  readonly after: FileVersion | null;
  /** What it was before the first of the changes. */
  readonly before: FileVersion | null;
  /** Somebody else changed the file between two of the changes. */
  readonly broken: boolean;
  readonly not_kept: boolean;
  /** Folders that were made for it, innermost first. */
  readonly folders: readonly string[];
}

/** The net change of each file. Records come newest first. */
export function netOf(records: readonly UndoRecord[]): readonly NetChange[] {
  const byPlace = new Map<string, NetChange>();
  for (const { files } of records) {
    for (const { path, real, before, after, not_kept, folders_made = [] } of files) {
      const later = byPlace.get(real);
      byPlace.set(real, {
        path,
        before,
        after: later === undefined ? after : later.after,
        broken: later !== undefined && (later.broken || !isSameVersion(later.before, after)),
        not_kept: not_kept === true,
        folders: [...(later?.folders ?? []), ...folders_made.toReversed()],
      });
    }
  }
  return [...byPlace.values()];
}

/** The mode does not count: it does not tell one content from another. */
function isSameVersion(one: FileVersion | null, other: FileVersion | null): boolean {
  return one?.sha256 === other?.sha256;
}
