import { appendTaskEvent } from "./append-events.ts";
import type { Database, Queries } from "./database.ts";
import type { Outbox, OutboxRow, Task } from "./store.ts";
import { auditReply } from "./task-audit.ts";
import { findTask } from "./tasks.ts";

const INSERT = `insert into outbox (task_id, channel, chat, body, dedupe, created_at) values (?, ?, ?, ?, ?, ?)
  on conflict (dedupe) do nothing`;
const PENDING = `select id, task_id, channel, chat, body, created_at from (
    select *, row_number() over (partition by channel, chat order by id) as turn
    from outbox where sent_at is null and channel = coalesce(?, channel))
  order by turn, id limit ?`;
const MARK_SENT = "update outbox set sent_at = ? where id = ? and sent_at is null returning task_id, channel, body";

interface Reply {
  readonly body: string;
  /** The lease under which it was written: there is one reply to a lease. */
  readonly token: number;
  readonly now: number;
}

export async function putReply(queries: Queries, task: Task, { body, token, now }: Reply): Promise<void> {
  const { task_id, source, lane } = task;
  await queries.run(INSERT, [task_id, source, lane, body, `${task_id}:${token}`, now]);
  await auditReply(queries, task_id, now);
}

export function createOutbox(database: Database, clock: () => number): Outbox {
  return {
    pending: ({ limit, channel = null }) =>
      database.read("read the replies to be sent", (queries) => queries.all<OutboxRow>(PENDING, [channel, limit])),
    markSent: (id) => database.transaction("record that a reply was sent", (queries) => markSent(queries, id, clock())),
  };
}

async function markSent(queries: Queries, id: number, now: number): Promise<void> {
  const sent = await queries.one<Pick<OutboxRow, "task_id" | "channel" | "body">>(MARK_SENT, [now, id]);
  if (sent === undefined) return; // recorded before
  const task = await findTask(queries, sent.task_id);
  if (task === undefined) throw new Error(`Reply ${id} belongs to task "${sent.task_id}", which is not there`);
  const payload = { channel: sent.channel, text: sent.body };
  await appendTaskEvent(queries, task, { type: "reply.sent", payload, now });
}
