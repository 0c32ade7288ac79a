import type { UndoRecord } from "../../contract/undo.ts";
import { parseLines } from "./change-log.ts";

/** The changes in a log that were applied, completely or in part. */
export function recordsIn(text: string): UndoRecord[] {
  const records = new Map<string, UndoRecord>();
  const ended = new Set<string>();
  for (const line of parseLines(text)) {
    if ("change" in line) records.set(line.change.undo_id, line.change);
    if ("ended" in line && line.outcome !== "failed") ended.add(line.ended);
  }
  return [...records.values()].filter(({ undo_id }) => ended.has(undo_id));
}
