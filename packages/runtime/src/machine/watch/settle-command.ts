import type { CommandChanges } from "../../contract/command-changes.ts";
import { pathFor, isInside } from "../../paths/inside.ts";
import type { WorkspaceContext } from "../../policy/decide.ts";
import type { RecordRequest } from "../files/external-changes.ts";
import type { FileChanger } from "../files/file-changer.ts";
import type { RevertedChange, UnapprovedChange } from "../files/revert-unapproved.ts";
import { decodeKey, keyOf } from "../system/keys.ts";
import type { WatchRequest } from "./command-watch.ts";
import { compareSnapshots } from "./compare-snapshots.ts";
import type { Difference } from "./compare-snapshots.ts";
import { describeChanges, isDoneBy } from "./describe-differences.ts";
import type { TouchedLookup } from "./describe-differences.ts";
import { describeReverted, findUnapproved, isOutOfReach, quarantineRecord } from "./find-unapproved.ts";
import type { ContentStore } from "../tree/content-store.ts";
import { findLost } from "./skipped-folders.ts";
import type { FolderFingerprints } from "./skipped-folders.ts";
import { statsOf } from "../tree/list-folder.ts";
import { bytesOf } from "./compare-snapshots.ts";
import { recordChanges, tryToRecord } from "./record-changes.ts";
import type { TreeSnapshot } from "../tree/tree-snapshot.ts";
import type { TreeLimits } from "../tree/tree-limits.ts";
import { isApprovedElsewhere, isCertainlyOwn } from "./change-authors.ts";
import type { CommandTime } from "./change-authors.ts";
import { ToolError } from "../../protocol/errors.ts";

interface SettleParts {
  readonly changer: FileChanger;
  readonly workspace: WorkspaceContext;
  readonly cwd: string;
  readonly contents: ContentStore;
  readonly limits: TreeLimits;
}

/** A finished command, with the snapshots before and after it. */
interface EndedCommand {
  readonly request: Omit<WatchRequest, "signal" | "recorded">;
  readonly before: TreeSnapshot;
  readonly after: TreeSnapshot;
  readonly leftOut: FolderFingerprints;
  readonly time: Omit<CommandTime, "before" | "after">;
  /** Changes of other calls since it began. `count` is the number of differences. */
  readonly touched: (count: number) => TouchedLookup;
  readonly overlapped: boolean;
}

export interface SettledCommand {
  readonly changes: CommandChanges;
  /** Changes that are certainly its own. */
  readonly own: readonly Difference[];
  readonly reverted: readonly RevertedChange[];
}

const MAX_LEFT_OUT = 20;

/** Reports what a command changed, sets aside what would run later, and records the rest for undo. */
export async function settleCommand(parts: SettleParts, command: EndedCommand): Promise<SettledCommand> {
  const { workspace, cwd, contents, limits } = parts;
  const { request, before, after } = command;
  const found = compareSnapshots(before, after);
  const touched = command.touched(found.entries.length);
  // Changes of another call are reported by that call.
  const reach = { request, workspace, snapshots: { before, after } };
  const differences = found.entries.filter(
    (each) => !isDoneBy(touched, decodeKey(each.key), each.after) && !isOutOfReach(each, reach),
  );
  const time = { ...command.time, before, after };
  // After a kill the next start may be hours later: changes by users meanwhile are not the command's.
  const isTheirs = (each: Difference): boolean =>
    isApprovedElsewhere(each, time) || (time.until !== undefined && !isCertainlyOwn(each, time));
  const unapproved =
    request.confirmed === true
      ? []
      : findUnapproved(differences, { ...found, before, after, ...workspace, contents: parts.contents });
  const { reverted, set_aside_id } = await quarantine(parts, request, {
    unapproved: unapproved.filter((each) => !touched.has(decodeKey(each.key)) && !isTheirs(each)),
    folders_made: found.folders_made,
  });
  const revertedKeys = new Set(reverted.map(({ entry }) => entry.key));
  const isThere = ({ key, after: now }: Difference): boolean => now?.kind !== "directory" || statsOf(key) !== undefined;
  const kept = differences.filter((each) => !revertedKeys.has(each.key) && (reverted.length === 0 || isThere(each)));
  const own = kept.filter((each) => isCertainlyOwn(each, time));
  const unsure = kept.length - own.length;
  const keeps = request.background !== true;
  const recorded = await recordChanges(parts.changer, request, {
    described: describeChanges(own, { cwd, contents, limits, keeps, workspace, touched, before, after }),
    lost: [...(await findLost(command.leftOut, after, cwd)), ...skippedRecord(unsure, time)],
  });
  const leftOut = [...after.left_out].sort(([one], [other]) => (one < other ? -1 : 1));
  const changes = {
    ...recorded,
    taken_back: reverted.map((each) =>
      describeReverted(each, { workspace, cwd, isOwn: isCertainlyOwn(each.entry, time) }),
    ),
    ...(set_aside_id === undefined ? {} : { set_aside_id }),
    left_out: leftOut.slice(0, MAX_LEFT_OUT).map(([key, why]) => ({ path: pathFor(decodeKey(key), cwd), why })),
    left_out_more: Math.max(0, leftOut.length - MAX_LEFT_OUT),
    overlapped: command.overlapped,
    ...(unsure === 0 ? {} : { unsure }),
    bytes_written: own.reduce((bytes, difference) => bytes + bytesOf(difference), 0),
  };
  return { changes, own, reverted };
}

/** Without paths: they may belong to another chat. */
function skippedRecord(count: number, { until }: Pick<CommandTime, "until">): NonNullable<RecordRequest["lost"]> {
  if (count === 0) return [];
  const when = until === undefined ? "" : "the command may have ended already, or ";
  return [{ path: ".", why: `paths skipped: ${count}; they changed when ${when}commands of other sessions ran` }];
}

interface QuarantineParts {
  readonly changer: FileChanger;
  readonly workspace: WorkspaceContext;
  readonly cwd: string;
  readonly contents: ContentStore;
}

interface UnapprovedChanges {
  readonly unapproved: readonly UnapprovedChange[];
  /** Keys of folders that are new. */
  readonly folders_made: readonly string[];
}

interface QuarantineResult {
  readonly reverted: readonly RevertedChange[];
  /** Undo with this ID restores the files. */
  readonly set_aside_id?: string | undefined;
}

/**
 * Removes a file that would run later, or restores its previous state, after its bytes were stored: undo restores them
 * for their author, who may have been a user and not the command.
 */
async function quarantine(
  parts: QuarantineParts,
  { run_id, tool_call_id }: { readonly run_id: string; readonly tool_call_id: string },
  { unapproved, folders_made }: UnapprovedChanges,
): Promise<QuarantineResult> {
  if (unapproved.length === 0) return { reverted: [] };
  const kept = unapproved.flatMap((each) => quarantineRecord(each, parts.cwd, parts.contents));
  const { undo_id, files } = await tryToRecord(parts.changer, { run_id, tool_call_id, set_aside: true }, kept);
  const safe = new Set(files.map(({ key, real }) => key ?? keyOf(real)));
  const isLost = ({ key, after }: UnapprovedChange): boolean =>
    after.place === "later" && after.kind !== "directory" && !safe.has(key);
  const lost = unapproved.filter(isLost).map((entry) => ({
    entry,
    outcome: "stays" as const,
    problem: "its content could not be stored, so it was not removed",
  }));
  const reverted = await tryToRevert(parts, { folders_made, unapproved: unapproved.filter((each) => !isLost(each)) });
  return { reverted: [...reverted, ...lost], set_aside_id: undo_id };
}

async function tryToRevert(
  parts: QuarantineParts,
  { unapproved, folders_made }: UnapprovedChanges,
): Promise<readonly RevertedChange[]> {
  if (unapproved.length === 0) return [];
  const { changer, workspace, contents } = parts;
  const rootOf = (key: string): string => innermost(workspace.roots, decodeKey(key));
  try {
    return await changer.revertUnapproved(unapproved, { contents, folders_made, rootOf });
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    return unapproved.map((entry) => ({ entry, outcome: "stays", problem: error.message }));
  }
}

function innermost(roots: readonly string[], real: string): string {
  return roots
    .filter((root) => isInside(root, real))
    .reduce((one, other) => (other.length > one.length ? other : one), "/");
}
