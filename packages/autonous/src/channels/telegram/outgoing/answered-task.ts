import type { OutboxRow, Store } from "../../../store/store.ts";
import { FINISHED_FIRST } from "../../../store/queue/stop-task.ts";
import { originOf } from "../origin.ts";

/** What is needed of a task to send its answer. */
export interface AnsweredTask {
  /** The message that asked for it. Undefined for one of another channel, or of an older version. */
  readonly message_id?: number;
  /** A model wrote the answer. Output of programs and messages of our own are shown as they are. */
  readonly isMarkdown: boolean;
  /** Without a model: the user typed the text. */
  readonly isDirect: boolean;
  /** Who stopped it, as recorded. */
  readonly stopped_by?: string;
}

/** The reply that became the answer is among the last events of a task. */
const LAST_EVENTS = 50;

/** `movedAt`: when the chat got another number, and its messages with it. */
export async function answeredTask(store: Store, { task_id, content }: OutboxRow, movedAt = 0): Promise<AnsweredTask> {
  const task = (await store.tasks.get(task_id))?.task;
  if (task === undefined) return { isMarkdown: false, isDirect: false };
  const message_id = task.created_at < movedAt ? undefined : originOf(task)?.message_id;
  const isLate = task.state === "cancelled" && content.kind === "text" && content.text.startsWith(FINISHED_FIRST);
  const isAnswer = task.state === "done" || task.state === "reply_sent" || isLate;
  const provider = await lastProvider(store, task_id);
  const isDirect = provider === "direct";
  const isMarkdown = isAnswer && typeof provider === "string" && !isDirect;
  return {
    isMarkdown,
    isDirect,
    ...(message_id === undefined ? {} : { message_id }),
    ...(task.cancel_by === null ? {} : { stopped_by: task.cancel_by }),
  };
}

async function lastProvider(store: Store, task_id: string): Promise<unknown> {
  const rows = await store.events.lastRows({ task_id, limit: LAST_EVENTS });
  const events = rows.flatMap(({ event }) => ("unreadable" in event ? [] : [event]));
  return events.findLast(({ type }) => type === "model.completed")?.payload["provider"];
}
