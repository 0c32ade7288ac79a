import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { RuntimeEvent } from "@autonous/runtime";
import { MARK } from "../kinds.ts";
import { openRecord } from "../record.ts";
import type { ApprovalRow, PlacedEvent, Row, TaskRow } from "../record.ts";
import type { Stage } from "../stage.ts";
import { Broken } from "../stage.ts";
import { TRACES } from "../world.ts";

/** Everything that is left of a world when its service has ended. */
export interface Found {
  readonly stage: Stage;
  readonly tasks: readonly TaskRow[];
  readonly events: readonly PlacedEvent[];
  readonly eventsOf: ReadonlyMap<string, readonly PlacedEvent[]>;
  readonly calls: readonly CallStory[];
  readonly outbox: readonly OutboxEntry[];
  readonly approvals: readonly ApprovalRow[];
  /** How often each mark stands in the files that calls leave traces in. */
  readonly marks: ReadonlyMap<string, number>;
  readonly query: (sql: string) => readonly Row[];
}

export interface OutboxEntry {
  readonly id: number;
  readonly task_id: string;
  readonly channel: string;
  readonly chat: string;
  readonly kind: string;
  readonly body: string;
  readonly sent_at: number | null;
}

/** One call that a model, or a person, asked for, and what became of it. */
export interface CallStory {
  readonly task_id: string;
  readonly tool_call_id: string;
  readonly name: string;
  /** What it leaves behind; undefined: nothing that can be counted. */
  readonly mark: string | undefined;
  readonly starts: number;
  readonly ends: readonly RuntimeEvent[];
}

/** Reads it all, and lets go of it when the work is done. */
export async function withFound<T>(stage: Stage, work: (found: Found) => Promise<T>): Promise<T> {
  using record = openRecord(stage.world);
  if (record === undefined) throw new Broken("There is no store");
  const events = record.events();
  const eventsOf = Map.groupBy(
    events.filter(({ task_id }) => task_id !== null),
    ({ task_id }) => task_id ?? "",
  );
  return await work({
    stage,
    tasks: record.tasks(),
    events,
    eventsOf,
    calls: [...eventsOf].flatMap(([task_id, own]) => storiesOf(task_id, own)),
    outbox: record.all("select * from outbox order by id") as unknown as OutboxEntry[],
    approvals: record.approvals(),
    marks: countMarks(stage.world.root),
    query: record.all,
  });
}

interface Asked {
  readonly tool_call_id: string;
  readonly name: string;
  readonly arguments: unknown;
}

function storiesOf(task_id: string, events: readonly PlacedEvent[]): CallStory[] {
  const asked = events.flatMap(({ type, payload }) =>
    type === "model.completed" ? ((payload["calls"] as readonly Asked[] | undefined) ?? []) : [],
  );
  const about = Map.groupBy(events, ({ payload }) => payload["tool_call_id"] as string | undefined);
  return asked.map(({ tool_call_id, name, arguments: args }) => {
    const own = about.get(tool_call_id) ?? [];
    return {
      task_id,
      tool_call_id,
      name,
      mark: JSON.stringify(args).match(MARK)?.[0],
      starts: own.filter(({ type }) => type === "tool_call.started").length,
      ends: own.filter(({ type }) => type === "tool_call.completed" || type === "tool_call.failed"),
    };
  });
}

function countMarks(root: string): Map<string, number> {
  const marks = new Map<string, number>();
  for (const folder of TRACES) {
    for (const name of readdirSync(join(root, folder))) {
      for (const [mark] of readFileSync(join(root, folder, name), "utf8").matchAll(MARK))
        marks.set(mark, (marks.get(mark) ?? 0) + 1);
    }
  }
  return marks;
}
