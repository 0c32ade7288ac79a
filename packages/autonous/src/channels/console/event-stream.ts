import type { Context } from "hono";
import { streamSSE } from "hono/streaming";
import { isOver } from "../../store/task-states.ts";
import type { RouteParts } from "./routes.ts";

export interface StreamOptions extends RouteParts {
  readonly task_id: string;
  readonly run_id: string;
  /** `seq` of the last event that the reader has. */
  readonly after: number;
}

const A_READ = 200;
const LOOK_MS = 1000;

/**
 * A task's events as they are recorded, each with its `seq` as id, so that a reader can go on where it stopped. Ends
 * when the task is over and its reply was sent, with one last event `reply` that has the answer by itself.
 */
export function streamEvents(context: Context, { store, bell, task_id, run_id, after }: StreamOptions): Response {
  return streamSSE(context, async (stream) => {
    const journal = store.journal(run_id);
    let last = after;
    while (!stream.aborted) {
      const rung = bell.wait(LOOK_MS);
      let count = 0;
      for await (const event of journal.read(last)) {
        await stream.writeSSE({ id: String(event.seq), event: event.type, data: JSON.stringify(event) });
        last = event.seq;
        if (++count >= A_READ || stream.aborted) break;
      }
      if (count >= A_READ) continue;
      const reply = await finalReply(store, task_id);
      if (reply !== undefined) {
        await stream.writeSSE({ event: "reply", data: JSON.stringify(reply) });
        return;
      }
      await rung;
    }
  });
}

/** Undefined while there is more to come. */
async function finalReply(
  store: RouteParts["store"],
  task_id: string,
): Promise<{ task_id: string; state: string; text: string } | undefined> {
  const details = await store.tasks.get(task_id);
  if (details === undefined || !isOver(details.task.state)) return undefined;
  const unsent = await store.outbox.pending({ limit: 1000, channel: details.task.source });
  if (unsent.some((row) => row.task_id === task_id)) return undefined;
  return { task_id, state: details.task.state, text: details.reply ?? details.task.error ?? "" };
}
