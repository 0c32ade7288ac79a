import { kindOf } from "../kinds.ts";
import { answerOf } from "../model.ts";
import type { TaskRow } from "../record.ts";
import type { PlannedTask } from "../task-plan.ts";
import { isAnswerSent } from "./found.ts";
import type { Remains } from "./found.ts";

/** Every accepted task is over, was answered, and the answer was sent. */
export function checkAnswers(found: Remains): string[] {
  const tasks = new Map(found.tasks.map((task) => [task.task_id, task]));
  const known = new Set(found.stage.plan.all.map(({ task_id }) => task_id));
  return [
    ...found.tasks
      .filter(({ task_id }) => !known.has(task_id))
      .map(({ task_id }) => `Task ${task_id} belongs to no request: it was accepted twice`),
    ...found.stage.plan.all.flatMap((planned) => checkPlanned(found, planned, tasks.get(planned.task_id ?? ""))),
    ...found.outbox
      .filter(({ sent_at }) => sent_at === null)
      .map(({ id, task_id }) => `Reply ${id} of ${task_id} was not sent`),
  ];
}

const ENDS: ReadonlySet<string> = new Set(["task.completed", "task.failed", "task.dead_lettered"]);

function checkPlanned(found: Remains, planned: PlannedTask, task: TaskRow | undefined): string[] {
  const about = `Task ${planned.task} (${planned.kind}, ${planned.task_id ?? "not accepted"})`;
  if (task === undefined) return [`${about} was accepted and lost`];
  const mayBe = kindOf(planned.kind).fate === "stop" ? ["done", "cancelled"] : ["done"];
  if (!mayBe.includes(task.state))
    return [`${about} ended as ${task.state} (${task.error ?? "no error"}), not ${mayBe.join(" or ")}`];
  const events = found.eventsOf.get(task.task_id) ?? [];
  const ended = events.filter(({ type }) => ENDS.has(type)).length;
  const replies = found.outbox.filter(({ task_id, kind }) => task_id === task.task_id && kind === "text");
  const sent = events.filter(isAnswerSent).length;
  const cancelled = events.filter(({ type }) => type === "task.cancelled").length;
  const problems: string[] = [];
  if (replies.length < ended || replies.length > ended + cancelled)
    problems.push(`${about} ended ${ended} times, was cancelled ${cancelled} times and has ${replies.length} replies`);
  if (sent !== replies.length)
    problems.push(`${about} has ${replies.length} replies, and ${sent} were recorded as sent`);
  const last = replies.at(-1)?.body ?? "";
  if (task.state === "done" && found.stage.model !== undefined && last !== answerOf(planned))
    problems.push(`${about} was answered ${JSON.stringify(last)}`);
  return problems;
}
