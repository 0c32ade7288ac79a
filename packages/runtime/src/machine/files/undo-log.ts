import type { UndoLog, UndoRecord, UndoTarget } from "../../contract/undo-keeper.ts";
import { ToolError } from "../../protocol/errors.ts";
import { openContents } from "./content-reader.ts";
import { findPruned } from "./prune-undo.ts";
import type { PrunedRecord } from "./prune-undo.ts";
import { findLogs, readLog } from "./undo-logs.ts";
import type { UndoObjects } from "./undo-objects.ts";
import { recordsIn } from "./undo-logs.ts";

/** Reads the logs of all current and earlier processes of a state folder. */
export function createUndoLog(state_dir: string, objects: UndoObjects): UndoLog {
  return {
    // oxlint-disable-next-line typescript/require-await -- see docs/decisions/0004
    async find(target) {
      const records = findRecords(state_dir, target);
      const [name, id] = "undo_id" in target ? ["undo_id", target.undo_id] : ["run_id", target.run_id];
      // A run with pruned changes is not undone in part; its remaining changes can be undone one at a time.
      const pruned = records.length > 0 && "undo_id" in target ? [] : findPruned(state_dir, id);
      if (pruned.length > 0) throw prunedError(id, pruned, records);
      if (records.length > 0) return records;
      throw new ToolError("NotFound", `Cannot undo "${id}": the undo log has no change with this ${name}`, {
        [name]: id,
        hint: "Pass the undo_id from the result of the call that made the change, or a run id.",
      });
    },
    content(sha256) {
      const kept = openContents(state_dir, objects, new Set([sha256]));
      try {
        return Promise.resolve(kept.read(sha256));
      } finally {
        kept.close();
      }
    },
  };
}

function prunedError(id: string, pruned: readonly PrunedRecord[], kept: readonly UndoRecord[]): ToolError {
  const [{ pruned_at, setting, ts, paths, files }] = pruned as readonly [PrunedRecord];
  const more = files > paths.length ? ` and ${files - paths.length} more` : "";
  const what = paths.length === 0 ? "no paths recorded" : `${paths.map((path) => `"${path}"`).join(", ")}${more}`;
  const which =
    pruned.length === 1 && kept.length === 0
      ? `it was made on ${ts} (${what}) and was`
      : `${pruned.length} of its ${pruned.length + kept.length} changes, the last one on ${ts} (${what}), were`;
  const message = `Cannot undo "${id}": ${which} pruned on ${pruned_at} by ${setting}`;
  const still = kept.map(({ undo_id }) => undo_id);
  return new ToolError("NotFound", message, {
    pruned_at,
    setting,
    paths,
    ...(still.length === 0 ? {} : { still_kept: still }),
    hint:
      still.length === 0
        ? "Changes are kept for AUTONOUS_KEEP_UNDO_DAYS; look for the old content elsewhere, such as in version control."
        : `The remaining changes can be undone one by one, newest first: ${still.join(", ")}.`,
  });
}

function findRecords(state_dir: string, target: UndoTarget): UndoRecord[] {
  const records = new Map<string, UndoRecord>();
  const id = "undo_id" in target ? target.undo_id : target.run_id;
  for (const log of findLogs(state_dir)) {
    // Ids sort by time, and the id of a log is older than all ids in it.
    if ("undo_id" in target && log.id > id) continue;
    const text = readLog(state_dir, log);
    if (!text.includes(JSON.stringify(id))) continue;
    for (const record of recordsIn(text)) {
      if (("undo_id" in target ? record.undo_id : record.run_id) === id) records.set(record.undo_id, record);
    }
    if ("undo_id" in target && records.size > 0) break;
  }
  return [...records.values()].sort((a, b) => (a.undo_id < b.undo_id ? 1 : -1));
}
