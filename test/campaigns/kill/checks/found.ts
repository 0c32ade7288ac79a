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
export interface Remains {
  readonly stage: Stage;
  readonly tasks: readonly TaskRow[];
  readonly events: readonly PlacedEvent[];
  readonly eventsOf: ReadonlyMap<string, readonly PlacedEvent[]>;
  readonly calls: readonly CallStory[];
  readonly outbox: readonly OutboxEntry[];
  readonly approvals: readonly ApprovalRow[];
  /** How often each mark stands in what calls leave: files of the root, files that were sent, what was learnt. */
  readonly marks: ReadonlyMap<string, number>;
  readonly query: (sql: string) => readonly Row[];
}

interface OutboxEntry {
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
export async function withFound<T>(stage: Stage, work: (found: Remains) => Promise<T>): Promise<T> {
  using record = openRecord(stage.world);
  if (record === undefined) throw new Broken("The store is missing");
  const events = record.events();
  const outbox = record.all("select * from outbox order by id") as unknown as OutboxEntry[];
  const sent = outbox.filter(({ kind }) => kind === "file").map(({ body }) => body);
  const learnt = record.all("select title from memory").map(({ title }) => String(title));
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
    outbox,
    approvals: record.approvals(),
    marks: countMarks([...writtenIn(stage.world.root), ...sent, ...learnt]),
    query: record.all,
  });
}

/** Files are sent on the way, and answers in the end. */
export function isAnswerSent({ type, payload }: RuntimeEvent): boolean {
  return type === "reply.sent" && payload["text"] !== undefined;
}

interface RequestedCall {
  readonly tool_call_id: string;
  readonly name: string;
  readonly arguments: unknown;
}

function storiesOf(task_id: string, events: readonly PlacedEvent[]): CallStory[] {
  const asked = events.flatMap(({ type, payload }) =>
    type === "model.completed" ? ((payload["calls"] as readonly RequestedCall[] | undefined) ?? []) : [],
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

/** What calls have left in the files of the root. */
function writtenIn(root: string): string[] {
  return TRACES.flatMap((folder) =>
    readdirSync(join(root, folder)).map((name) => readFileSync(join(root, folder, name), "utf8")),
  );
}

function countMarks(texts: readonly string[]): Map<string, number> {
  const marks = new Map<string, number>();
  for (const [mark] of texts.flatMap((text) => [...text.matchAll(MARK)])) marks.set(mark, (marks.get(mark) ?? 0) + 1);
  return marks;
}
