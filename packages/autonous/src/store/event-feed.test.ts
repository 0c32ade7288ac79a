import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { EventFeed, lastPosition, pagesOf } from "./event-feed.ts";
import { Notifier } from "./notifier.ts";
import { openStore } from "./open-store.ts";
import type { RecordedRow } from "./record/event-table.ts";
import type { Store } from "./store.ts";

/** No test waits this long: what ends a wait is a notification or an abort. */
const HOUR_MS = 3_600_000;

interface Place {
  readonly store: Store;
  /** Records tasks, each with one event, and returns the positions. */
  record(count: number): Promise<readonly number[]>;
}

async function setUp(): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), "autonous-feed-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const store = await openStore({ file: join(folder, "a.db"), clock: Date.now });
  onTestFinished(() => store.close());
  return {
    store,
    async record(count) {
      const before = await lastPosition(store.events);
      for (let i = 0; i < count; i++) await store.inbox.ingest({ source: "test", lane: "a", text: "x" });
      const rows = await store.events.rows({ after: before, limit: count + 1 });
      expect(rows).toHaveLength(count);
      return rows.map(({ position }) => position);
    },
  };
}

function positionsOf(rows: readonly RecordedRow[]): readonly number[] {
  return rows.map(({ position }) => position);
}

async function collect(batches: AsyncIterable<readonly RecordedRow[]>): Promise<readonly (readonly number[])[]> {
  const collected: (readonly number[])[] = [];
  for await (const rows of batches) collected.push(positionsOf(rows));
  return collected;
}

function timers(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(setImmediate);
}

test("the backlog comes in order, in batches of at most the limit, and starts after the given position", async () => {
  const { store, record } = await setUp();
  const [first = 0, ...others] = await record(6);
  const feed = new EventFeed({ after: first, read: pagesOf(store.events, { limit: 2 }) });
  expect(await collect(feed.backlog())).toEqual([others.slice(0, 2), others.slice(2, 4), others.slice(4)]);
  expect(await collect(feed.backlog())).toEqual([]);
  const later = await record(1);
  expect(await collect(feed.backlog())).toEqual([later]);
});

test("a live feed delivers the backlog, an empty batch before each wait, and what is recorded later", async () => {
  const { store, record } = await setUp();
  const backlog = await record(3);
  const notifier = new Notifier();
  const feed = new EventFeed({ after: 0, read: pagesOf(store.events, { limit: 2 }) });
  const stop = new AbortController();
  const seen: (readonly number[])[] = [];
  let later: readonly number[] = [];
  for await (const rows of feed.live({ signal: stop.signal, notifier, pollMs: HOUR_MS })) {
    seen.push(positionsOf(rows));
    if (seen.length === 3) {
      later = await record(1);
      notifier.notify();
    }
    if (seen.length === 5) stop.abort();
  }
  expect(seen).toEqual([backlog.slice(0, 2), backlog.slice(2), [], later, []]);
});

test("an event that is recorded between the read and the wait is delivered without a poll", async () => {
  const { store, record } = await setUp();
  const notifier = new Notifier();
  const read = pagesOf(store.events, { limit: 10 });
  let late: readonly number[] = [];
  const feed = new EventFeed({
    after: 0,
    async read(position) {
      const page = await read(position);
      if (late.length === 0) {
        late = await record(1);
        notifier.notify();
      }
      return page;
    },
  });
  for await (const rows of feed.live({ signal: new AbortController().signal, notifier, pollMs: HOUR_MS })) {
    if (rows.length === 0) continue;
    expect(positionsOf(rows)).toEqual(late);
    break;
  }
});

test("without a notification the feed polls", async () => {
  const { store, record } = await setUp();
  const feed = new EventFeed({ after: 0, read: pagesOf(store.events, { limit: 10 }) });
  let recorded: readonly number[] | undefined;
  for await (const rows of feed.live({ signal: new AbortController().signal, pollMs: 1 })) {
    if (rows.length === 0) recorded ??= await record(1);
    else {
      expect(positionsOf(rows)).toEqual(recorded);
      break;
    }
  }
});

test("an abort in the middle of a wait ends the feed and leaves no timer and no waiter", async () => {
  const { store, record } = await setUp();
  const recorded = await record(1);
  const notifier = new Notifier();
  const feed = new EventFeed({ after: 0, read: pagesOf(store.events, { limit: 10 }) });
  const stop = new AbortController();
  const before = timers();
  const collected = collect(feed.live({ signal: stop.signal, notifier, pollMs: HOUR_MS }));
  await until(() => notifier.waiting === 1);
  expect(timers()).toBeGreaterThan(before);
  stop.abort();
  expect(await collected).toEqual([recorded, []]);
  expect(notifier.waiting).toBe(0);
  expect(timers()).toBe(before);
});

test("an abort during a read leaves the batch to the next iteration", async () => {
  const { store, record } = await setUp();
  const recorded = await record(2);
  const read = pagesOf(store.events, { limit: 10 });
  const stop = new AbortController();
  const feed = new EventFeed({
    after: 0,
    async read(position) {
      const page = await read(position);
      stop.abort();
      return page;
    },
  });
  expect(await collect(feed.live({ signal: stop.signal, pollMs: HOUR_MS }))).toEqual([]);
  expect(await collect(feed.backlog())).toEqual([recorded]);
});

test("the batch of a consumer that failed is delivered again, by the next iteration or after a wait", async () => {
  const { store, record } = await setUp();
  const recorded = await record(3);
  const feed = new EventFeed({ after: 0, read: pagesOf(store.events, { limit: 10 }) });
  const failing = async (): Promise<void> => {
    for await (const rows of feed.backlog()) if (rows.length > 0) throw new Error("the disk is full");
  };
  await expect(failing()).rejects.toThrow("the disk is full");

  const stop = new AbortController();
  const problems: string[] = [];
  const handled: (readonly number[])[] = [];
  await feed.follow({
    signal: stop.signal,
    pollMs: 1,
    handle(rows) {
      handled.push(positionsOf(rows));
      if (handled.length === 1) return Promise.reject(new Error("the disk is still full"));
      if (rows.length === 0) stop.abort();
      return Promise.resolve();
    },
    report: ({ message }) => void problems.push(message),
  });
  expect(handled).toEqual([recorded, recorded, []]);
  expect(problems).toEqual(["the disk is still full"]);
});

test("a start position that could not be read is requested again, once", async () => {
  const { store, record } = await setUp();
  const [first = 0, ...others] = await record(3);
  let attempts = 0;
  const feed = new EventFeed({
    after: () => (++attempts === 1 ? Promise.reject(new Error("the store is locked")) : Promise.resolve(first)),
    read: pagesOf(store.events, { limit: 10 }),
  });
  await expect(collect(feed.backlog())).rejects.toThrow("the store is locked");
  expect(await collect(feed.backlog())).toEqual([others]);
  expect(await collect(feed.backlog())).toEqual([]);
  expect(attempts).toBe(2);
});
