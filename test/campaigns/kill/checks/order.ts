import type { PlacedEvent } from "../record.ts";
import type { PlannedTask } from "../task-plan.ts";
import { isAnswerSent } from "./found.ts";
import type { Remains } from "./found.ts";

const OVER: ReadonlySet<string> = new Set(["task.completed", "task.failed", "task.dead_lettered", "task.cancelled"]);

/** The tasks of a chat ran one at a time and in the order in which they were taken in, and so went out their replies. */
export function checkOrder(found: Remains): string[] {
  const lanes = new Map(found.tasks.map(({ task_id, lane }) => [task_id, lane]));
  const byLane = Map.groupBy(
    found.events.filter(({ task_id }) => lanes.has(task_id ?? "")),
    ({ task_id }) => lanes.get(task_id ?? "") ?? "",
  );
  return [
    ...[...byLane].flatMap(([lane, events]) => [...followLane(lane, events), ...checkReplies(lane, events)]),
    ...found.stage.plan.all.flatMap((planned) => checkDelay(found, planned)),
  ];
}

/** Goes over the record of a lane as a queue: who stands in it, and who has their turn. */
function followLane(lane: string, events: readonly PlacedEvent[]): string[] {
  const problems: string[] = [];
  const queue: string[] = [];
  let current: string | undefined;
  for (const { type, task_id: id, position } of events) {
    const task = id ?? "";
    if (type === "task.queued") queue.push(task);
    if (type === "task.started" || type === "task.resumed") {
      const next = current ?? queue[0];
      if (next !== task)
        problems.push(
          `Lane ${lane}, event ${position}: ${task} ${type === "task.started" ? "started" : "resumed"} when the next task was ${next ?? "none"}`,
        );
      if (queue[0] === task) queue.shift();
      current = task;
    }
    if (OVER.has(type)) {
      if (current === task) current = undefined;
      if (queue.includes(task)) queue.splice(queue.indexOf(task), 1);
    }
  }
  if (queue.length > 0 || current !== undefined)
    problems.push(`Lane ${lane}: ${current ?? queue.join(", ")} did not finish`);
  return problems;
}

/** A delayed task did not start early. Telegram has no way to set a delay. */
function checkDelay({ eventsOf }: Remains, { task, task_id, run_at, isSaid }: PlannedTask): string[] {
  const began = eventsOf.get(task_id ?? "")?.find(({ type }) => type === "task.started")?.ts;
  if (run_at === undefined || isSaid === true || began === undefined || began >= run_at) return [];
  return [`Task ${task} was due at ${run_at}, but started at ${began}`];
}

/** Replies are sent in the order in which their tasks ended. */
function checkReplies(lane: string, events: readonly PlacedEvent[]): string[] {
  const ended = events.filter(({ type }) => OVER.has(type)).map(({ task_id }) => task_id);
  const sent = events.filter(isAnswerSent).map(({ task_id }) => task_id);
  let at = 0;
  for (const task of sent) {
    const found = ended.indexOf(task, at);
    if (found === -1) return [`Lane ${lane}: the reply of ${task} was sent out of turn`];
    at = found;
  }
  return [];
}
