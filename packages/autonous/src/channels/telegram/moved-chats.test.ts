import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { runPath } from "@autonous/runtime/internal";
import { expect, test } from "vitest";
import { makeRequest } from "../../../../../test/support/approval-request.ts";
import { scratchPlace } from "../../../../../test/support/telegram-channel.ts";
import type { Place } from "../../../../../test/support/telegram-channel.ts";
import { MovedChats } from "./moved-chats.ts";

const GROUP = -77;

const saidIn = ({ telegram }: Place, chat: number): readonly string[] => telegram.answers(chat).map(({ text }) => text);

async function asked(text: string): Promise<Place> {
  const place = await scratchPlace();
  await place.open({ groups: "all" });
  place.telegram.say({ chat: GROUP, text });
  await place.until(async () => (await place.tasks()).length === 1);
  return place;
}

test("a group that becomes a supergroup goes on as the same conversation, also after a restart", async () => {
  const place = await asked("what is there?");
  const chat = place.telegram.migrate({ chat: GROUP });
  await place.answer("earlier answer");
  await place.telegram.until(() => saidIn(place, chat).includes("earlier answer"), "the answer");
  expect(place.telegram.answers(chat)[0]).not.toHaveProperty("reply_to"); // its number means another message here

  const next = place.telegram.say({ chat, text: "and now?" });
  await place.until(async () => (await place.tasks()).length === 2);
  expect((await place.tasks()).map(({ lane }) => lane)).toEqual([`telegram:${GROUP}`, `telegram:${GROUP}`]);
  await place.answer("of now");
  await place.telegram.until(() => saidIn(place, chat).includes("of now"), "the second answer");
  expect(place.telegram.answers(chat).at(-1)?.reply_to).toBe(next.message_id);
  const refused = place.telegram.calls.filter(({ method }) => method === "sendMessage").length;
  expect(refused).toBe(2); // nothing was tried in the old group: its members said where it went
});

test("what Telegram refuses for a group that moved during downtime is sent to its new chat", async () => {
  const place = await scratchPlace();
  const first = await place.open({ groups: "all" });
  place.telegram.say({ chat: GROUP, text: "what is there?" });
  await place.until(async () => (await place.tasks()).length === 1);
  await first.close();
  const lease = await place.claim();
  const { run_id } = lease.task;
  const path = join(runPath(place.state_dir, run_id), "artifacts/a.txt");
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "content");
  place.telegram.fault({ kind: "hang", method: "getUpdates", times: "always" }); // the notice of the move comes late
  const chat = place.telegram.migrate({ chat: GROUP });
  const { sender } = await place.open({ groups: "all" });
  const row = {
    id: 1,
    task_id: "tsk_1",
    run_id,
    channel: "telegram",
    chat: `telegram:${GROUP}`,
    attempts: 0,
    created_at: 0,
  };
  const file = { artifact: "artifacts/a.txt", name: "a.txt", media_type: "text/plain", bytes: 7, sha256: "" };
  await sender.send({ ...row, content: { kind: "file", ...file } });
  await sender.send({ ...row, id: 2, content: { kind: "text", text: "x" } });
  expect(place.telegram.answers(chat).map(({ document, text }) => document?.content.toString() ?? text)).toEqual([
    "content",
    "x",
  ]);
  expect(JSON.parse((await place.store.kv.get("telegram:moved")) ?? "")).toMatchObject([{ from: GROUP, to: chat }]);
});

test("a question that is asked after the move is answered in the new group", async () => {
  const place = await asked("run it");
  const chat = place.telegram.migrate({ chat: GROUP });
  const lease = await place.claim();
  const { task_id, run_id } = lease.task;
  await place.store.approvals.open(makeRequest({ now: Date.now(), task_id, run_id }));
  place.notifier.notify();
  const question = await place.telegram.until(
    () => place.telegram.answers(chat).find(({ buttons }) => buttons.length > 0),
    "the question",
  );
  await place.until(async () => (await place.store.outbox.receiptOf("apr_1")) !== undefined);
  place.telegram.press({ chat, message_id: question.message_id, button: question.buttons[0]?.[0]?.text ?? "" });
  await place.until(async () => (await place.store.approvals.get("apr_1"))?.state === "granted");
});

test("what was asked in a topic that was closed meanwhile is answered in the group", async () => {
  const place = await scratchPlace();
  await place.open({ groups: "all" });
  const chat = -1_000_000_000_077;
  const thread = place.telegram.createTopic({ chat });
  place.telegram.say({ chat, thread, text: "what is there?" });
  await place.until(async () => (await place.tasks()).length === 1);
  place.telegram.closeTopic({ chat, thread });
  await place.answer("nothing");
  await place.telegram.until(() => saidIn(place, chat).includes("nothing"), "the answer");
  expect(place.telegram.answers(chat)[0]).not.toHaveProperty("thread");
});

test("however many groups strangers take the bot into, what is kept of them is bounded", async () => {
  const { store } = await scratchPlace();
  const moved = new MovedChats(store, Date.now);
  for (let group = 1; group <= 1001; group++) await moved.record(-group, -1_000_000 - group);

  const again = new MovedChats(store, Date.now);
  await again.load();
  expect([again.current(-1), again.current(-2), again.current(-1001)]).toEqual([-1, -1_000_002, -1_001_001]);
});
