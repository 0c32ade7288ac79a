import type { Queries } from "../sqlite/database.ts";
import type { Task } from "../store.ts";

export const TASK_COLUMNS = `task_id, run_id, trace_id, source, external_id, lane, "user", text, state, skill, origin, files, undoes, attempts, crashes, retries,
  error, cancel_by, run_at, created_at, started_at, finished_at`;

const BY_ID = `select ${TASK_COLUMNS} from inbox where task_id = ?`;
const HEAD = `select ${TASK_COLUMNS} from inbox where lane = ? and finished_at is null order by position limit 1`;

export function findTask(queries: Queries, task_id: string): Promise<Task | undefined> {
  return queries.one<Task>(BY_ID, [task_id]);
}

/** The first task of a lane that has not ended: the only one of the lane that may run. */
export function headOf(queries: Queries, lane: string): Promise<Task | undefined> {
  return queries.one<Task>(HEAD, [lane]);
}

/**
 * Earliest start of a task. A task without a scheduled time may start at once, even if the clock was set back since it
 * was queued.
 */
export function dueAt({ state, attempts, run_at, created_at }: Task, now: number): number {
  const hasOwnTime = state === "queued" && (attempts > 0 || run_at !== created_at);
  return hasOwnTime ? Math.max(run_at, now) : now;
}
