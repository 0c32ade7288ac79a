import type { ApprovalAnswer, ApprovalRequest } from "@autonous/runtime";
import { expect, test } from "vitest";
import { makeRequest } from "../../../../../../test/support/approval-request.ts";
import { ADA, scratchPlace } from "../../../../../../test/support/telegram-channel.ts";
import type { Place } from "../../../../../../test/support/telegram-channel.ts";
import { TelegramClient } from "../api/client.ts";
import { RateLimit } from "../api/rate-limit.ts";
import type { Written } from "../incoming/read-update.ts";
import { Questions } from "./questions.ts";
import { Reasons } from "./reasons.ts";

const BOB = 77;

/** A task of Ada's that asks for something; gives the request and the number of the message that asks. */
async function ask(place: Place, chat: number = ADA): Promise<{ request: ApprovalRequest; message_id: number }> {
  const { telegram, store, notifier } = place;
  telegram.say({ text: chat < 0 ? "@fake_bot do it" : "do it", chat });
  const { task } = await place.claim();
  const { task_id, run_id, lane, user } = task;
  const request = makeRequest({ now: Date.now(), task_id, run_id, chat: lane, user });
  await store.approvals.open(request);
  notifier.notify();
  const { message_id } = await telegram.until(
    () => telegram.answers(chat).find(({ buttons }) => buttons.length > 0),
    "the question",
  );
  await place.until(async () => (await store.outbox.receiptOf(request.approval_id)) !== undefined);
  return { request, message_id };
}

async function answerOf({ store }: Place, { approval_id }: ApprovalRequest): Promise<ApprovalAnswer | undefined> {
  return (await store.approvals.get(approval_id))?.answer;
}

const SECRET = `ghp_${"a1B2".repeat(9)}`;

// oxfmt-ignore
const REASONS = [
  { title: "a sentence",                      text: "Use the staging server.",    reason: "Use the staging server." },
  { title: "what looks like a command",       text: "/cancel",                    reason: "/cancel" },
  { title: "what looks like a call",          text: "/write {\"path\":\"a.txt\"}",  reason: "/write {\"path\":\"a.txt\"}" },
  { title: "what holds a secret",             text: `no: ${SECRET}`,              reason: expect.not.stringContaining(SECRET) as string },
  { title: "as much as an answer takes",       text: "y".repeat(2000),                reason: "y".repeat(2000) },
  { title: "as much as a message takes",      text: "why ".repeat(1000).trim(),   reason: `${"why ".repeat(1000).slice(0, 1999)}…` },
] as const;

for (const { title, text, reason } of REASONS) {
  test(`a reply to the question is the reason for a no: ${title}`, async () => {
    const place = await scratchPlace();
    await place.open();
    const { request, message_id } = await ask(place);
    place.telegram.say({ text, reply_to: message_id });
    await place.until(async () => (await answerOf(place, request)) !== undefined);
    expect(await answerOf(place, request)).toEqual({ answer: "deny", reason, by: "telegram:42", via: "telegram" });
    const { telegram } = place;
    await telegram.until(
      () => telegram.answers().some((each) => each.text.includes("Denied by Person 42: ")),
      "the edit",
    );
    const said = await telegram.until(
      () => telegram.answers().find((each) => each.text.startsWith("Denied.")),
      "a line",
    );
    const gets = text.length > 2000 ? "the beginning of your reason; the rest is too long" : "your reason";
    expect([said.text, said.is_silent]).toEqual([`Denied. The agent gets ${gets}.`, true]);
    expect(await place.tasks()).toHaveLength(1);
  });
}

for (const isReply of [false, true]) {
  test(`a reason that the app split makes no task of its rest, where each part ${isReply ? "replies" : "stands alone"}`, async () => {
    const place = await scratchPlace();
    await place.open();
    const { telegram } = place;
    const { request, message_id } = await ask(place);
    const date = Math.floor(Date.now() / 1000);
    telegram.say({ text: "why ".repeat(1000).trim(), reply_to: message_id, date });
    const rest = { date: date + 1, ...(isReply ? { reply_to: message_id } : {}) };
    telegram.say({ text: "and ".repeat(1000).trim(), ...rest });
    telegram.say({ text: "that is all", ...rest });
    telegram.say({ text: "/status", date: date + 1 });
    telegram.say({ text: "a task of its own", date: date + 2 });
    await place.until(async () => (await place.tasks()).length > 1);
    expect((await answerOf(place, request))?.reason).toMatch(/^why [^]*…$/);
    expect((await place.tasks()).map(({ text }) => text).toSorted()).toEqual(["a task of its own", "do it"]);
    await telegram.until(() => telegram.answers().some(({ text }) => /running/.test(text)), "the status");
  });
}

test("the button asks for the reason, and the reply to that is the reason", async () => {
  const place = await scratchPlace();
  await place.open();
  const { telegram } = place;
  const { request, message_id } = await ask(place);
  const query = telegram.press({ message_id, button: "Deny with a reason…" });
  await telegram.until(() => query.answer, "the answer");
  expect(query.answer).toEqual({ text: "Reply with the reason", show_alert: false });
  const prompt = await telegram.until(
    () => telegram.answers().find(({ text }) => text.startsWith("What is the reason?")),
    "the prompt",
  );
  const { parameters } =
    telegram.calls.find(({ parameters: given }) => JSON.stringify(given).includes("force_reply")) ?? {};
  expect(parameters).toMatchObject({ reply_parameters: { message_id: 1, allow_sending_without_reply: true } });
  expect(await answerOf(place, request)).toBeUndefined();
  telegram.say({ text: "Too expensive", reply_to: prompt.message_id });
  await place.until(async () => (await answerOf(place, request))?.reason === "Too expensive");
  await telegram.until(
    () => !telegram.answers().some(({ message_id: id }) => id === prompt.message_id),
    "the prompt to go",
  );
  expect(await place.tasks()).toHaveLength(1);
  expect(await place.until(async () => (await place.store.kv.get("telegram:reasons")) === "[]")).toBe(true);
});

test("who thinks better of it may still allow the call, and the prompt is removed", async () => {
  const place = await scratchPlace();
  await place.open();
  const { telegram } = place;
  const { request, message_id } = await ask(place);
  telegram.press({ message_id, button: "Deny with a reason…" });
  await telegram.until(() => telegram.answers().length === 2, "the prompt");
  telegram.press({ message_id, button: "Allow once" });
  await telegram.until(() => telegram.answers().length === 1, "the prompt to go");
  expect(await answerOf(place, request)).toMatchObject({ answer: "grant", scope: "call" });
});

test("a reply to a question that was answered is a task with the question as a quotation", async () => {
  const place = await scratchPlace();
  await place.open();
  const { request, message_id } = await ask(place);
  await place.store.approvals.answer(request.approval_id, { answer: "grant", scope: "call", by: "ada", via: "http" });
  place.telegram.say({ text: "and then the tests", reply_to: message_id });
  const [, task] = await place.until(async () => (await place.tasks()).length === 2 && (await place.tasks()));
  expect(task?.text).toContain("and then the tests");
  expect(task?.text).toContain("> The agent wants to run a command");
  expect(await answerOf(place, request)).toMatchObject({ answer: "grant" });
});

test("only the person who gave the task denies by a reply; words of others are not a task", async () => {
  const place = await scratchPlace();
  await place.open({ allowed_users: [ADA, BOB] });
  const { telegram } = place;
  const { request, message_id } = await ask(place, -5);
  telegram.say({ user: BOB, chat: -5, text: "no!", reply_to: message_id });
  await telegram.until(() => telegram.answers(-5).some(({ text }) => text.startsWith("Only the person")), "the notice");
  expect(await answerOf(place, request)).toBeUndefined();
  expect(await place.tasks()).toHaveLength(1);
});

test("a reason that comes again after a crash is neither taken twice nor a task; one that is too long is cut", async () => {
  const place = await scratchPlace();
  const { telegram, store } = place;
  const first = await place.open();
  const { request, message_id } = await ask(place);
  await first.close();
  const rate = new RateLimit({ chatMs: 0, groupMs: 0, anyMs: 0 });
  const client = new TelegramClient({ token: telegram.token, api_root: telegram.url, log: () => undefined, rate });
  const parts = {
    store,
    client,
    allowed: new Set([ADA]),
    clock: Date.now,
    onTask: () => undefined,
    onAnswer: () => undefined,
  };
  const about = { kind: "written", message_id: 9, chat: ADA, isPrivate: true, user: ADA, sent_at: 0 } as const;
  const written: Written = { ...about, update_id: 9, text: "x".repeat(10_000), reply_to: message_id };

  expect(await new Questions(parts).reply(written)).toBe(true);
  expect((await answerOf(place, request))?.reason).toBe(`${"x".repeat(1999)}…`);
  expect(await new Questions(parts).reply(written)).toBe(true);
  expect(await new Questions(parts).reply({ ...written, update_id: 10 })).toBe(false);
  await new Reasons(parts).take({ ...written, update_id: 11 }, "another request");
  expect(await new Questions(parts).reply(written)).toBe(true); // all of the last batch comes again
  // A reason in another chat does not make a task of the rest of this one.
  const long = { ...written, update_id: 12, long: 4096 };
  await new Reasons(parts).take(long, request.approval_id);
  await new Reasons(parts).take({ ...long, update_id: 13, chat: -5 }, "another request");
  expect(await new Reasons(parts).continues({ ...about, update_id: 14, text: "the rest" })).toBe(true);
  await client.close(1000);
});

test("a prompt that was sent but not recorded before a crash is answered all the same", async () => {
  const place = await scratchPlace();
  const first = await place.open();
  const { request } = await ask(place);
  await first.close();
  const awaited = [{ chat: ADA, approval_id: request.approval_id, user: ADA, message_id: null }];
  await place.store.kv.set("telegram:reasons", JSON.stringify(awaited));
  await place.open();
  place.telegram.say({ text: "not today", reply_to: 1 });
  await place.until(async () => (await answerOf(place, request))?.reason === "not today");
});

function prompts({ telegram }: Place): readonly { readonly message_id: number }[] {
  return telegram.answers().filter(({ text }) => text.startsWith("What is the reason?"));
}

test("a button that is pressed twice leaves one prompt, and the reply to it is the reason", async () => {
  const place = await scratchPlace();
  await place.open();
  const { telegram } = place;
  const { request, message_id } = await ask(place);
  for (let i = 0; i < 2; i++) {
    const query = telegram.press({ message_id, button: "Deny with a reason…" });
    await telegram.until(() => query.answer, "the answer");
  }
  await telegram.until(() => telegram.calls.some(({ method }) => method === "deleteMessage"), "the removal");
  const [prompt, ...others] = await telegram.until(() => prompts(place).length === 1 && prompts(place), "one prompt");
  expect(others).toEqual([]);
  telegram.say({ text: "too risky", reply_to: prompt?.message_id ?? 0 });
  await place.until(async () => (await answerOf(place, request))?.reason === "too risky");
  expect(await place.tasks()).toHaveLength(1);
});

test("a prompt that is sent after the question was answered is removed", async () => {
  const place = await scratchPlace();
  await place.open();
  const { telegram, store } = place;
  const { request, message_id } = await ask(place);
  telegram.fault({ kind: "slow", method: "sendMessage", text: "What is the reason?", ms: 500 });
  telegram.press({ message_id, button: "Deny with a reason…" });
  await place.until(async () => (await store.kv.get("telegram:reasons"))?.includes(request.approval_id));
  telegram.press({ message_id, button: "Allow once" });
  await place.until(async () => (await store.kv.get("telegram:reasons")) === "[]");
  expect(prompts(place)).toEqual([]);
  const isRemoved = ({ method, status }: (typeof telegram.calls)[number]): boolean =>
    method === "deleteMessage" && status === 200;
  await telegram.until(() => telegram.calls.some(isRemoved), "the removal");
  expect(prompts(place)).toEqual([]);
});

test("a prompt that may have been sent takes replies of its own topic only, and a recorded one comes first", async () => {
  const place = await scratchPlace();
  const { store, telegram } = place;
  const client = new TelegramClient({ token: telegram.token, api_root: telegram.url, log: () => undefined });
  const [one, two] = [
    { chat: -5, thread: 1, approval_id: "one", user: ADA, message_id: null },
    { chat: -5, thread: 2, approval_id: "two", user: ADA, message_id: 8 },
  ];
  await store.kv.set("telegram:reasons", JSON.stringify([one, two]));
  const reasons = new Reasons({ store, client });
  const about = { kind: "written", update_id: 1, message_id: 9, isPrivate: false, user: ADA, sent_at: 0 } as const;
  const find = (thread: number, reply_to: number) => reasons.find({ ...about, chat: -5, thread, reply_to, text: "no" });
  expect(await find(1, 7)).toBe("one");
  expect(await find(2, 8)).toBe("two");
  expect(await find(1, 8)).toBe("two");
  expect(await find(2, 7)).toBeUndefined();
  await client.close(0);
});
