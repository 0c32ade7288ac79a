import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { RuntimeEvent } from "@autonous/runtime";
import type { World } from "./world.ts";

/** What a service has on record, read beside it. */
export interface OpenRecord extends Disposable {
  /** Of the last event. */
  position(): number;
  events(task_id?: string): readonly PlacedEvent[];
  countOf(task_id: string): number;
  tasks(): readonly TaskRow[];
  approvals(): readonly ApprovalRow[];
  /** Any query, for those who look at everything in the end. */
  all(sql: string): readonly Row[];
}

export type Row = Readonly<Record<string, unknown>>;

export interface PlacedEvent extends RuntimeEvent {
  readonly position: number;
}

export interface TaskRow {
  readonly task_id: string;
  readonly run_id: string;
  readonly lane: string;
  readonly text: string;
  readonly state: string;
  readonly error: string | null;
  readonly crashes: number;
  readonly finished_at: number | null;
}

export interface ApprovalRow {
  readonly approval_id: string;
  readonly task_id: string;
  readonly tool_call_id: string;
  readonly state: string;
}

const WAIT_MS = 10_000;

/** Undefined before the first start got so far. */
export function openRecord({ database }: World): OpenRecord | undefined {
  if (!existsSync(database)) return undefined;
  const file = new DatabaseSync(database, { readOnly: true, timeout: WAIT_MS });
  const all = (sql: string, ...values: readonly string[]): Row[] => file.prepare(sql).all(...values);
  if (all("select name from sqlite_schema where name = 'outbox'").length === 0) {
    file.close();
    return undefined;
  }
  const last = file.prepare("select coalesce(max(position), 0) as position from events");
  const count = file.prepare("select count(*) as events from events where task_id = ?");
  return {
    all,
    position: () => Number(last.get()?.["position"]),
    countOf: (task_id) => Number(count.get(task_id)?.["events"]),
    events: (task_id) =>
      (task_id === undefined
        ? all("select * from events order by position")
        : all("select * from events where task_id = ? order by position", task_id)
      ).map(toEvent),
    tasks: () => all("select * from inbox order by position") as unknown as TaskRow[],
    approvals: () => all(APPROVALS) as unknown as ApprovalRow[],
    [Symbol.dispose]: () => file.close(),
  };
}

const APPROVALS = `select approval_id, task_id, tool_call_id, approvals.state
  from approvals join inbox on inbox.run_id = approvals.run_id order by approvals.position`;

function toEvent({ payload, ...row }: Row): PlacedEvent {
  return { ...row, payload: JSON.parse(String(payload)) as RuntimeEvent["payload"] } as unknown as PlacedEvent;
}

/** Looks once, and lets go of the file. */
export function look<T>(world: World, work: (record: OpenRecord) => T, otherwise: T): T {
  using record = openRecord(world);
  return record === undefined ? otherwise : work(record);
}
