import { appendTaskEvent } from "../record/append-events.ts";
import { withdrawAll } from "./approval-table.ts";
import type { Queries } from "../sqlite/database.ts";
import { endTask, requireMove } from "./end-task.ts";
import type { TaskEnding } from "./end-task.ts";
import { dueAt, findTask, headOf } from "./find-task.ts";
import { moveToEnd } from "./lane-chain.ts";
import { isHeld, markReady, restLane } from "./lanes.ts";
import type { Finish, Task, TaskAnswer } from "../store.ts";
import { canMove, isOver } from "./task-states.ts";

/** What people can do to a task: stop, retry or drop it. The audit log names the person. */
export interface TaskRequest {
  readonly task_id: string;
  readonly by: string;
  readonly now: number;
}

const ASK_TO_STOP = "update inbox set cancel_by = ?, cancel_at = ? where task_id = ? and cancel_by is null";

export async function cancelTask(queries: Queries, { task_id, by, now }: TaskRequest): Promise<TaskAnswer | undefined> {
  const task = await findTask(queries, task_id);
  if (task === undefined) return undefined;
  if (isOver(task.state)) return refused(task, `it has already ended: ${stateClause(task)}`);
  await queries.run(ASK_TO_STOP, [by, now, task_id]); // the first request counts
  const isWaiting = task.state === "queued" || task.state === "waiting_approval";
  if (!isWaiting && (await isHeld(queries, task.lane)))
    return { outcome: "stopping", task: await reload(queries, task) };
  const first = await headOf(queries, task.lane);
  const who = task.cancel_by ?? by;
  const reply = isAuthor(task, who) ? undefined : stoppedBy(who); // the sender sees the answer to the command
  await endStopped(queries, task, { by: who, reply, now });
  if (first?.task_id === task_id && !(await isHeld(queries, task.lane))) {
    const head = await headOf(queries, task.lane);
    await restLane(queries, task.lane, head === undefined ? null : dueAt(head, now));
  }
  return { outcome: "done", task: await reload(queries, task) };
}

function isAuthor({ source, user }: Pick<Task, "source" | "user">, by: string): boolean {
  return user !== null && by === `${source}:${user}`;
}

/** The beginning of the reply to a task that another person stopped. */
export function stoppedBy(by: string): string {
  return `Stopped by ${by}.`;
}

/** The error of a task that was stopped. */
export function stoppedError(by: string): string {
  return `stopped by ${by}`;
}

/** Before the answer of a task that finished first. */
export const FINISHED_FIRST = "The task finished before it could be stopped. Its answer:\n\n";
/** If no worker could list the changed files. */
const UNKNOWN_CHANGES = "Files may have changed.";

/** The reply to a task that was stopped while a worker had it: by whom, and how it ended. Keeps its answer or error. */
export function stoppedReply(task: Pick<Task, "source" | "user" | "cancel_by">, end?: Finish): string {
  if (end?.outcome === "done") return `${FINISHED_FIRST}${end.reply}`;
  const { cancel_by: by } = task;
  const head = by === null || isAuthor(task, by) ? "Stopped." : stoppedBy(by);
  if (end?.outcome === "cancelled") return `${head} ${end.reply ?? UNKNOWN_CHANGES}`;
  const failure = end?.outcome === "failed" || end?.outcome === "dead" ? ` The task had failed: ${end.error}` : "";
  return `${head} ${UNKNOWN_CHANGES}${failure}`;
}

/** Ends a task that was asked to stop and that no worker resumes. Withdraws its open approval requests. */
export async function endStopped(
  queries: Queries,
  task: Task,
  { by, now, ...said }: { readonly by: string; readonly now: number } & Pick<TaskEnding, "reply" | "token">,
): Promise<void> {
  await withdrawAll(queries, task.run_id, now);
  await endTask(queries, task, { outcome: "cancelled", error: stoppedError(by), details: { by }, now, ...said });
}

const FORGOTTEN = "select forgotten_at from inbox where task_id = ?";
const REQUEUE = `update inbox set state = 'queued', attempts = 0, crashes = 0, retries = retries + 1, error = null, cancel_by = null, cancel_at = null, run_at = ?, started_at = null, finished_at = null
  where task_id = ?`;

export async function retryTask(queries: Queries, { task_id, by, now }: TaskRequest): Promise<TaskAnswer | undefined> {
  const task = await findTask(queries, task_id);
  if (task === undefined) return undefined;
  if (task.state === "done") return refused(task, "it completed");
  if (!isOver(task.state)) return refused(task, `it has not ended: ${stateClause(task)}`);
  const kept = await queries.one<{ readonly forgotten_at: number | null }>(FORGOTTEN, [task_id]);
  if (kept?.forgotten_at !== null) return refused(task, "its audit log is no longer stored; send it again");
  requireMove(task, "queued");
  await markReady(queries, task.lane, now);
  await moveToEnd(queries, task);
  await queries.run(REQUEUE, [now, task_id]);
  const { source, lane, external_id, user } = task;
  const payload = { source, lane, external_id, user, by };
  await appendTaskEvent(queries, task, { type: "task.queued", payload, now });
  return { outcome: "done", task: await reload(queries, task) };
}

const DROP = "update inbox set state = 'cancelled', cancel_by = ?, cancel_at = ? where task_id = ?";

export async function dropTask(queries: Queries, { task_id, by, now }: TaskRequest): Promise<TaskAnswer | undefined> {
  const task = await findTask(queries, task_id);
  if (task === undefined) return undefined;
  if (!isOver(task.state)) return refused(task, `it has not ended: ${stateClause(task)}; cancel it instead`);
  if (!canMove(task.state, "cancelled"))
    return refused(task, `only failed and dead-lettered tasks can be dropped: ${stateClause(task)}`);
  await queries.run(DROP, [by, now, task_id]);
  const kept = await queries.one<{ readonly forgotten_at: number | null }>(FORGOTTEN, [task_id]);
  if (kept?.forgotten_at !== null) return { outcome: "done", task: await reload(queries, task) }; // its chain is closed
  const payload = { attempts: task.attempts, crashes: task.crashes, error: `dropped by ${by}`, by, dropped: true };
  await appendTaskEvent(queries, task, { type: "task.cancelled", payload, now });
  return { outcome: "done", task: await reload(queries, task) };
}

function refused(task: Task, why: string): TaskAnswer {
  return { outcome: "refused", task, why };
}

function stateClause({ state }: Task): string {
  return `its state is "${state}"`;
}

async function reload(queries: Queries, { task_id }: Task): Promise<Task> {
  const task = await findTask(queries, task_id);
  if (task === undefined) throw new Error(`Task "${task_id}" disappeared within one transaction`);
  return task;
}
