import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeId, runPath } from "@autonous/runtime/internal";
import type { EventType } from "@autonous/runtime/internal";
import { expect, test } from "vitest";
import { makeRequest } from "../../../../../../test/support/approval-request.ts";
import { ADA, scratchPlace } from "../../../../../../test/support/telegram-channel.ts";
import { ownWords } from "../../../model/prompt/quoted.ts";

const FORUM = -1_001_234_567_890;

test("each topic is a chat of its own: its tasks, answers, command answers and notices stay in it", async () => {
  const { telegram, open, tasks, until, answer } = await scratchPlace();
  const one = telegram.createTopic({ chat: FORUM, name: "One" });
  const two = telegram.createTopic({ chat: FORUM, name: "Two" });
  const old = Math.floor(Date.now() / 1000) - 3600;
  telegram.say({ chat: FORUM, thread: one, text: "@fake_bot too old", date: old });
  await open();
  const notice = await telegram.until(() => telegram.answers(FORUM)[0], "the notice");
  expect(notice).toMatchObject({
    thread: one,
    text: expect.stringMatching(/^1 message sent during downtime/) as string,
  });
  telegram.say({ chat: FORUM, thread: one, text: "@fake_bot first" });
  telegram.say({ chat: FORUM, thread: two, text: "not for the bot" });
  telegram.say({ chat: FORUM, thread: two, text: "@fake_bot second" });
  telegram.say({ chat: FORUM, text: "@fake_bot third" });
  const taken = await until(async () => (await tasks()).length === 3 && (await tasks()));
  expect(taken.map(({ lane, text, user }) => [lane, ownWords(text), user])).toEqual([
    [`telegram:${FORUM}:${one}`, "first", String(ADA)],
    [`telegram:${FORUM}:${two}`, "second", String(ADA)],
    [`telegram:${FORUM}`, "third", String(ADA)],
  ]);
  for (const text of ["answer 1", "answer 2", "answer 3"]) await answer(text);
  telegram.say({ chat: FORUM, thread: two, text: "/tasks" });
  const said = await telegram.until(() => telegram.answers(FORUM).length === 5 && telegram.answers(FORUM), "all");
  const threads = new Set(said.slice(1, 4).map(({ thread }) => thread));
  expect(threads).toEqual(new Set([one, two, undefined]));
  expect(said[4]).toMatchObject({ thread: two, text: expect.stringContaining("second") as string });
  expect(said[4]?.text).not.toContain("first");
});

test("files, questions, their presses and outcomes, displays and progress stay in the topic", async () => {
  const place = await scratchPlace();
  const { telegram, open, claim, store, notifier, until } = place;
  const thread = telegram.createTopic({ chat: FORUM, name: "One" });
  await open();
  telegram.say({ chat: FORUM, thread, text: "@fake_bot clean up" });
  const lease = await claim();
  const { task_id, run_id, trace_id, lane, user } = lease.task;
  const record = async (type: EventType, payload: object): Promise<void> => {
    const ids = { event_id: makeId("evt", Date.now()), ts: new Date().toISOString(), parent_id: null };
    await store.journal(run_id).append([{ ...ids, type, trace_id, task_id, run_id, payload: { ...payload } }]);
    notifier.notify();
  };
  await record("task.started", {});
  await record("display", { tool_call_id: "call_1", level: "info", title: "", content: "half is done" });
  const artifact = "artifacts/a.txt";
  mkdirSync(join(runPath(place.state_dir, run_id), "artifacts"), { recursive: true });
  writeFileSync(join(runPath(place.state_dir, run_id), artifact), "text");
  const file = { artifact, name: "a.txt", media_type: "text/plain", bytes: 4, sha256: "" };
  await record("tool_call.completed", { tool_call_id: "call_2", tool_name: "attach", attachments: [file] });
  await telegram.until(() => telegram.answers(FORUM).some(({ text }) => text.startsWith("Working")), "the progress");
  await store.approvals.open(makeRequest({ now: Date.now(), task_id, run_id, chat: lane, user }));
  notifier.notify();
  const question = await telegram.until(
    () => telegram.answers(FORUM).find(({ buttons }) => buttons.length > 0),
    "the question",
  );
  await until(async () => (await store.outbox.receiptOf("apr_1")) !== undefined);
  const seen = telegram.answers(FORUM);
  expect(new Set(seen.map((message) => message.thread))).toEqual(new Set([thread]));
  expect(seen.some(({ document }) => document !== undefined)).toBe(true);
  expect(seen.some(({ text }) => text.includes("half is done"))).toBe(true);
  telegram.press({ chat: FORUM, message_id: question.message_id, button: "Allow once" });
  await until(async () => (await store.approvals.get("apr_1"))?.state === "granted");
});
