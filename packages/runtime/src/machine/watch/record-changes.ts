import type { CommandChanges } from "../../contract/command-changes.ts";
import { ToolError } from "../../protocol/errors.ts";
import type { FileChanger } from "../files/file-changer.ts";
import { CONTENT_GONE, MAX_LOST } from "../files/external-changes.ts";
import type { ExternalChange, RecordedChanges, RecordRequest } from "../files/external-changes.ts";
import { reasonOf } from "../../protocol/error-reason.ts";
import type { DescribedChange } from "./describe-differences.ts";

type Changer = Pick<FileChanger, "record">;

interface RecordableChanges {
  readonly described: readonly DescribedChange[];
  /** Other changes that undo cannot restore. */
  readonly lost: NonNullable<RecordRequest["lost"]>;
}

/** Changes that cannot be recorded are reported as not undoable: the command has run, so they must be listed. */
export async function recordChanges(
  changer: Changer,
  { run_id, tool_call_id }: Pick<RecordRequest, "run_id" | "tool_call_id">,
  { described, lost: further }: RecordableChanges,
): Promise<Pick<CommandChanges, "files" | "undo_id">> {
  const undos = described.flatMap(({ undo }) => (undo === undefined ? [] : [undo]));
  const named = described.flatMap(({ change: { path, why_not } }) =>
    why_not === undefined ? [] : [{ path, why: why_not }],
  );
  const lost = [...further, ...named];
  const request = {
    run_id,
    tool_call_id,
    by_command: true as const,
    ...(lost.length === 0 ? {} : { lost: lost.slice(0, MAX_LOST), lost_more: Math.max(0, lost.length - MAX_LOST) }),
  };
  const { undo_id, files, same, problem = CONTENT_GONE } = await tryToRecord(changer, request, undos);
  const recorded = new Set(files.map(({ real }) => real));
  const unchanged = new Set(same);
  const listed = described
    .filter(({ isListed, undo, change }) => isListed || (undo !== undefined && !recorded.has(change.real)))
    .filter(({ change }) => !unchanged.has(change.real))
    .map(({ change }) =>
      change.undoable && !recorded.has(change.real) ? { ...change, undoable: false, why_not: problem } : change,
    );
  // A record that only lists lost changes is for the undo of the run.
  return { files: listed, ...(undo_id === undefined || files.length === 0 ? {} : { undo_id }) };
}

export async function tryToRecord(
  changer: Changer,
  request: RecordRequest,
  undos: readonly ExternalChange[],
): Promise<RecordedChanges & { readonly problem?: string }> {
  if (undos.length === 0 && request.lost === undefined) return { undo_id: undefined, files: [], same: [] };
  try {
    return await changer.record(request, undos);
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    const reason = reasonOf(error.cause ?? error);
    return { undo_id: undefined, files: [], same: [], problem: `its undo data could not be stored (${reason})` };
  }
}
