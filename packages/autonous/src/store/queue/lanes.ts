import type { Queries } from "../sqlite/database.ts";
import type { Beat, LeaseKey } from "../store.ts";
import { StoreError } from "../store-error.ts";

const HELD = "select 1 from lanes where lane = ? and token = ? and worker is not null";
/** A leased lane, or one whose head is scheduled, keeps its time: the head decides, not the new task. */
const MARK_READY = `insert into lanes (lane, ready_at) values (?, ?)
  on conflict (lane) do update set ready_at = coalesce(lanes.ready_at, excluded.ready_at) where lanes.worker is null`;
const FIRST_READY = `select lane, token from lanes
  where worker is null and ready_at is not null and ready_at <= ? order by ready_at, lane limit 1`;
const LEASE = `update lanes set worker = ?, token = token + 1, ready_at = null, leased_at = ? where lane = ?
  returning token`;
const REST = "update lanes set worker = null, ready_at = ? where lane = ?";
const HOLDER = "select worker from lanes where lane = ?";
/** Applies `dueAt` of the head to all lanes that wait for a future time. */
const BRING_FORWARD = `update lanes set ready_at = ?1 where worker is null and ready_at > ?1 and exists (
  select 1 from inbox where position = (select min(position) from inbox where lane = lanes.lane and finished_at is null)
  and not (state = 'queued' and (attempts > 0 or run_at <> created_at)))`;
const NEXT_READY = "select min(ready_at) as ready_at from lanes where worker is null and ready_at is not null";

const KNOW_WORKER = "insert into workers (id, beat_at) values (?, ?) on conflict (id) do nothing";
const BEAT =
  "insert into workers (id, beat_at) values (?, ?) on conflict (id) do update set beat_at = excluded.beat_at";
const LAST_BEAT = "select beat_at from workers where id = ?";
const SILENT = "select id from workers where beat_at < ?";
const FORGET = "delete from workers where id = ?";
const LANES_OF = "select lane, token, leased_at from lanes where worker = ?";
/** The running task is the first of its lane that has not ended. */
const COUNT_CRASH = `update inbox set crashes = crashes + 1 where position =
  (select min(position) from inbox where lane = ? and finished_at is null)`;
const WANTED_STOPPED = `select lanes.lane, lanes.token, inbox.cancel_by as "by" from inbox
  join lanes on lanes.lane = inbox.lane and lanes.worker = ?
  where inbox.cancel_by is not null and inbox.finished_at is null`;

/** Throws `Fenced` if the lease was lost. Every write of a worker checks this first. */
export async function requireLease(queries: Queries, { lane, token }: LeaseKey, doing: string): Promise<void> {
  if ((await queries.one(HELD, [lane, token])) !== undefined) return;
  throw new StoreError("Fenced", { doing, why: `lease ${token} on lane "${lane}" was lost` });
}

export async function markReady(queries: Queries, lane: string, at: number): Promise<void> {
  await queries.run(MARK_READY, [lane, at]);
}

/** The lane that has waited longest, with its last lease token. */
export function firstReady(queries: Queries, now: number): Promise<LeaseKey | undefined> {
  return queries.one<LeaseKey>(FIRST_READY, [now]);
}

/** Returns the new token. */
export async function leaseLane(queries: Queries, lane: string, by: { worker: string; now: number }): Promise<number> {
  const row = await queries.one<{ readonly token: number }>(LEASE, [by.worker, by.now, lane]);
  if (row === undefined) throw new Error(`Cannot lease lane "${lane}": lane not found`);
  return row.token;
}

/** Releases the lane and makes it ready at this time; null: when a task is queued in it. */
export async function restLane(queries: Queries, lane: string, readyAt: number | null): Promise<void> {
  await queries.run(REST, [readyAt, lane]);
}

/** Whether a worker is running the head of this lane. */
export async function isHeld(queries: Queries, lane: string): Promise<boolean> {
  const row = await queries.one<{ readonly worker: string | null }>(HOLDER, [lane]);
  return row !== undefined && row.worker !== null;
}

/** Makes lanes ready whose head does not have to wait, also if the clock was set back since. */
export async function bringForward(queries: Queries, now: number): Promise<void> {
  await queries.run(BRING_FORWARD, [now]);
}

export async function nextReadyAt(queries: Queries): Promise<number | null> {
  const row = await queries.one<{ readonly ready_at: number | null }>(NEXT_READY);
  return row?.ready_at ?? null;
}

export async function knowWorker(queries: Queries, worker: string, now: number): Promise<void> {
  await queries.run(KNOW_WORKER, [worker, now]);
}

interface HeldLane extends LeaseKey {
  readonly leased_at: number;
}

export async function beat(
  queries: Queries,
  { worker, held, now }: { worker: string; held: readonly LeaseKey[]; now: number },
): Promise<Beat> {
  const before = await queries.one<{ readonly beat_at: number }>(LAST_BEAT, [worker]);
  await queries.run(BEAT, [worker, now]);
  const lanes = await queries.all<HeldLane>(LANES_OF, [worker]);
  for (const lane of lanes) {
    // The answer of a claim after the last heartbeat may not have reached the worker yet.
    const known = before === undefined || lane.leased_at >= before.beat_at || isAmong(held, lane);
    if (!known) await restLane(queries, lane.lane, now); // the worker is alive, so no crash is counted
  }
  const stopped = await queries.all<Beat["cancelled"][number]>(WANTED_STOPPED, [worker]);
  return {
    lost: held.filter((lease) => !isAmong(lanes, lease)),
    cancelled: stopped.filter((lease) => isAmong(held, lease)),
  };
}

function isAmong(leases: readonly LeaseKey[], { lane, token }: LeaseKey): boolean {
  return leases.some((lease) => lease.lane === lane && lease.token === token);
}

interface ReleaseOptions {
  readonly worker: string;
  /** The worker was ended on purpose: its tasks do not count a crash. */
  readonly blameless: boolean;
  readonly now: number;
}

/** Releases all lanes of a worker that has ended; returns their number. */
export async function freeWorker(queries: Queries, { worker, blameless, now }: ReleaseOptions): Promise<number> {
  const lanes = await queries.all<HeldLane>(LANES_OF, [worker]);
  for (const { lane } of lanes) {
    if (!blameless) await queries.run(COUNT_CRASH, [lane]);
    await restLane(queries, lane, now);
  }
  await queries.run(FORGET, [worker]);
  return lanes.length;
}

export async function silentWorkers(queries: Queries, since: number): Promise<readonly string[]> {
  const rows = await queries.all<{ readonly id: string }>(SILENT, [since]);
  return rows.map(({ id }) => id);
}
