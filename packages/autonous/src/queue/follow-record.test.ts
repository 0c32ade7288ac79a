import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openStore } from "../store/open-store.ts";
import type { OutboxRow, Store } from "../store/store.ts";
import { Notifier } from "../store/notifier.ts";
import { DeliveryError } from "./outbox-sender.ts";
import type { OutboxSender } from "./outbox-sender.ts";
import { followRecord } from "./follow-record.ts";
import { Mirror } from "./mirror.ts";

async function setUp(): Promise<{ store: Store; mirror: Mirror; lines: string[] }> {
  const folder = mkdtempSync(join(tmpdir(), "autonous-follow-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const store = await openStore({ file: join(folder, "a.db"), clock: Date.now });
  onTestFinished(() => store.close());
  const lines: string[] = [];
  const log = (line: string): void => void lines.push(line);
  return { store, mirror: new Mirror({ store, state_dir: folder, heads: folder, clock: Date.now, log }), lines };
}

/** Puts replies into the outbox. */
async function reply(store: Store, replies: readonly (readonly [chat: string, text: string])[]): Promise<void> {
  for (const [lane, text] of replies) {
    await store.inbox.ingest({ source: "test", lane, text });
    const [lease] = await store.inbox.claim("worker", 1);
    if (lease !== undefined) await store.inbox.finish(lease, { outcome: "done", reply: text });
  }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

interface RunningDelivery {
  readonly sent: string[];
  readonly lines: string[];
  readonly notifier: Notifier;
  stop(): Promise<void>;
}

/** Delivers with `send` until the test ends. */
async function follow(
  { store, mirror, lines }: Awaited<ReturnType<typeof setUp>>,
  send: (row: OutboxRow) => Promise<unknown> | undefined,
): Promise<RunningDelivery> {
  const sent: string[] = [];
  const sender: OutboxSender = {
    channel: "test",
    async send(row) {
      await send(row);
      sent.push(row.content.kind === "text" ? row.content.text : row.content.kind);
      return { receipt: `message ${row.id}` };
    },
  };
  const notifier = new Notifier();
  const stopped = new AbortController();
  const log = (line: string): void => void lines.push(line);
  const following = followRecord(stopped.signal, { store, notifier, mirror, senders: [sender], log });
  const stop = async (): Promise<void> => {
    stopped.abort();
    notifier.notify();
    await following;
  };
  onTestFinished(stop);
  return { sent, lines, notifier, stop };
}

/** Fails until the network is up again. Sets a short retry time, so that the test does not have to wait. */
function outage(concerns: (row: OutboxRow) => boolean = () => true) {
  const state = { isDown: true, failures: 0 };
  const send = (row: OutboxRow): undefined => {
    if (!state.isDown || !concerns(row)) return undefined;
    state.failures++;
    throw new DeliveryError("the network is down", { retryAfterMs: 1 });
  };
  return { state, send };
}

test("if a reply is not accepted, only its chat waits, and the failure is logged once", async () => {
  const place = await setUp();
  await reply(place.store, [
    ["a", "a1"],
    ["a", "a2"],
    ["b", "b1"],
    ["a", "a3"],
    ["b", "b2"],
  ]);
  const { state, send } = outage(({ chat }) => chat === "a");
  const { sent, lines } = await follow(place, send);
  await until(() => state.failures > 3);
  expect(sent).toEqual(["b1", "b2"]);
  expect(lines).toEqual(["Cannot send replies via test: the network is down"]);
  state.isDown = false;
  await until(() => lines.length === 2);
  await until(() => sent.length === 5);
  expect(sent).toEqual(["b1", "b2", "a1", "a2", "a3"]);
  expect(lines[1]).toBe("Cannot send replies via test: resolved");
});

test("a channel that is down is not called before the next attempt is due, however often the notifier rings", async () => {
  const place = await setUp();
  await reply(place.store, [["a", "a1"]]);
  let attempts = 0;
  const { notifier } = await follow(place, () => {
    attempts++;
    throw new DeliveryError("come back later", { retryAfterMs: 3_600_000 });
  });
  await until(() => attempts === 1);
  for (let i = 0; i < 20; i++) {
    notifier.notify();
    await new Promise(setImmediate);
  }
  const due = await place.store.outbox.nextDueAt("test");
  expect(attempts).toBe(1);
  expect(due ?? 0).toBeGreaterThan(Date.now() + 3_500_000);
});

test("an undeliverable message is abandoned and logged, and the following ones are sent", async () => {
  const place = await setUp();
  await reply(place.store, [
    ["a", "a1"],
    ["a", "a2"],
  ]);
  const { sent, lines } = await follow(place, ({ content }) => {
    if (content.kind === "text" && content.text === "a1")
      throw new DeliveryError("the chat is gone", { forGood: true });
    return undefined;
  });
  await until(() => sent.length === 1);
  const [task] = (await place.store.tasks.list({ limit: 9 })).tasks.toReversed();
  expect(sent).toEqual(["a2"]);
  expect(lines).toEqual([
    `The reply of task ${task?.task_id} cannot be delivered via test; giving up: the chat is gone`,
  ]);
  const details = await place.store.tasks.get(task?.task_id ?? "");
  expect(details).toMatchObject({
    reply: "a1",
    reply_sent_at: null,
    unsent: [{ kind: "text", channel: "test", attempts: 1, error: "the chat is gone", next_at: null }],
  });
  expect(details?.audit.at(-1)?.message).toBe(
    "the reply could not be sent by test and will not be retried: the chat is gone",
  );
});

test("a slow message delays only its own chat", async () => {
  const place = await setUp();
  const { promise: slow, resolve } = Promise.withResolvers<void>();
  await reply(place.store, [
    ["a", "a1"],
    ["a", "a2"],
  ]);
  const { sent, notifier } = await follow(place, ({ chat }) => (chat === "a" ? slow : undefined));
  for (const text of ["b1", "b2", "b3"]) {
    await reply(place.store, [["b", text]]);
    notifier.notify();
    await until(() => sent.includes(text));
  }
  expect(sent).toEqual(["b1", "b2", "b3"]);
  resolve();
  await until(() => sent.length === 5);
  expect(sent).toEqual(["b1", "b2", "b3", "a1", "a2"]);
});

test("a message that the channel accepted is not sent again if the store could not record it", async () => {
  const place = await setUp();
  await reply(place.store, [["a", "a1"]]);
  let refusals = 0;
  const markSent: Store["outbox"]["markSent"] = (...row) =>
    refusals++ < 2 ? Promise.reject(new Error("the store is locked")) : place.store.outbox.markSent(...row);
  const store = { ...place.store, outbox: { ...place.store.outbox, markSent } };
  const { sent, lines, notifier } = await follow({ ...place, store }, () => undefined);
  await until(() => {
    notifier.notify();
    return lines.length === 2;
  });
  expect(sent).toEqual(["a1"]);
  expect(lines).toEqual([
    "Cannot send replies via test: the store is locked",
    "Cannot send replies via test: resolved",
  ]);
  expect(await place.store.outbox.pending({ limit: 1 })).toEqual([]);
});

test("many replies to many chats are all sent, in order per chat", async () => {
  const place = await setUp();
  const replies = Array.from({ length: 200 }, (_, at) => [`chat ${at % 20}`, `${at}`] as const);
  await reply(place.store, replies);
  const chats = new Map<string, number[]>();
  const { sent } = await follow(place, async ({ chat, content }) => {
    await new Promise(setImmediate);
    chats.set(chat, [...(chats.get(chat) ?? []), Number(content.kind === "text" ? content.text : Number.NaN)]);
  });
  await until(() => sent.length === 200);
  for (const numbers of chats.values()) expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
});

test("messages that are due at shutdown are sent before it ends", async () => {
  const place = await setUp();
  const { sent, stop } = await follow(place, () => undefined);
  await reply(place.store, [
    ["a", "a1"],
    ["b", "b1"],
    ["a", "a2"],
  ]);
  await stop();
  expect(sent.toSorted()).toEqual(["a1", "a2", "b1"]);
});

test("a failing store is logged once, and does not stop the loop", async () => {
  const { store, mirror, lines } = await setUp();
  const notifier = new Notifier();
  let rounds = 0;
  const failing = (): Promise<never> => {
    rounds++;
    return Promise.reject(new Error("the store is locked"));
  };
  const locked: Store = { ...store, outbox: { ...store.outbox, pending: failing } };
  const stopped = new AbortController();
  const senders = [{ channel: "test", send: () => Promise.resolve({}) }];
  const options = { store: locked, notifier, mirror, senders, log: (line: string) => void lines.push(line) };
  const following = followRecord(stopped.signal, options);
  await until(() => {
    notifier.notify();
    return rounds > 3;
  });
  stopped.abort();
  notifier.notify();
  await following;
  expect(lines).toEqual(["Cannot send replies via test: the store is locked"]);
});
