import type { CommandChanges } from "../../contract/command-changes.ts";
import { pathFor } from "../../paths/inside.ts";
import type { WorkspaceContext } from "../../policy/decide.ts";
import type { RecordRequest } from "../files/record-change.ts";
import type { FileChanger } from "../files/file-changer.ts";
import type { TakenBack } from "../files/take-back.ts";
import { decodeKey } from "../system/keys.ts";
import type { WatchRequest } from "./command-changes.ts";
import { compareLooks } from "./compare-looks.ts";
import type { Difference } from "./compare-looks.ts";
import { describeChanges, isDoneBy } from "./describe-changes.ts";
import type { Touched } from "./describe-changes.ts";
import { describeTaken, findIntruders, isOutOfReach } from "./find-intruders.ts";
import type { KeptContents } from "../tree/kept-contents.ts";
import { findLost } from "./left-out.ts";
import type { LeftOutMarks } from "./left-out.ts";
import { statsOf } from "../tree/list-folder.ts";
import { bytesOf } from "./look-contents.ts";
import { recordChanges } from "./record-changes.ts";
import { setAside } from "./set-aside.ts";
import type { TreeLook } from "../tree/tree-entry.ts";
import type { TreeLimits } from "../tree/tree-limits.ts";
import { isAgreedElsewhere, isSurelyOwn } from "./whose-changes.ts";
import type { OwnTime } from "./whose-changes.ts";

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
