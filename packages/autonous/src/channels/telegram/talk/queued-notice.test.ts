import { expect, test } from "vitest";
import { makeRequest } from "../../../../../../test/support/approval-request.ts";
import { ADA, scratchPlace } from "../../../../../../test/support/telegram-channel.ts";
import type { Place } from "../../../../../../test/support/telegram-channel.ts";
import { TelegramClient } from "../api/client.ts";
import { RateLimit } from "../api/rate-limit.ts";
import { QueuedNotice } from "./queued-notice.ts";

interface Watched {
  readonly place: Place;
  readonly notice: QueuedNotice;
  readonly rate: RateLimit;
  readonly put: (text: string) => Promise<void>;
  readonly pass: (ms: number) => Promise<void>;
  readonly shown: () => readonly string[];
}

/** Messages of Ada's, and what is said of them by a clock of ours. */
async function watch(chatMs = 0): Promise<Watched> {
  const place = await scratchPlace();
  const { store, telegram } = place;
  telegram.say({ text: "hello" }); // who has never written cannot be written to
  let now = 1_000_000;
  const clock = (): number => now;
  const rate = new RateLimit({ clock, chatMs, groupMs: 0, anyMs: 0 });
  const about = { token: telegram.token, api_root: telegram.url, log: () => undefined };
  const client = new TelegramClient({ ...about, clock, rate });
  const notice = new QueuedNotice({ store, client, clock });
  return {
    place,
    notice,
    rate,
    async put(text) {
      await store.inbox.ingest({ source: "telegram", lane: `telegram:${ADA}`, text, user: "42" });
      notice.note({ chat: ADA });
    },
    async pass(ms) {
      now += ms;
      await notice.show();
    },
    shown: () => telegram.answers().map(({ text }) => text),
  };
}

test("messages behind a running task are acknowledged in one silent message, which goes when none waits", async () => {
  const { place, put, pass, shown } = await watch();
  const { telegram, store } = place;
  await put("one");
  const first = await place.claim();
  await put("two");
  expect(shown()).toEqual([]);
  await pass(1500);
  expect(shown()).toEqual(["Queued (1): starts when the running task ends."]);
  expect(telegram.answers()[0]?.is_silent).toBe(true);
  for (let i = 3; i <= 10; i++) {
    await put(`message ${i}`);
    await pass(100);
  }
  expect(telegram.calls.filter(({ method }) => method !== "getUpdates")).toHaveLength(1);
  await pass(4000);
  expect(shown()).toEqual(["Queued (9): starts when the running task ends."]);
  await store.inbox.finish(first, { outcome: "done", reply: "done" });
  for (const task of (await place.tasks()).filter(({ state }) => state === "queued"))
    await store.tasks.cancel(task.task_id, "ada");
  await pass(4000);
  expect(shown()).toEqual([]);
  expect(await store.kv.get("telegram:queued")).toBe("{}");
});

test("where another message has just taken the turn of the chat, the notice follows as soon as it may", async () => {
  const { place, put, pass, shown, rate } = await watch(1000);
  await put("one");
  await place.claim();
  await put("two");
  await pass(1400);
  expect(rate.tryTake(ADA)).toBe(true); // how far the task is, say
  await pass(200);
  expect(shown()).toEqual([]);
  await pass(800);
  expect(shown()).toEqual(["Queued (1): starts when the running task ends."]);
});

test("a message that is taken at once is not acknowledged", async () => {
  const { place, put, pass, shown } = await watch();
  await put("one");
  await place.claim();
  await pass(2000);
  expect(shown()).toEqual([]);
});

test("behind a question the notice says to answer it first", async () => {
  const { place, put, pass, shown } = await watch();
  await put("one");
  const lease = await place.claim();
  const { task_id, run_id, lane, user } = lease.task;
  await place.store.approvals.open(makeRequest({ now: Date.now(), task_id, run_id, chat: lane, user }));
  await place.store.inbox.finish(lease, { outcome: "parked" });
  await put("two");
  await pass(2000);
  expect(shown()).toEqual([
    "Queued (1): answer the question above first. A reply to it denies the call with your words as the reason.",
  ]);
});

test("a notice that a killed process left standing is looked after by the next", async () => {
  const { place, put, pass, shown } = await watch();
  await put("one");
  const lease = await place.claim();
  await put("two");
  await pass(1500);
  expect(shown()).toHaveLength(1);
  await place.store.inbox.finish(lease, { outcome: "done", reply: "done" });
  await place.claim();
  await place.open();
  await place.telegram.until(() => !shown().some((text) => text.startsWith("Queued")), "the notice to go");
});
