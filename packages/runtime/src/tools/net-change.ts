import type { RestoreItem, UndoRecord } from "../contract/undo-keeper.ts";
import { isSameContent } from "../contract/versions.ts";

/** The combined effect of a series of changes on each path. Records come newest first. */
export function netOf(records: readonly UndoRecord[]): readonly RestoreItem[] {
  const byPlace = new Map<string, RestoreItem>();
  for (const { files } of records) {
    for (const { path, real, key, before, after, not_kept, unsure, folders_made = [] } of files) {
      const place = key ?? real;
      const later = byPlace.get(place);
      const doubt = unsure === true ? UNSURE : later?.doubt;
      byPlace.set(place, {
        path,
        real,
        ...(key === undefined ? {} : { key }),
        to: before,
        from: later === undefined ? after : later.from,
        not_kept: not_kept === true,
        broken: later !== undefined && (later.broken || !isSameContent(later.to, after)),
        folders: [...(later?.folders ?? []), ...folders_made.toReversed()],
        ...(doubt === undefined ? {} : { doubt }),
      });
    }
  }
  return [...byPlace.values()];
}

const UNSURE = "another command was running when it changed, and may have changed it";
