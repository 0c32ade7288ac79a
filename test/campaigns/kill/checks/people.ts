import { kindOf } from "../kinds.ts";
import { codeOf } from "./calls.ts";
import type { Remains } from "./found.ts";

/** What people said holds: what they stopped stays stopped, what they granted or denied is what happened. */
export function checkPeople(found: Remains): string[] {
  return [...checkStopped(found), ...checkApprovals(found)];
}

function checkStopped({ stage, eventsOf }: Remains): string[] {
  return stage.plan.all.flatMap(({ task, task_id, stopped_at, retries }) => {
    if (stopped_at === undefined || retries > 0) return [];
    const events = eventsOf.get(task_id ?? "") ?? [];
    const again = events.filter(
      ({ type, ts }) => (type === "task.started" || type === "task.resumed") && Date.parse(ts) > stopped_at,
    );
    const over = events.findIndex(({ type }) => type === "task.cancelled");
    const after = over === -1 ? [] : events.slice(over + 1).filter(({ type }) => type !== "reply.sent");
    return [
      ...again.map(({ position }) => `Task ${task} was stopped by a user and resumed (event ${position})`),
      ...after.map(({ type, position }) => `Task ${task} was cancelled, and then followed ${type} (event ${position})`),
    ];
  });
}

function checkApprovals({ stage, approvals, calls }: Remains): string[] {
  const byCall = new Map(calls.map((call) => [call.tool_call_id, call]));
  return approvals.flatMap(({ approval_id, task_id, tool_call_id, state }) => {
    const planned = stage.plan.byId(task_id);
    const call = byCall.get(tool_call_id);
    const about = `The approval ${approval_id} (${planned?.task ?? task_id})`;
    if (state === "pending") return [`${about} is still pending`];
    if (planned === undefined || call === undefined) return [`${about} belongs to no call`];
    const said = kindOf(planned.kind).answer;
    if (said === "deny" && state !== "denied") return [`${about} was denied and is ${state}`];
    if (said === "grant" && !["granted", "used", "withdrawn"].includes(state))
      return [`${about} was granted and is ${state}`];
    if (said === "deny" && (call.starts > 0 || codeOf(call) !== "ApprovalDenied"))
      return [`${about} was denied, and its call was started ${call.starts} times and ended with ${codeOf(call)}`];
    if (said === "grant" && !["ok", "Interrupted"].includes(codeOf(call)))
      return [`${about} was granted, and its call ended with ${codeOf(call)}`];
    return [];
  });
}
