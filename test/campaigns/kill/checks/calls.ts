import { existsSync } from "node:fs";
import { join } from "node:path";
import { kindOf } from "../kinds.ts";
import type { CallStory, Remains } from "./found.ts";

/** These may be run again after a crash. */
const IDEMPOTENT: ReadonlySet<string> = new Set(["read", "ls", "attach"]);

/** Ended so before it could take effect. */
const NEVER_RAN: ReadonlySet<string> = new Set([
  "ApprovalDenied",
  "ApprovalExpired",
  "InvalidArguments",
  "PermissionDenied",
]);

/** No call took effect twice, without a record of its start, or against what a person said. */
export function checkCalls(found: Remains): string[] {
  const byMark = Map.groupBy(
    found.calls.filter(({ mark }) => mark !== undefined),
    ({ mark }) => mark ?? "",
  );
  const unrequested = [...found.marks.keys()].filter((mark) => !byMark.has(mark));
  return [
    ...unrequested.map((mark) => `${mark} was executed, but no recorded reply requests it`),
    ...found.calls.flatMap((call) => problemsOf(call)),
    ...[...byMark].flatMap(([mark, calls]) => checkEffects(mark, calls, found.marks.get(mark) ?? 0)),
    ...checkRemoved(found),
  ];
}

function problemsOf({ task_id, tool_call_id, name, starts, ends }: CallStory): string[] {
  const about = `The call ${tool_call_id} of ${name} (${task_id})`;
  return [
    ...(starts > 1 && !IDEMPOTENT.has(name) ? [`${about} was started ${starts} times`] : []),
    ...(ends.length > 1 ? [`${about} ended ${ends.length} times`] : []),
  ];
}

export function codeOf({ ends }: CallStory): string {
  const [end] = ends;
  if (end === undefined) return "no end";
  if (end.type === "tool_call.completed") return "ok";
  return String((end.payload["error"] as { readonly code?: unknown } | undefined)?.code);
}

/** Those that ended well ran once each; those that were cut off ran once at most; the others did not. */
function checkEffects(mark: string, calls: readonly CallStory[], ran: number): string[] {
  const least = calls.filter((call) => codeOf(call) === "ok").length;
  const most = calls.filter((call) => call.starts > 0 && !NEVER_RAN.has(codeOf(call))).length;
  if (ran >= least && ran <= most) return [];
  const ended = calls.map((call) => `${call.tool_call_id} started ${call.starts} times, ${codeOf(call)}`).join("; ");
  return [`${mark} was executed ${ran} times, not ${least === most ? least : `${least} to ${most}`}: ${ended}`];
}

/** What a person said no to is still there; what was deleted on record is gone. */
function checkRemoved({ stage, calls }: Remains): string[] {
  return calls.flatMap((call) => {
    const planned = stage.plan.byId(call.task_id);
    if (call.name !== "delete_file" || planned === undefined) return [];
    const isThere = existsSync(join(stage.world.root, "doomed", planned.task));
    const isDenied = kindOf(planned.kind).answer === "deny";
    if (isDenied && !isThere) return [`doomed/${planned.task} is gone although its deletion was denied`];
    if (codeOf(call) === "ok" && isThere)
      return [`doomed/${planned.task} exists although the record says that it was deleted`];
    return [];
  });
}
