import type { Context } from "hono";
import { streamSSE } from "hono/streaming";
import type { SSEStreamingApi } from "hono/streaming";
import { isOver } from "../../store/queue/task-states.ts";
import type { RouteParts } from "./routes.ts";

export interface StreamOptions extends RouteParts {
  readonly task_id: string;
  readonly run_id: string;
  /** `seq` of the last event that the client has. */
  readonly after: number;
}

const LOOK_MS = 1000;

/**
 * A task's events as they are recorded, each with its `seq` as id, so that a client can resume where it stopped. Ends
 * when the task is over and its reply was sent, with a last event `reply` that contains only the answer. If the service
 * stops earlier, the stream ends without it.
 */
export function streamEvents(context: Context, options: StreamOptions): Response {
  return streamSSE(context, async (stream) => {
    try {
      await writeEvents(stream, options);
    } catch (error) {
      const { message } = error as Error;
      options.log(`Cannot stream the events of task ${options.task_id}: ${message}`);
      await stream.writeSSE({ event: "error", data: JSON.stringify({ error: { message } }) });
    }
  });
}

async function writeEvents(stream: SSEStreamingApi, options: StreamOptions): Promise<void> {
  const { store, bell, closing, task_id, run_id, after } = options;
  const journal = store.journal(run_id);
  let last = after;
  while (!stream.aborted) {
    const rung = bell.wait(LOOK_MS);
    const isLast = closing.aborted;
    // Checked before the events are read: once the reply is sent, all events are recorded.
    const reply = await finalReply(store, task_id);
    for await (const event of journal.read(last)) {
      if (stream.aborted) return;
      await stream.writeSSE({ id: String(event.seq), event: event.type, data: JSON.stringify(event) });
      last = event.seq;
    }
    if (reply !== undefined) await stream.writeSSE({ event: "reply", data: JSON.stringify(reply) });
    if (reply !== undefined || isLast) return;
    await rung;
  }
}

/** Undefined while more events may follow. */
async function finalReply(
  store: RouteParts["store"],
  task_id: string,
): Promise<{ task_id: string; state: string; text: string } | undefined> {
  const details = await store.tasks.get(task_id);
  if (details === undefined || !isOver(details.task.state)) return undefined;
  const { task, reply, reply_sent_at } = details;
  if (reply !== null && reply_sent_at === null) return undefined;
  return { task_id, state: task.state, text: reply ?? task.error ?? "" };
}
