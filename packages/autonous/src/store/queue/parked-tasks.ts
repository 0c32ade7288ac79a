import { appendTaskEvent } from "../record/append-events.ts";
import type { Queries } from "../sqlite/database.ts";
import { moveTask } from "./end-task.ts";
import { markReady, restLane } from "./lanes.ts";
import type { Task } from "../store.ts";

const PENDING = "select approval_id from approvals where run_id = ? and state = 'pending' order by position";
const LANE_OF_WAITING = "select lane from inbox where run_id = ? and state = 'waiting_approval'";

/** Whether this task needs an answer before it can continue. */
export async function waitsForAnswer(queries: Queries, { run_id, state }: Task): Promise<boolean> {
  return state === "waiting_approval" && (await pendingOf(queries, run_id)).length > 0;
}

/**
 * Parks the task: it stays at the head of its lane, without a worker. If everything was answered meanwhile, it is ready
 * again at once, since no later answer would wake it.
 */
export async function parkTask(queries: Queries, task: Task, now: number): Promise<void> {
  const approval_ids = await pendingOf(queries, task.run_id);
  await moveTask(queries, task, "waiting_approval");
  await appendTaskEvent(queries, task, { type: "task.waiting_approval", payload: { approval_ids }, now });
  await restLane(queries, task.lane, approval_ids.length === 0 ? now : null);
}

/** Called in the transaction that answers or ends an approval: the task of that run may be able to continue. */
export async function wakeWaiting(queries: Queries, run_id: string, now: number): Promise<void> {
  const waiting = await queries.one<{ readonly lane: string }>(LANE_OF_WAITING, [run_id]);
  if (waiting === undefined || (await pendingOf(queries, run_id)).length > 0) return;
  await markReady(queries, waiting.lane, now);
}

async function pendingOf(queries: Queries, run_id: string): Promise<readonly string[]> {
  const rows = await queries.all<{ readonly approval_id: string }>(PENDING, [run_id]);
  return rows.map(({ approval_id }) => approval_id);
}
