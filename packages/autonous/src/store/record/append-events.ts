import { chainEvents, EMPTY_TAIL, makeId, openRecordKey } from "@autonous/runtime/internal";
import type { RuntimeEvent, ToolCallResult } from "@autonous/runtime";
import type { EventDraft, EventType } from "@autonous/runtime/internal";
import { recordCall } from "./call-table.ts";
import type { Queries } from "../sqlite/database.ts";
import { putAttachments, putDisplay } from "./put-outgoing.ts";
import type { Task } from "../store.ts";
import { auditEvent } from "./task-audit.ts";

const TAIL = "select seq, hash from events where run_id = ? order by seq desc limit 1";
const INSERT = `insert into events
  (event_id, run_id, seq, ts, type, trace_id, task_id, parent_id, payload, mac, prev_hash, hash)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

interface Append {
  readonly run_id: string;
  readonly drafts: readonly EventDraft[];
  readonly result?: ToolCallResult | undefined;
}

/** The only way to write to `events`: chains the drafts to the run's last event and updates the derived tables. */
export async function appendEvents(queries: Queries, append: Append): Promise<readonly RuntimeEvent[]> {
  const { run_id, drafts, result } = append;
  for (const draft of drafts) {
    if (draft.run_id !== run_id) {
      throw new Error(
        `Cannot record event "${draft.event_id}" in run "${run_id}": it belongs to run "${draft.run_id}"`,
      );
    }
  }
  const tail = await queries.one<{ readonly seq: number; readonly hash: string }>(TAIL, [run_id]);
  const events: RuntimeEvent[] = [];
  for (const { line } of chainEvents(drafts, tail ?? EMPTY_TAIL, openRecordKey())) {
    const event = JSON.parse(line) as RuntimeEvent; // store exactly what was hashed
    await insertEvent(queries, event);
    await recordCall(queries, event, result);
    await auditEvent(queries, event);
    await putAttachments(queries, event);
    await putDisplay(queries, event);
    events.push(event);
  }
  return events;
}

async function insertEvent(queries: Queries, event: RuntimeEvent): Promise<void> {
  const { event_id, run_id, seq, ts, type, trace_id, task_id, parent_id, payload, mac = null, prev_hash, hash } = event;
  const about = [event_id, run_id, seq, ts, type, trace_id, task_id, parent_id];
  await queries.run(INSERT, [...about, JSON.stringify(payload), mac, prev_hash, hash]);
}

interface TaskEvent {
  readonly type: EventType;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly now: number;
}

const FIRST = "select event_id from events where run_id = ? and seq = 1";

/** Records an event of a task in the chain of its run, as a child of its first event. */
export async function appendTaskEvent(
  queries: Queries,
  { task_id, run_id, trace_id }: Pick<Task, "task_id" | "run_id" | "trace_id">,
  { type, payload, now }: TaskEvent,
): Promise<void> {
  const ts = new Date(now).toISOString();
  const first = await queries.one<{ readonly event_id: string }>(FIRST, [run_id]);
  const parent_id = first?.event_id ?? null;
  const draft = { event_id: makeId("evt", now), ts, type, trace_id, task_id, run_id, parent_id, payload };
  await appendEvents(queries, { run_id, drafts: [draft] });
}
