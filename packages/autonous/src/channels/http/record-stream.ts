import type { Context, Hono } from "hono";
import { streamSSE } from "hono/streaming";
import type { SSEStreamingApi } from "hono/streaming";
import type { UnreadableEvent } from "@autonous/runtime/internal";
import type { RouteParts } from "./routes.ts";
import { readNumber } from "./read-query.ts";

const LOOK_MS = 1000;
const PAGE_SIZE = 200;

/**
 * `GET /api/events`: the events of all runs as they are recorded, each with its position as id. Starts after
 * `Last-Event-ID` (or `?after=`, for a first request); without either, it sends only new events. Ends when the client
 * disconnects or the service stops.
 */
export function addRecordStream(app: Hono, parts: RouteParts): void {
  app.get("/api/events", (context) => {
    if (isHead(context)) return context.body(null, 200, STREAM_HEAD);
    return streamSSE(context, async (stream) => {
      try {
        await writeRecord(stream, await firstPlace(context, parts), parts);
      } catch (error) {
        const { message } = error as Error;
        parts.log(`Cannot stream events: ${message}`);
        await stream.writeSSE({ event: "error", data: JSON.stringify({ error: { message } }) });
      }
    });
  });
}

export const STREAM_HEAD = { "Content-Type": "text/event-stream" };

/** A HEAD request gets no stream body: the stream would never end. */
export function isHead(context: Context): boolean {
  return context.req.raw.method === "HEAD";
}

async function firstPlace(context: Context, { store }: RouteParts): Promise<number> {
  const asked = context.req.header("last-event-id") ?? context.req.query("after");
  if (asked !== undefined) return readNumber(asked);
  const [last] = await store.events.lastRows({ limit: 1 });
  return last?.position ?? 0;
}

/** Sent in place of an unreadable event. Later events follow. */
function damaged(run_id: string, { unreadable }: UnreadableEvent): { readonly event: string; readonly data: string } {
  return { event: "damaged", data: JSON.stringify({ run_id, problem: unreadable }) };
}

async function writeRecord(stream: SSEStreamingApi, after: number, parts: RouteParts): Promise<void> {
  const { store, bell, closing } = parts;
  let last = after;
  while (!stream.aborted) {
    const rung = bell.wait(LOOK_MS);
    const isLast = closing.aborted;
    const recorded = await store.events.rows({ after: last, limit: PAGE_SIZE });
    for (const { position, run_id, event } of recorded) {
      if (stream.aborted) return;
      const shown = "unreadable" in event ? damaged(run_id, event) : { event: event.type, data: JSON.stringify(event) };
      await stream.writeSSE({ id: String(position), ...shown });
      last = position;
    }
    if (recorded.length === PAGE_SIZE) continue;
    if (isLast) return;
    await rung;
  }
}
