import type { Context } from "hono";
import { streamSSE } from "hono/streaming";
import type { SSEStreamingApi } from "hono/streaming";
import { EventFeed } from "../../store/event-feed.ts";
import type { Notifier } from "../../store/notifier.ts";
import { isOver } from "../../store/queue/task-states.ts";
import { requireEvent } from "../../store/record/event-table.ts";
import type { RouteParts } from "./routes.ts";

export interface StreamOptions extends RouteParts {
  readonly task_id: string;
  readonly run_id: string;
  /** `seq` of the last event that the client has. */
  readonly after: number;
}

const POLL_MS = 1000;
const PAGE_SIZE = 500;

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
  const { store, notifier, closing, task_id, run_id, after } = options;
  let reply: Awaited<ReturnType<typeof finalReply>>;
  const feed = new EventFeed({
    after,
    async read(seq) {
      reply = await finalReply(store, task_id); // before the events are read: once the reply is sent, all are recorded
      const rows = await store.events.runRows({ run_id, after_seq: seq, limit: PAGE_SIZE });
      return { events: rows, position: rows.at(-1)?.seq ?? seq, hasMore: rows.length === PAGE_SIZE };
    },
  });
  await streamFeed(stream, feed, {
    notifier,
    closing,
    async write(row) {
      const event = requireEvent(row);
      await stream.writeSSE({ id: String(event.seq), event: event.type, data: JSON.stringify(event) });
    },
    isOver: () => reply !== undefined,
  });
  if (reply !== undefined && !stream.aborted) await stream.writeSSE({ event: "reply", data: JSON.stringify(reply) });
}

interface FeedStreamOptions<Event> {
  readonly notifier: Notifier;
  /** Aborts when the service stops. */
  readonly closing: AbortSignal;
  readonly write: (event: Event) => Promise<void>;
  /** Whether the stream ends once everything recorded was written. */
  readonly isOver?: () => boolean;
}

/** Writes a feed until the client disconnects or the service stops; what was recorded before it stopped is written. */
export async function streamFeed<Event>(
  stream: SSEStreamingApi,
  feed: EventFeed<Event>,
  { notifier, closing, write, isOver = () => false }: FeedStreamOptions<Event>,
): Promise<void> {
  const ended = new AbortController();
  const end = (): void => ended.abort();
  stream.onAbort(end);
  closing.addEventListener("abort", end, { signal: ended.signal });
  const writeAll = async (events: readonly Event[]): Promise<void> => {
    for (const event of events) if (!stream.aborted) await write(event);
  };
  try {
    if (closing.aborted || stream.aborted) end(); // an abort before now called no listener
    for await (const events of feed.live({ signal: ended.signal, notifier, pollMs: POLL_MS })) {
      await writeAll(events);
      if (stream.aborted || (events.length === 0 && isOver())) return; // before the next read: the store may be closed
    }
    if (stream.aborted) return;
    for await (const events of feed.backlog()) {
      await writeAll(events);
      if (stream.aborted) return;
    }
  } finally {
    end();
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
