import type { Queries } from "../sqlite/database.ts";

/**
 * The tasks of a lane, newest first, as `of_lane (position)`. A chain has one next task, so they come in its order, and
 * whoever takes only the first ones does not walk further. `?3` is the lane.
 */
export const OF_LANE = `with recursive of_lane (position) as (
  select newest from lanes where lane = ?3 and newest is not null
  union all
  select inbox.previous from of_lane cross join inbox
  where inbox.position = of_lane.position and inbox.previous is not null)`;

/** What a task that is put into a lane has as its `previous`. */
export const NEWEST_OF = "select newest from lanes where lane = ?";
const SET_NEWEST = "update lanes set newest = ? where lane = ?";

/** Told of every task that was put into the lane, in the same transaction. */
export async function setNewest(queries: Queries, lane: string, position: number): Promise<void> {
  await queries.run(SET_NEWEST, [position, lane]);
}

const LINKS = "select position, previous from inbox where task_id = ?";
/** From the newest back to the one that follows the given position. */
const FOLLOWER = `with recursive later (position, previous) as (
  select inbox.position, inbox.previous from lanes cross join inbox
  where lanes.lane = ?1 and inbox.position = lanes.newest
  union all
  select inbox.position, inbox.previous from later cross join inbox
  where inbox.position = later.previous and later.previous > ?2)
  select position from later where previous = ?2`;
const SET_PREVIOUS = "update inbox set previous = ? where position = ?";
/** The newest position: behind all that waits in its lane, and so never between a neighbour and its second attempt. */
const MOVE = `update inbox set position = (select max(position) + 1 from inbox), previous = ? where task_id = ?
  returning position`;

interface Links {
  readonly position: number;
  readonly previous: number | null;
}

/** Makes a task the newest of its lane. Takes as long as there are tasks behind it. */
export async function moveToEnd(
  queries: Queries,
  { task_id, lane }: { readonly task_id: string; readonly lane: string },
): Promise<void> {
  const links = await queries.one<Links>(LINKS, [task_id]);
  if (links === undefined) throw new Error(`Cannot move task "${task_id}": there is no such task`);
  const { position, previous } = links;
  const follower = await queries.one<Pick<Links, "position">>(FOLLOWER, [lane, position]);
  if (follower !== undefined) await queries.run(SET_PREVIOUS, [previous, follower.position]);
  const newest = await queries.one<{ readonly newest: number }>(NEWEST_OF, [lane]);
  const before = follower === undefined ? previous : (newest?.newest ?? null);
  const moved = await queries.one<Pick<Links, "position">>(MOVE, [before, task_id]);
  if (moved !== undefined) await setNewest(queries, lane, moved.position);
}
