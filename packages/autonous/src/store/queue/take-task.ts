import { appendTaskEvent } from "../record/append-events.ts";
import type { Queries } from "../sqlite/database.ts";
import { endTask, requireMove } from "./end-task.ts";
import { firstReady, leaseLane, restLane } from "./lanes.ts";
import type { Lease, LeaseKey, Task } from "../store.ts";
import { endStopped, STOPPED } from "./stop-task.ts";
import { dueAt, headOf } from "./find-task.ts";
import { waitsForAnswer } from "./waiting.ts";

const START = `update inbox set state = 'in_progress', attempts = ?, started_at = coalesce(started_at, ?)
  where task_id = ?`;

/**
 * Crashes of workers during one task before it is dead-lettered as the probable cause. Counted apart from attempts: a
 * bad host is not the task's fault, and a failing task is not the host's.
 */
const MAX_CRASHES = 5;

interface Taker {
  readonly worker: string;
  readonly now: number;
}

/** Leases the lane that has waited longest and starts its head; undefined when no lane is ready. */
export async function takeNext(queries: Queries, taker: Taker): Promise<Lease | undefined> {
  for (;;) {
    const lane = await firstReady(queries, taker.now);
    if (lane === undefined) return undefined;
    const lease = await takeHead(queries, lane, taker); // undefined: the lane is no longer ready
    if (lease !== undefined) return lease;
  }
}

async function takeHead(queries: Queries, lane: LeaseKey, taker: Taker): Promise<Lease | undefined> {
  for (;;) {
    const head = await headOf(queries, lane.lane);
    if (head === undefined || dueAt(head, taker.now) > taker.now) {
      await restLane(queries, lane.lane, head?.run_at ?? null);
      return undefined;
    }
    if (head.cancel_by !== null) {
      // Its worker was lost before it could end the task; the person was told only that it is being stopped.
      await endStopped(queries, head, { by: head.cancel_by, reply: STOPPED, token: lane.token, now: taker.now });
      continue;
    }
    if (await waitsForAnswer(queries, head)) {
      await restLane(queries, lane.lane, null); // a later task made it ready; the answer will again
      return undefined;
    }
    // No worker had it while it waited, so this is not a crash.
    if (head.state === "waiting_approval") return await startTask(queries, head, taker);
    if (head.state === "queued") return await startTask(queries, { ...head, attempts: head.attempts + 1 }, taker);
    if (head.crashes < MAX_CRASHES) return await startTask(queries, head, taker);
    await giveUp(queries, head, { token: lane.token, now: taker.now });
  }
}

/** `task` already has the new number of attempts, but still its old state. */
async function startTask(queries: Queries, task: Task, { worker, now }: Taker): Promise<Lease> {
  const { task_id, lane, attempts, crashes, retries } = task;
  const resumed = task.state !== "queued";
  requireMove(task, "in_progress");
  const token = await leaseLane(queries, lane, { worker, now });
  await queries.run(START, [attempts, now, task_id]);
  const type = resumed ? "task.resumed" : "task.started";
  const payload = { worker, attempt: attempts, crashes, ...(retries > 0 ? { retries } : {}) };
  await appendTaskEvent(queries, task, { type, payload, now });
  const started: Task = { ...task, state: "in_progress", started_at: task.started_at ?? now };
  return { worker, lane, token, task: started, attempt: attempts, resumed };
}

async function giveUp(queries: Queries, task: Task, { token, now }: { token: number; now: number }): Promise<void> {
  const error = `the worker was lost ${task.crashes} times while running this task`;
  await endTask(queries, task, { outcome: "dead", error, reply: `I gave up on this task: ${error}.`, token, now });
}
