import { interruptedEnd } from "@autonous/runtime";
import type { RuntimeEvent } from "@autonous/runtime";
import { appendEvents } from "./append-events.ts";
import type { Queries } from "./database.ts";
import type { Task } from "./store.ts";

const OPEN = "select id from tool_calls where run_id = ? and status = 'running' order by started_at, id";
/** They were never begun. A retry of the task asks for its calls again. */
const FORGET_QUEUED = "delete from tool_calls where run_id = ? and status = 'queued'";
const STARTED = `select event_id, seq, ts, type, trace_id, task_id, run_id, parent_id, payload, prev_hash, hash from events
  where run_id = ? and type = 'tool_call.started' 
    and case when json_valid(payload) then json_extract(payload, '$.tool_call_id') end = ? order by seq desc limit 1`;

/** A task that ends leaves no call open: those that ran when their worker was lost, and are not run again, end as `Interrupted`. */
export async function endOpenCalls(queries: Queries, { run_id }: Pick<Task, "run_id">, now: number): Promise<void> {
  await queries.run(FORGET_QUEUED, [run_id]);
  const open = await queries.all<{ readonly id: string }>(OPEN, [run_id]);
  for (const { id } of open) {
    const row = await queries.one<Omit<RuntimeEvent, "payload"> & { readonly payload: string }>(STARTED, [run_id, id]);
    if (row === undefined) continue; // `audit verify` reports that its start is gone
    const started = { ...row, payload: JSON.parse(row.payload) as RuntimeEvent["payload"] };
    await appendEvents(queries, { run_id, drafts: [interruptedEnd({ started, tool: undefined, now })] });
  }
}
