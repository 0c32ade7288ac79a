import { Hono } from "hono";
import { expect, onTestFinished, test } from "vitest";
import { Notifier } from "../../store/notifier.ts";
import type { Store } from "../../store/store.ts";
import { addRecordStream } from "./record-stream.ts";
import type { RouteParts } from "./routes.ts";

test("a client that disconnects before the stream knows where to start leaves nothing behind", async () => {
  const position = Promise.withResolvers<readonly []>();
  const closing = new AbortController();
  const notifier = new Notifier();
  onTestFinished(() => closing.abort());
  let reads = 0;
  const events: Partial<Store["events"]> = {
    lastRows: () => position.promise,
    async rows() {
      reads++;
      return [];
    },
  };
  const app = new Hono();
  addRecordStream(app, { store: { events }, notifier, closing: closing.signal } as unknown as RouteParts);
  const response = await app.request("/api/events");
  await response.body?.cancel();
  position.resolve([]);
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  expect({ waiting: notifier.waiting, reads }).toEqual({ waiting: 0, reads: 0 });
});
