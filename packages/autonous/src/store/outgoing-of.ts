import type { Queries } from "./database.ts";
import type { TaskDetails } from "./store.ts";

const REPLY = "select body, sent_at from outbox where task_id = ? and kind = 'text' order by id desc limit 1";
const UNSENT = `select kind, channel, attempts, error, iif(gave_up_at is null, next_at, null) as next_at
  from outbox where task_id = ? and sent_at is null order by id`;

/** What a task has sent and has still to send. */
export async function outgoingOf(
  queries: Queries,
  task_id: string,
): Promise<Pick<TaskDetails, "reply" | "reply_sent_at" | "unsent">> {
  const reply = await queries.one<{ readonly body: string; readonly sent_at: number | null }>(REPLY, [task_id]);
  const unsent = await queries.all<TaskDetails["unsent"][number]>(UNSENT, [task_id]);
  return { reply: reply?.body ?? null, reply_sent_at: reply?.sent_at ?? null, unsent };
}
