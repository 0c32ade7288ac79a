import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeId } from "@autonous/runtime/internal";
import { afterEach, expect, test } from "vitest";
import { openStore } from "../open-store.ts";
import type { Store } from "../store.ts";

const DAY_MS = 86_400_000;
const opened: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of opened.splice(0)) await close();
});

interface Place {
  readonly store: Store;
  readonly file: string;
  at(ms: number): void;
}

async function place(): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), "autonous-upkeep-"));
  const file = join(folder, "autonous.db");
  let now = 100 * DAY_MS;
  const store = await openStore({ file, clock: () => now });
  opened.push(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { store, file, at: (ms) => (now = ms) };
}

let messages = 0;

/** A completed task; the channel has accepted its reply unless it should wait. */
async function doTask({ store }: Place, options: { readonly events?: number; readonly sent?: boolean } = {}) {
  const lane = `lane ${++messages}`;
  const ids = await store.inbox.ingest({ source: "test", external_id: String(messages), lane, text: "secret words" });
  const [lease] = await store.inbox.claim("worker", 1);
  if (lease === undefined) throw new Error("nothing to claim");
  const about = { trace_id: lease.task.trace_id, task_id: ids.task_id, run_id: ids.run_id, parent_id: null };
  const drafts = Array.from({ length: options.events ?? 3 }, (_, index) => ({
    event_id: makeId("evt", Date.now()),
    ts: new Date(0).toISOString(),
    type: "progress" as const,
    ...about,
    payload: { level: "info", content: `event ${index} ${"x".repeat(200)}` },
  }));
  const journal = store.journal(ids.run_id, lease);
  await journal.append(drafts);
  await store.inbox.finish(lease, { outcome: "done", reply: "an answer" });
  if (options.sent !== false)
    for (const { id } of await store.outbox.pending({ limit: 10 })) await store.outbox.markSent(id);
  return ids;
}

async function forget({ store }: Place, run_id: string) {
  const left = await store.upkeep.markForgotten(run_id);
  await store.upkeep.forgetRun(run_id);
  await store.upkeep.markRemoved(run_id);
  return left;
}

test("ended runs are listed as old, oldest first, without those with an unsent reply", async () => {
  const where = await place();
  const first = await doTask(where);
  where.at(101 * DAY_MS);
  const second = await doTask(where);
  await doTask(where, { sent: false });
  await where.store.inbox.ingest({ source: "test", lane: "open", text: "waits" });

  const old = await where.store.upkeep.oldRuns({ before: 200 * DAY_MS, limit: 10 });
  expect(old.map(({ run_id }) => run_id)).toEqual([first.run_id, second.run_id]);
  expect(await where.store.upkeep.oldRuns({ before: 101 * DAY_MS, limit: 10 })).toHaveLength(1);
});

test("a pruned run leaves its length and last hash, but no messages", async () => {
  const where = await place();
  const { store } = where;
  const { run_id, task_id } = await doTask(where, { events: 1300 });
  const last = (await store.events.last({ run_id, limit: 1 }))[0];

  const left = await forget(where, run_id);

  expect(left).toMatchObject({
    run_id,
    task_id,
    events: last?.event.seq,
    last_hash: last?.event.hash,
    removed_at: null,
  });
  expect(await store.events.read({ run_id, limit: 1 })).toEqual([]);
  const details = await store.tasks.get(task_id);
  expect(details).toMatchObject({ task: { text: "", state: "done" }, audit: [], reply: null });
  const next = await store.inbox.ingest({ source: "test", lane: details?.task.lane ?? "", text: "next" });
  expect(await store.history.before(next.task_id, 10)).toEqual([]);
  expect(await store.upkeep.forgotten(task_id)).toMatchObject({ run_id, removed_at: 100 * DAY_MS });
  expect(await store.upkeep.oldRuns({ before: 200 * DAY_MS, limit: 10 })).toEqual([]);
});

test("a pruned run leaves neither the name of its user nor its files", async () => {
  const where = await place();
  const { store } = where;
  const from = { origin: JSON.stringify({ message_id: 3, name: "Ada" }), files: JSON.stringify({ files: [] }) };
  const { run_id, task_id } = await store.inbox.ingest({ source: "telegram", lane: "telegram:7", text: "x", ...from });
  const [lease] = await store.inbox.claim("worker", 1);
  if (lease === undefined) throw new Error("nothing to claim");
  await store.inbox.finish(lease, { outcome: "done", reply: "y" });
  for (const { id } of await store.outbox.pending({ limit: 10 })) await store.outbox.markSent(id);

  await forget(where, run_id);

  expect((await store.tasks.get(task_id))?.task).toMatchObject({ text: "", origin: null, files: null });
});

test("a message whose run was pruned is still not accepted again", async () => {
  const where = await place();
  const { run_id, task_id } = await doTask(where);
  await forget(where, run_id);

  const again = await where.store.inbox.ingest({
    source: "test",
    external_id: String(messages),
    lane: "another",
    text: "secret words",
  });

  expect(again).toEqual({ run_id, task_id, duplicate: true });
});

test("a marked run is unfinished until it is removed, and an unmarked one cannot be pruned", async () => {
  const where = await place();
  const { store } = where;
  const { run_id } = await doTask(where);
  await expect(store.upkeep.forgetRun(run_id)).rejects.toThrow(/the deletion was not recorded first/);

  const marked = await store.upkeep.markForgotten(run_id);
  expect(await store.upkeep.unfinished(10)).toEqual([marked]);
  expect(await store.upkeep.markForgotten(run_id)).toBeUndefined();
  expect(await store.events.read({ run_id, limit: 1 })).toHaveLength(1);

  await store.upkeep.forgetRun(run_id);
  await store.upkeep.forgetRun(run_id);
  await store.upkeep.markRemoved(run_id);
  expect(await store.upkeep.unfinished(10)).toEqual([]);
});

test("a copy is complete although others write, and only this user can read it", async () => {
  const where = await place();
  const { store, file } = where;
  const { run_id } = await doTask(where, { events: 2000 });
  const copied = store.upkeep.backup(`${file}.copy`);
  for (let count = 0; count < 200; count++) await store.kv.set("count", String(count));
  await copied;

  expect(statSync(`${file}.copy`).mode & 0o777).toBe(0o600);
  const copy = await openStore({ file: `${file}.copy`, clock: Date.now });
  opened.push(() => copy.close());
  expect((await copy.events.last({ run_id, limit: 1 }))[0]).toEqual((await store.events.last({ run_id, limit: 1 }))[0]);
  await expect(store.upkeep.backup(`${file}.copy`)).rejects.toThrow(/EEXIST/);
});

test("the space of pruned runs is released to the file system", async () => {
  const where = await place();
  const { store, file } = where;
  const { run_id } = await doTask(where, { events: 20_000 });
  await store.upkeep.shrink();
  const before = statSync(file).size;
  const usedBefore = await store.upkeep.usedBytes();
  await forget(where, run_id);
  for (let rounds = 0; rounds < 10; rounds++) await store.upkeep.shrink();

  expect(await store.upkeep.usedBytes()).toBeLessThan(usedBefore / 4);
  expect(statSync(file).size).toBeLessThan(before / 4);
  expect(statSync(`${file}-wal`).size).toBe(0);
});
