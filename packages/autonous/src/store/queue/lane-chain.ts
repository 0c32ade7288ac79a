import type { Queries } from "../sqlite/database.ts";

/**
 * The tasks of a lane, newest first, as `of_lane (position)`. Rows come in the order of the chain, and with a limit
 * SQLite walks no further than needed. `?3` is the lane.
 */
export const OF_LANE = `with recursive of_lane (position) as (
  select newest from lanes where lane = ?3 and newest is not null
  union all
  select inbox.previous from of_lane cross join inbox
  where inbox.position = of_lane.position and inbox.previous is not null)`;

/** The `previous` of a task that is queued in a lane. */
export const NEWEST_OF = "select newest from lanes where lane = ?";
const SET_NEWEST = "update lanes set newest = ? where lane = ?";

/** Call for every task that is queued in the lane, in the same transaction. */
export async function setNewest(queries: Queries, lane: string, position: number): Promise<void> {
  await queries.run(SET_NEWEST, [position, lane]);
}

const LINKS = "select position, previous from inbox where task_id = ?";
/** Walks from the newest task back to the one after the given position. */
const FOLLOWER = `with recursive later (position, previous) as (
  select inbox.position, inbox.previous from lanes cross join inbox
  where lanes.lane = ?1 and inbox.position = lanes.newest
  union all
  select inbox.position, inbox.previous from later cross join inbox
  where inbox.position = later.previous and later.previous > ?2)
  select position from later where previous = ?2`;
const SET_PREVIOUS = "update inbox set previous = ? where position = ?";
/** The newest position: behind everything that waits in its lane, so it never gets between a task and its retry. */
const MOVE = `update inbox set position = (select max(position) + 1 from inbox), previous = ? where task_id = ?
  returning position`;

interface Links {
  readonly position: number;
  readonly previous: number | null;
}

/** Makes a task the newest of its lane. Takes time proportional to the number of tasks behind it. */
export async function moveToEnd(
  queries: Queries,
  { task_id, lane }: { readonly task_id: string; readonly lane: string },
): Promise<void> {
  const links = await queries.one<Links>(LINKS, [task_id]);
  if (links === undefined) throw new Error(`Cannot move task "${task_id}": task not found`);
  const { position, previous } = links;
  const follower = await queries.one<Pick<Links, "position">>(FOLLOWER, [lane, position]);
  if (follower !== undefined) await queries.run(SET_PREVIOUS, [previous, follower.position]);
  const newest = await queries.one<{ readonly newest: number }>(NEWEST_OF, [lane]);
  const before = follower === undefined ? previous : (newest?.newest ?? null);
  const moved = await queries.one<Pick<Links, "position">>(MOVE, [before, task_id]);
  if (moved !== undefined) await setNewest(queries, lane, moved.position);
}
