import { makeId, makeTraceId } from "@autonous/runtime/internal";
import { appendEvents } from "./append-events.ts";
import type { Queries } from "../sqlite/database.ts";
import type { ServiceEvent } from "../store.ts";

/** Key of the chain's id. Its events belong to no task: who may use the service. */
const KEY = "service:chain";
/** Selects the id of the chain as `run_id`; also used in other statements. */
export const SERVICE_CHAIN = `select value as run_id from kv where key = '${KEY}'`;
const KEEP = "insert into kv (key, value, updated_at) values (?, ?, ?)";

/** Records events that concern the service and no task. The first event creates the chain. */
export async function appendServiceEvents(
  queries: Queries,
  events: readonly ServiceEvent[],
  now: number,
): Promise<void> {
  if (events.length === 0) return;
  const known = await queries.one<{ readonly run_id: string }>(SERVICE_CHAIN);
  const run_id = known?.run_id ?? makeId("access", now);
  if (known === undefined) await queries.run(KEEP, [KEY, run_id, now]);
  const about = { ts: new Date(now).toISOString(), task_id: null, run_id, parent_id: null };
  const drafts = events.map(({ type, payload }) => ({
    event_id: makeId("evt", now),
    type,
    trace_id: makeTraceId(),
    ...about,
    payload,
  }));
  await appendEvents(queries, { run_id, drafts });
}
