import { Hono } from "hono";
import { expect, onTestFinished, test } from "vitest";
import { Notifier } from "../../store/notifier.ts";
import type { Events, RecordedRow } from "../../store/record/event-table.ts";
import { addRecordStream } from "./record-stream.ts";
import type { RouteParts } from "./routes.ts";

interface Place {
  readonly app: Hono;
  readonly notifier: Notifier;
  readonly closing: AbortController;
}

function setUp(events: Pick<Events, "rows" | "lastRows">): Place {
  const closing = new AbortController();
  onTestFinished(() => closing.abort());
  const notifier = new Notifier();
  const app = new Hono();
  addRecordStream(app, { store: { events }, notifier, closing: closing.signal } as unknown as RouteParts);
  return { app, notifier, closing };
}

/** The positions after `after`, of an audit log without end. */
function endlessRows(after: number, limit: number): readonly RecordedRow[] {
  return Array.from({ length: limit }, (_, index) => ({
    position: after + index + 1,
    run_id: "run",
    seq: 1,
    event: { unreadable: "row" },
  }));
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
}

test("a client that disconnects before the start position is known leaves nothing behind", async () => {
  const newest = Promise.withResolvers<readonly []>();
  let reads = 0;
  const { app, notifier } = setUp({
    lastRows: () => newest.promise,
    rows() {
      reads++;
      return Promise.resolve([]);
    },
  });
  const response = await app.request("/api/events");
  await response.body?.cancel();
  newest.resolve([]);
  await settle();
  expect({ waiting: notifier.waiting, reads }).toEqual({ waiting: 0, reads: 0 });
});

test.each(["running", "stopping"])(
  "of a %s service, a client that is slow and disconnects in the middle of a page gets no other page read",
  async (state) => {
    let reads = 0;
    const { app, notifier, closing } = setUp({
      lastRows: () => Promise.resolve([]),
      rows({ after = 0, limit }) {
        reads++;
        return Promise.resolve(endlessRows(after, limit));
      },
    });
    const response = await app.request("/api/events", { headers: { "Last-Event-ID": "7" } });
    const reader = response.body?.getReader();
    const { value } = (await reader?.read()) ?? {};
    expect(new TextDecoder().decode(value)).toContain("id: 8");
    await settle();
    expect(reads).toBe(1);
    if (state === "stopping") closing.abort();
    await reader?.cancel();
    await settle();
    expect({ waiting: notifier.waiting, reads }).toEqual({ waiting: 0, reads: 1 });
  },
);
