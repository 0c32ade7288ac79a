import { interruptedEnd } from "@autonous/runtime/internal";
import type { RuntimeEvent } from "@autonous/runtime";
import { appendEvents, appendTaskEvent } from "../record/append-events.ts";
import type { Queries } from "../sqlite/database.ts";
import { rememberExchange } from "./history.ts";
import { putReply } from "./outbox.ts";
import type { Task } from "../store.ts";
import { canMove } from "./task-states.ts";
import type { TaskState } from "./task-states.ts";

const MOVE = "update inbox set state = ? where task_id = ?";
const END = "update inbox set state = ?, error = ?, finished_at = ? where task_id = ?";
const PUT_BACK = "update inbox set state = 'queued', error = ?, run_at = ? where task_id = ?";

/** How a task can end: the states that it goes through, and the event that is recorded. */
// oxfmt-ignore
const ENDS = {
  done:      { by: ["reply_sent", "done"], type: "task.completed" },
  failed:    { by: ["failed"],             type: "task.failed" },
  dead:      { by: ["dead_letter"],        type: "task.dead_lettered" },
  cancelled: { by: ["cancelled"],          type: "task.cancelled" },
} as const;

export interface TaskEnding {
  readonly outcome: keyof typeof ENDS;
  readonly error: string | null;
  readonly reply?: string | undefined;
  /** Token of the lease under which it ends; part of the reply's dedupe key. */
  readonly token?: number;
  /** Additional payload of its last event: who stopped it. */
  readonly details?: Readonly<Record<string, unknown>>;
  readonly now: number;
}

/** A transition that the state table does not have is a bug of the caller. */
export function requireMove({ task_id, state }: Pick<Task, "task_id" | "state">, to: TaskState): void {
  if (!canMove(state, to)) throw new Error(`Cannot move task "${task_id}" from "${state}" to "${to}"`);
}

export async function moveTask(queries: Queries, task: Task, to: TaskState): Promise<void> {
  requireMove(task, to);
  await queries.run(MOVE, [to, task.task_id]);
}

/** Ends a task for good: stores its reply, its last event and its messages together. */
export async function endTask(queries: Queries, task: Task, ending: TaskEnding): Promise<void> {
  const { outcome, error, reply, token = 0, details, now } = ending;
  const { by, type } = ENDS[outcome];
  let { state } = task;
  for (const next of by) {
    if (next === state) continue;
    requireMove({ task_id: task.task_id, state }, next);
    state = next;
  }
  await endOpenCalls(queries, task, now);
  if (reply !== undefined) await putReply(queries, task, { body: reply, token, now });
  const { attempts, crashes } = task;
  const payload = { attempts, crashes, ...(error === null ? {} : { error }), ...details };
  await appendTaskEvent(queries, task, { type, payload, now });
  await rememberExchange(queries, task, { reply, now });
  await queries.run(END, [state, error, now, task.task_id]);
}

interface Retry {
  readonly error: string;
  readonly retry_at: number;
  readonly now: number;
}

/** The task stays at the head of its lane, so the order is kept. */
export async function requeueTask(queries: Queries, task: Task, { error, retry_at, now }: Retry): Promise<void> {
  requireMove(task, "queued");
  const payload = { attempts: task.attempts, error, retry_at: new Date(retry_at).toISOString() };
  await appendTaskEvent(queries, task, { type: "task.retry_scheduled", payload, now });
  await queries.run(PUT_BACK, [error, retry_at, task.task_id]);
}

const OPEN = "select id from tool_calls where run_id = ? and status = 'running' order by started_at, id";
/** Calls that never started. A retry of the task requests its calls again. */
const FORGET_QUEUED = "delete from tool_calls where run_id = ? and status = 'queued'";
const STARTED = `select event_id, seq, ts, type, trace_id, task_id, run_id, parent_id, payload, prev_hash, hash from events
  where run_id = ? and type = 'tool_call.started'
    and case when json_valid(payload) then json_extract(payload, '$.tool_call_id') end = ? order by seq desc limit 1`;

/** An ended task leaves no call open: calls that were running when their worker was lost end as `Interrupted`. */
async function endOpenCalls(queries: Queries, { run_id }: Pick<Task, "run_id">, now: number): Promise<void> {
  await queries.run(FORGET_QUEUED, [run_id]);
  const open = await queries.all<{ readonly id: string }>(OPEN, [run_id]);
  for (const { id } of open) {
    const row = await queries.one<Omit<RuntimeEvent, "payload"> & { readonly payload: string }>(STARTED, [run_id, id]);
    if (row === undefined) continue; // `audit verify` reports the missing start
    const started = { ...row, payload: JSON.parse(row.payload) as RuntimeEvent["payload"] };
    await appendEvents(queries, { run_id, drafts: [interruptedEnd({ started, tool: undefined, now })] });
  }
}
