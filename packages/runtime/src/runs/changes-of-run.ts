import type { PlannedFile } from "../contract/context.ts";
import type { UndoKeeper, UndoRecord } from "../contract/undo-keeper.ts";
import { describeChanges } from "../gate/approval/change-diffs.ts";
import { ToolError } from "../protocol/errors.ts";
import type { Redactor } from "../redact/redact.ts";
import type { ChangesFilter, FileDiff } from "../options/runtime-options.ts";
import { netOf } from "../tools/net-change.ts";

interface Sources {
  readonly undo: UndoKeeper;
  readonly redactor: Redactor;
}

/** The net change of a run: its files before the run compared with now. Writes nothing. */
export async function changesOfRun(
  { undo, redactor }: Sources,
  {
    run_id,
    undo_ids,
    undone = false,
    signal = new AbortController().signal,
  }: ChangesFilter & { readonly run_id: string },
): Promise<readonly FileDiff[]> {
  const wanted = undo_ids === undefined ? undefined : new Set(undo_ids);
  const records = (await recordsOf(undo, run_id)).filter(({ undo_id }) => wanted?.has(undo_id) ?? true);
  const items = netOf(records);
  if (items.length === 0) return [];
  const planned: PlannedFile[] = [];
  // Computed as a forced undo of everything: what undo would remove is what the run added.
  const request = { run_id, tool_call_id: "", signal, recorded: () => Promise.resolve(), force: !undone };
  await undo.restore({ ...request, onPlanned: (files) => planned.push(...files) }, items);
  if (undone) return await describeChanges(planned, redactor);
  const made = planned.map(({ path, before, after }): PlannedFile => ({ path, before: after, after: before }));
  return await describeChanges(made, redactor);
}

/** A run without changes has no records. */
async function recordsOf({ undoLog }: UndoKeeper, run_id: string): Promise<readonly UndoRecord[]> {
  try {
    return await undoLog.find({ run_id });
  } catch (error) {
    const isNothing =
      error instanceof ToolError && error.code === "NotFound" && error.details?.["pruned_at"] === undefined;
    if (isNothing) return [];
    throw error;
  }
}
