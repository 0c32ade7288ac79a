import { makeId, makeTraceId } from "@autonous/runtime/internal";
import { appendEvents, appendTaskEvent } from "../record/append-events.ts";
import type { Database, Queries } from "../sqlite/database.ts";
import { endTask, moveTask, requeueTask, requireMove } from "./end-task.ts";
import { expireOverdue } from "./approval-table.ts";
import { NEWEST_OF, setNewest } from "./lane-chain.ts";
import {
  beat,
  bringForward,
  freeWorker,
  knowWorker,
  markReady,
  nextReadyAt,
  requireLease,
  restLane,
  silentWorkers,
  firstReady,
  leaseLane,
} from "./lanes.ts";
import type { Finish, Inbox, IngestResult, Lease, Message, Task, LeaseKey } from "../store.ts";
import type { WorkingState } from "./task-states.ts";
import { endStopped, stoppedReply } from "./stop-task.ts";
import { dueAt, findTask, headOf } from "./find-task.ts";
import { KNOWN } from "./revisions.ts";
import { parkTask, waitsForAnswer } from "./parked-tasks.ts";

const INSERT = `insert into inbox
  (task_id, run_id, trace_id, source, external_id, lane, "user", text, skill, origin, files, undoes, state, run_at, created_at, previous)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'queued', ?, ?, (${NEWEST_OF})) returning position`;

export function createInbox(database: Database, clock: () => number): Inbox {
  return {
    ingest: (message) => database.transaction("queue a message", (queries) => ingest(queries, message, clock())),
    claim: (worker, slots) =>
      database.transaction("claim tasks from the queue", (queries) => claim(queries, { worker, slots, now: clock() })),
    setState: (lease, state) => {
      const doing = `move task "${lease.task.task_id}" to "${state}"`;
      return database.transaction(doing, (queries) => setState(queries, lease, { state, doing }));
    },
    finish: (lease, end) => {
      const doing = `finish task "${lease.task.task_id}" (${end.outcome})`;
      return database.transaction(doing, (queries) => finish(queries, lease, { end, doing, now: clock() }));
    },
    heartbeat: (worker, held) =>
      database.transaction("record a heartbeat", (queries) => beat(queries, { worker, held, now: clock() })),
    releaseWorker: (worker, { blameless = false } = {}) =>
      database.transaction(`free the lanes of worker "${worker}"`, (queries) =>
        freeWorker(queries, { worker, blameless, now: clock() }),
      ),
    nextReadyAt: () => database.read("read when the next task is due", nextReadyAt),
    recover: (leaseMs) =>
      database.transaction("free the lanes of lost workers", (queries) => recover(queries, leaseMs, clock())),
  };
}

async function ingest(queries: Queries, message: Message, now: number): Promise<IngestResult> {
  const { source, external_id = null, lane, text, user = null, skill = null } = message;
  const { origin = null, files = null, undoes, run_at = now } = message;
  if (external_id !== null) {
    const known = await queries.one<{ task_id: string; run_id: string }>(KNOWN, [source, external_id]);
    if (known !== undefined) return { task_id: known.task_id, run_id: known.run_id, duplicate: true };
  }
  const task_id = makeId("task", now);
  const run_id = makeId("run", now);
  const trace_id = makeTraceId();
  await markReady(queries, lane, run_at);
  const about = [
    source,
    external_id,
    lane,
    user,
    text,
    skill,
    origin,
    files,
    undoes === undefined ? null : JSON.stringify(undoes),
  ];
  const values = [task_id, run_id, trace_id, ...about, run_at, now, lane];
  const put = await queries.one<{ readonly position: number }>(INSERT, values);
  if (put !== undefined) await setNewest(queries, lane, put.position);
  // The event does not contain the text, because messages are not redacted.
  const more = { ...(skill === null ? {} : { skill }), ...(undoes === undefined ? {} : { undoes: undoes.run_id }) };
  const payload = { source, lane, external_id, user, ...more };
  await appendTaskEvent(queries, { task_id, run_id, trace_id }, { type: "task.queued", payload, now });
  return { task_id, run_id, duplicate: false };
}

async function claim(
  queries: Queries,
  { worker, slots, now }: { worker: string; slots: number; now: number },
): Promise<readonly Lease[]> {
  await knowWorker(queries, worker, now);
  const leases: Lease[] = [];
  while (leases.length < slots) {
    const lease = await takeNext(queries, { worker, now });
    if (lease === undefined) break;
    leases.push(lease);
  }
  return leases;
}

async function heldTask(queries: Queries, lease: Lease, doing: string): Promise<Task> {
  await requireLease(queries, lease, doing);
  const task = await findTask(queries, lease.task.task_id);
  if (task === undefined) throw new Error(`Cannot ${doing}: task not found`);
  return task;
}

async function setState(
  queries: Queries,
  lease: Lease,
  { state, doing }: { state: WorkingState; doing: string },
): Promise<void> {
  const task = await heldTask(queries, lease, doing);
  // A worker that could not record because of a lock resumes under the same lease, and sets this state a second time.
  if (task.state === state) return;
  await moveTask(queries, task, state);
}

async function finish(
  queries: Queries,
  lease: Lease,
  { end, doing, now }: { end: Finish; doing: string; now: number },
): Promise<{ readonly next: Lease | undefined }> {
  const task = await heldTask(queries, lease, doing);
  if (end.events !== undefined) await appendEvents(queries, { run_id: task.run_id, drafts: end.events });
  // A stop request wins over any other outcome.
  if (task.cancel_by !== null) {
    await endStopped(queries, task, { by: task.cancel_by, reply: stoppedReply(task, end), token: lease.token, now });
  } else if (end.outcome === "parked") {
    await parkTask(queries, task, now);
  } else if (end.outcome === "retry") {
    await requeueTask(queries, task, { error: end.error, retry_at: end.retry_at, now });
  } else {
    const error = end.outcome === "done" ? null : end.error;
    const isToldChanges = end.outcome === "cancelled" && end.reply !== undefined;
    const reply = isToldChanges ? stoppedReply(task, end) : end.reply;
    await endTask(queries, task, { outcome: end.outcome, error, reply, token: lease.token, now });
  }
  if (end.outcome !== "parked" || task.cancel_by !== null) {
    const head = await headOf(queries, lease.lane);
    // Ready from now, not from the arrival of its head: a chat with a long backlog queues behind the other chats.
    await restLane(queries, lease.lane, head === undefined ? null : dueAt(head, now));
  }
  return { next: end.take_next === true ? await takeNext(queries, { worker: lease.worker, now }) : undefined };
}

async function recover(queries: Queries, leaseMs: number, now: number): Promise<number> {
  let freed = await expireOverdue(queries, now);
  for (const worker of await silentWorkers(queries, now - leaseMs))
    freed += await freeWorker(queries, { worker, blameless: false, now });
  await bringForward(queries, now);
  return freed;
}

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
async function takeNext(queries: Queries, taker: Taker): Promise<Lease | undefined> {
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
      const by = head.cancel_by;
      await endStopped(queries, head, { by, reply: stoppedReply(head), token: lane.token, now: taker.now });
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
