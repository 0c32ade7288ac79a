import type { CommandChanges } from "../../contract/command-changes.ts";
import { pathFor, isInside } from "../../paths/inside.ts";
import type { WorkspaceContext } from "../../policy/decide.ts";
import type { RecordRequest } from "../files/external-changes.ts";
import type { FileChanger } from "../files/file-changer.ts";
import type { TakenBack, Intruder } from "../files/take-back.ts";
import { decodeKey, keyOf } from "../system/keys.ts";
import type { WatchRequest } from "./command-changes.ts";
import { compareLooks } from "./compare-looks.ts";
import type { Difference } from "./compare-looks.ts";
import { describeChanges, isDoneBy } from "./describe-changes.ts";
import type { Touched } from "./describe-changes.ts";
import { describeTaken, findIntruders, isOutOfReach, setAsideOf } from "./find-intruders.ts";
import type { KeptContents } from "../tree/kept-contents.ts";
import { findLost } from "./left-out.ts";
import type { LeftOutMarks } from "./left-out.ts";
import { statsOf } from "../tree/list-folder.ts";
import { bytesOf } from "./look-contents.ts";
import { recordChanges, tryToRecord } from "./record-changes.ts";
import type { TreeLook } from "../tree/tree-entry.ts";
import type { TreeLimits } from "../tree/tree-limits.ts";
import { isAgreedElsewhere, isSurelyOwn } from "./whose-changes.ts";
import type { OwnTime } from "./whose-changes.ts";
import { ToolError } from "../../protocol/errors.ts";

interface SettleParts {
  readonly changer: FileChanger;
  readonly workspace: WorkspaceContext;
  readonly cwd: string;
  readonly contents: KeptContents;
  readonly limits: TreeLimits;
}

/** A finished command, with the looks before and after it. */
interface EndedCommand {
  readonly request: Omit<WatchRequest, "signal" | "recorded">;
  readonly before: TreeLook;
  readonly after: TreeLook;
  readonly leftOut: LeftOutMarks;
  readonly time: Omit<OwnTime, "before" | "after">;
  /** Changes of other calls since it began. `count` is the number of differences. */
  readonly touched: (count: number) => Touched;
  readonly overlapped: boolean;
}

export interface Settled {
  readonly changes: CommandChanges;
  /** Changes that are certainly its own. */
  readonly own: readonly Difference[];
  readonly taken: readonly TakenBack[];
}

const MAX_LEFT_OUT = 20;

/** Reports what a command changed, sets aside what would run later, and records the rest for undo. */
export async function settleCommand(parts: SettleParts, command: EndedCommand): Promise<Settled> {
  const { workspace, cwd, contents, limits } = parts;
  const { request, before, after } = command;
  const found = compareLooks(before, after);
  const touched = command.touched(found.entries.length);
  // Changes of another call are reported by that call.
  const reach = { request, workspace, looks: { before, after } };
  const differences = found.entries.filter(
    (each) => !isDoneBy(touched, decodeKey(each.key), each.after) && !isOutOfReach(each, reach),
  );
  const time = { ...command.time, before, after };
  // After a kill the next start may be hours later: changes by users meanwhile are not the command's.
  const isTheirs = (each: Difference): boolean =>
    isAgreedElsewhere(each, time) || (time.until !== undefined && !isSurelyOwn(each, time));
  const intruders =
    request.confirmed === true
      ? []
      : findIntruders(differences, { ...found, before, after, ...workspace, contents: parts.contents });
  const { taken, set_aside_id } = await setAside(parts, request, {
    intruders: intruders.filter((each) => !touched.has(decodeKey(each.key)) && !isTheirs(each)),
    folders_made: found.folders_made,
  });
  const takenKeys = new Set(taken.map(({ intruder }) => intruder.key));
  const isThere = ({ key, after: now }: Difference): boolean => now?.kind !== "directory" || statsOf(key) !== undefined;
  const kept = differences.filter((each) => !takenKeys.has(each.key) && (taken.length === 0 || isThere(each)));
  const own = kept.filter((each) => isSurelyOwn(each, time));
  const unsure = kept.length - own.length;
  const keeps = request.background !== true;
  const told = await recordChanges(parts.changer, request, {
    described: describeChanges(own, { cwd, contents, limits, keeps, workspace, touched, before, after }),
    lost: [...(await findLost(command.leftOut, after, cwd)), ...leftAlone(unsure, time)],
  });
  const leftOut = [...after.left_out].sort(([one], [other]) => (one < other ? -1 : 1));
  const changes = {
    ...told,
    taken_back: taken.map((each) => describeTaken(each, { workspace, cwd, isOwn: isSurelyOwn(each.intruder, time) })),
    ...(set_aside_id === undefined ? {} : { set_aside_id }),
    left_out: leftOut.slice(0, MAX_LEFT_OUT).map(([key, why]) => ({ path: pathFor(decodeKey(key), cwd), why })),
    left_out_more: Math.max(0, leftOut.length - MAX_LEFT_OUT),
    overlapped: command.overlapped,
    ...(unsure === 0 ? {} : { unsure }),
    bytes_written: own.reduce((bytes, difference) => bytes + bytesOf(difference), 0),
  };
  return { changes, own, taken };
}

/** Without paths: they may belong to another chat. */
function leftAlone(count: number, { until }: Pick<OwnTime, "until">): NonNullable<RecordRequest["lost"]> {
  if (count === 0) return [];
  const when = until === undefined ? "" : "the command may have ended already, or ";
  return [{ path: ".", why: `paths skipped: ${count}; they changed when ${when}commands of other sessions ran` }];
}

interface SetAsideParts {
  readonly changer: FileChanger;
  readonly workspace: WorkspaceContext;
  readonly cwd: string;
  readonly contents: KeptContents;
}

interface Found {
  readonly intruders: readonly Intruder[];
  /** Keys of folders that are new. */
  readonly folders_made: readonly string[];
}

interface SetAside {
  readonly taken: readonly TakenBack[];
  /** Undo with this ID restores the files. */
  readonly set_aside_id?: string | undefined;
}

/**
 * Removes a file that would run later, or restores its previous state, after its bytes were stored: undo restores them
 * for their author, who may have been a user and not the command.
 */
async function setAside(
  parts: SetAsideParts,
  { run_id, tool_call_id }: { readonly run_id: string; readonly tool_call_id: string },
  { intruders, folders_made }: Found,
): Promise<SetAside> {
  if (intruders.length === 0) return { taken: [] };
  const kept = intruders.flatMap((each) => setAsideOf(each, parts.cwd, parts.contents));
  const { undo_id, files } = await tryToRecord(parts.changer, { run_id, tool_call_id, set_aside: true }, kept);
  const safe = new Set(files.map(({ key, real }) => key ?? keyOf(real)));
  const isLost = ({ key, after }: Intruder): boolean =>
    after.place === "later" && after.kind !== "directory" && !safe.has(key);
  const lost = intruders.filter(isLost).map((intruder) => ({
    intruder,
    outcome: "stays" as const,
    problem: "its content could not be stored, so it was not removed",
  }));
  const taken = await takeBack(parts, { folders_made, intruders: intruders.filter((each) => !isLost(each)) });
  return { taken: [...taken, ...lost], set_aside_id: undo_id };
}

async function takeBack(parts: SetAsideParts, { intruders, folders_made }: Found): Promise<readonly TakenBack[]> {
  if (intruders.length === 0) return [];
  const { changer, workspace, contents } = parts;
  const rootOf = (key: string): string => innermost(workspace.roots, decodeKey(key));
  try {
    return await changer.takeBack(intruders, { contents, folders_made, rootOf });
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    return intruders.map((intruder) => ({ intruder, outcome: "stays", problem: error.message }));
  }
}

function innermost(roots: readonly string[], real: string): string {
  return roots
    .filter((root) => isInside(root, real))
    .reduce((one, other) => (other.length > one.length ? other : one), "/");
}
