import { makeId, makeTraceId } from "@autonous/runtime/internal";
import { appendEvents, appendTaskEvent } from "../record/append-events.ts";
import type { Database, Queries } from "../sqlite/database.ts";
import { endTask, moveTask, putBack } from "./end-task.ts";
import { expireOverdue } from "./approvals.ts";
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
} from "./lanes.ts";
import type { Finish, Inbox, Ingested, Lease, Message, Task } from "../store.ts";
import { takeNext } from "./take-task.ts";
import type { WorkingState } from "./task-states.ts";
import { endStopped, stoppedReply } from "./stop-task.ts";
import { dueAt, findTask, headOf } from "./find-task.ts";
import { KNOWN } from "./revisions.ts";
import { parkTask } from "./waiting.ts";

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

async function ingest(queries: Queries, message: Message, now: number): Promise<Ingested> {
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
    await endStopped(queries, task, { by: task.cancel_by, reply: stoppedReply(end), token: lease.token, now });
  } else if (end.outcome === "parked") {
    await parkTask(queries, task, now);
  } else if (end.outcome === "retry") {
    await putBack(queries, task, { error: end.error, retry_at: end.retry_at, now });
  } else {
    const error = end.outcome === "done" ? null : end.error;
    await endTask(queries, task, { outcome: end.outcome, error, reply: end.reply, token: lease.token, now });
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
