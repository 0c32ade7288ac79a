import type { Database, Queries } from "../sqlite/database.ts";
import type { Task } from "../store.ts";

export interface HistoryRow {
  readonly task_id: string;
  readonly role: "user" | "assistant";
  readonly text: string;
  readonly created_at: number;
}

export interface History {
  /** The last `limit` messages of the conversation before this task, oldest first. */
  before(task_id: string, limit: number): Promise<readonly HistoryRow[]>;
  /** Tasks queued in the lane from now on do not get earlier messages. The same `external_id` counts once. */
  startFresh(start: { readonly lane: string; readonly external_id: string; readonly by: string }): Promise<void>;
}

const INSERT = "insert into history (lane, task_id, role, text, created_at) values (?, ?, ?, ?, ?)";
/** Every ended task has messages unless it is pruned, and then so are those before it. */
const BEFORE = `with recursive earlier (task_id, position, previous, first, count) as (
  select task_id, position, previous, coalesce((select max(conversations.position) from conversations
    where conversations.lane = inbox.lane and conversations.position < inbox.position), 0), 0
  from inbox where task_id = ?1
  union all
  select inbox.task_id, inbox.position, inbox.previous, first, count + 1 from earlier cross join inbox
  where inbox.position = earlier.previous and inbox.position > first and inbox.forgotten_at is null and count < ?2)
  select history.task_id, role, text, created_at from earlier cross join history
  where history.task_id = earlier.task_id and earlier.count > 0
  order by earlier.count, history.id desc limit ?2`;

const START = `insert into conversations (lane, external_id, position, started_by, created_at)
  values (?1, ?2, coalesce((select newest from lanes where lane = ?1), 0), ?3, ?4) on conflict do nothing`;

/** Stores question and answer of an ended task together, so that they are adjacent. */
export async function rememberExchange(
  queries: Queries,
  { lane, task_id, text, created_at }: Task,
  answer: { readonly reply: string | undefined; readonly now: number },
): Promise<void> {
  await queries.run(INSERT, [lane, task_id, "user", text, created_at]);
  if (answer.reply !== undefined) await queries.run(INSERT, [lane, task_id, "assistant", answer.reply, answer.now]);
}

export function createHistory(database: Database, clock: () => number): History {
  return {
    before: (task_id, limit) =>
      database.read(`read the conversation before task "${task_id}"`, async (queries) => {
        const rows = await queries.all<HistoryRow>(BEFORE, [task_id, limit]);
        return [...rows].reverse();
      }),
    startFresh: ({ lane, external_id, by }) =>
      database.transaction(`start a new conversation in "${lane}"`, async (queries) => {
        await queries.run(START, [lane, external_id, by, clock()]);
      }),
  };
}
