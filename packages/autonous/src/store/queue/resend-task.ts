import type { Queries } from "../sqlite/database.ts";
import { findTask } from "./find-task.ts";
import type { GivenUpAnswer, TaskAnswer } from "../store.ts";
import { auditResent } from "../record/task-audit.ts";
import type { TaskRequest } from "./stop-task.ts";

/** Progress messages are in the audit log: only answers, files and approval requests are sent again. */
const WANTED = "sent_at is null and gave_up_at is not null and kind in ('text', 'file', 'approval')";
const GIVEN_UP = `select task_id, kind from outbox where channel = ? and chat = ? and ${WANTED} order by id`;
/** Keeps the position: later messages of the chat are sent after it. */
const SEND_AGAIN = `update outbox set gave_up_at = null, attempts = 0, error = null, next_at = 0
  where task_id = ? and ${WANTED} returning kind`;

export async function givenUpOf(
  queries: Queries,
  { channel, chat }: { readonly channel: string; readonly chat: string },
): Promise<readonly GivenUpAnswer[]> {
  return await queries.all<GivenUpAnswer>(GIVEN_UP, [channel, chat]);
}

export async function resendTask(queries: Queries, { task_id, by, now }: TaskRequest): Promise<TaskAnswer | undefined> {
  const task = await findTask(queries, task_id);
  if (task === undefined) return undefined;
  const rows = await queries.all<{ readonly kind: string }>(SEND_AGAIN, [task_id]);
  if (rows.length === 0) return { outcome: "refused", task, why: "it has no undeliverable messages" };
  await auditResent(queries, task_id, { by, now });
  return { outcome: "done", task };
}
