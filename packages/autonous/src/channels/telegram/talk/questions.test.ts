import type { ApprovalRequest } from "@autonous/runtime";
import { expect, test } from "vitest";
import { makeRequest } from "../../../../../../test/support/approval-request.ts";
import { ADA, scratchPlace } from "../../../../../../test/support/telegram-channel.ts";
import type { Place } from "../../../../../../test/support/telegram-channel.ts";
import type { ChatMessage } from "../../../../../../emulators/fake-telegram/server.ts";
import type { Store } from "../../../store/store.ts";
import { TelegramClient } from "../api/client.ts";
import { makeKeyboard, readButton } from "./question-buttons.ts";
import { makeQuestion } from "./question.ts";
import { Questions } from "./questions.ts";
import { RateLimit } from "../api/rate-limit.ts";

const BOB = 77;

interface OpenQuestion {
  readonly request: ApprovalRequest;
  readonly message: ChatMessage;
}

/** A task of Ada's that asks for something. */
async function ask(place: Place, given: Partial<ApprovalRequest> = {}, chat: number = ADA): Promise<OpenQuestion> {
  const { telegram, store, notifier } = place;
  telegram.say({ text: "@fake_bot do it", chat });
  const { task } = await place.claim();
  const { task_id, run_id, lane, user } = task;
  const request = makeRequest({ now: Date.now(), task_id, run_id, chat: lane, user, ...given });
  await store.approvals.open(request);
  notifier.notify();
  const message = await telegram.until(
    () => telegram.answers(chat).find(({ buttons }) => buttons.length > 0),
    "the question",
  );
  await place.until(async () => (await store.outbox.receiptOf(request.approval_id)) !== undefined);
  return { request, message };
}

async function stateOf({ store }: Place, { request }: OpenQuestion): Promise<string | undefined> {
  return (await store.approvals.get(request.approval_id))?.state;
}

const labels = ({ buttons }: ChatMessage): readonly string[] => buttons.flat().map(({ text }) => text);

test("a question says who wants what, then exactly that, why, how wide each yes is, and the rest folded", async () => {
  const place = await scratchPlace();
  await place.open();
  const { message } = await ask(place, {
    params: { cmd: "rm -r build\\nls", workdir: "web" },
    args_json: JSON.stringify({ cmd: "rm -r build\nls", workdir: "web" }),
    reason: "It deletes",
    commands: [{ command: "rm -r build", folder: "/srv/work", network: false, found: "it deletes" }],
  });
  const part = (type: string): string | undefined => {
    const entity = message.entities.find((each) => each.type === type);
    return entity && message.text.slice(entity.offset, entity.offset + entity.length);
  };
  expect(part("bold")).toBe("The agent wants to run a command in /srv/work.");
  expect(part("pre")).toBe("rm -r build\nls");
  expect(message.entities.find(({ type }) => type === "pre")?.["language"]).toBe("bash");
  expect(part("expandable_blockquote")).toBe(
    [
      "Risk: high",
      "Tool: bash 1.0.0",
      "Rule: profile:guarded:run",
      "Command: rm -r build (it deletes)",
      "Digest: dddddddddddddddd",
      "Expires in 60 minutes",
      'Arguments: {"workdir":"web"}',
    ].join("\n"),
  );
  expect(message.text).toContain("\n\nWhy you are asked: It deletes\n\n");
  expect(message.text).toContain("Allow exactly this in this chat: allows exactly this call again");
  expect(message.text).not.toContain("autonous ");
  expect(labels(message)).toEqual(["Allow once", "Deny", "Allow exactly this in this chat", "Deny with a reason…"]);
});

test("a change is shown as a diff, and each offer has a button in the words of what it allows", async () => {
  const place = await scratchPlace();
  await place.open();
  const diff = "--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1 +1 @@\n-one\n+two\n";
  const file = { kind: "path", tool: "edit", path: "src/a.ts" } as const;
  const { message, request } = await ask(place, {
    tool: "edit",
    params: { path: "src/a.ts", find: "one", replace: "two" },
    changes: [{ path: "src/a.ts", diff, truncated: false }],
    offers: [
      { offer: "exact", words: "exactly this call again", pattern: { kind: "exact", call_digest: "c".repeat(64) } },
      { offer: "path", words: "any `edit` on `src/a.ts`", pattern: file },
      { offer: "folder", words: "any `edit` below `src`", pattern: { ...file, path: "src/**" } },
      { offer: "tool", words: `any \`edit\`${"x".repeat(300)}`, pattern: { kind: "tool", tool: "edit" } },
    ],
  });
  expect(message.text.split("\n")[0]).toBe("The agent wants to edit src/a.ts.");
  const pre = message.entities.find(({ type }) => type === "pre");
  expect(pre?.["language"]).toBe("diff");
  expect(message.text.slice(pre?.offset, (pre?.offset ?? 0) + (pre?.length ?? 0))).toBe(diff.trimEnd());
  expect(labels(message)).toEqual([
    "Allow once",
    "Deny",
    "Allow exactly this in this chat",
    "Allow edit on src/a.ts in this chat",
    "Allow edit below src in this chat",
    "Deny with a reason…",
  ]);
  const button = "Allow edit below src in this chat";
  const query = place.telegram.press({ message_id: message.message_id, button });
  await place.telegram.until(() => query.answer, "the answer");
  const approval = await place.store.approvals.get(request.approval_id);
  expect(approval?.answer).toMatchObject({ answer: "grant", scope: "session", offer: "folder" });
});

// oxfmt-ignore
const ANSWERS = [
  { button: "Allow once",                      answer: { answer: "grant", scope: "call" },                     says: "Allowed once by Person 42" },
  { button: "Allow exactly this in this chat", answer: { answer: "grant", scope: "session", offer: "exact" },  says: "Allowed in this chat by Person 42: exactly this call again" },
  { button: "Deny",                            answer: { answer: "deny" },                                     says: "Denied by Person 42" },
] as const;

for (const { button, answer, says } of ANSWERS) {
  test(`"${button}" is the answer, the worker is told, and the message says what was answered`, async () => {
    const place = await scratchPlace();
    await place.open();
    const asked = await ask(place);
    const woken = place.woken();
    const query = place.telegram.press({ message_id: asked.message.message_id, button });
    await place.telegram.until(() => query.answer, "the answer");
    expect(query.answer).toEqual({ text: says, show_alert: false });
    const approval = await place.store.approvals.get(asked.request.approval_id);
    expect(approval?.answer).toEqual({ ...answer, by: "telegram:42", via: "telegram" });
    expect(place.woken()).toBeGreaterThan(woken);
    const edited = await place.telegram.until(
      () => place.telegram.answers().find(({ text }) => text.includes(says)),
      "the edit",
    );
    expect(edited.buttons).toEqual([]);
    expect(edited.message_id).toBe(asked.message.message_id);
  });
}

test("what offers nothing wider has no button for it", async () => {
  const place = await scratchPlace();
  await place.open();
  const { message } = await ask(place, { offers: [] });
  expect(labels(message)).toEqual(["Allow once", "Deny", "Deny with a reason…"]);
});

// oxfmt-ignore
const REFUSED = [
  { title: "of a user who is not on the list",    chat: -5,  press: { user: 7, chat: -5 },          says: "You do not have access to this bot" },
  { title: "of another person in the same group", chat: -5,  press: { user: BOB, chat: -5 },        says: "Only the person who gave the task can answer" },
  { title: "in another chat",                     chat: -5,  press: { chat: ADA },                  says: "This button works only in the chat it was sent to" },
  { title: "on another message",                  chat: ADA, press: { message_id: 1 },              says: "This button is out of date: use the newest message that asks for this" },
  { title: "with another nonce",                  chat: ADA, press: { data: (d: string) => d.replace(/:[\w-]{8}:/, ":AAAAAAAA:") }, says: "This button is out of date: use the newest message that asks for this" },
  { title: "with another digest",                 chat: ADA, press: { data: (d: string) => d.replace(":dddddddd:", ":00000000:") },  says: "This button belongs to another request" },
  { title: "of another request",                  chat: ADA, press: { data: (d: string) => d.replace(/[^:]+$/, "apr_2") },           says: "Request not found" },
  { title: "of no known kind",                    chat: ADA, press: { data: () => "yes" },                                           says: "Request not found" },
] as const;

for (const { title, chat, press, says } of REFUSED) {
  test(`a button ${title} does nothing but say so`, async () => {
    const place = await scratchPlace();
    await place.open({ allowed_users: [ADA, BOB] });
    place.telegram.say({ user: BOB, text: "/help" });
    const asked = await ask(place, {}, chat);
    const given: { user?: number; chat?: number; message_id?: number; data?: (data: string) => string } = press;
    const carried = asked.message.buttons[0]?.[0]?.callback_data ?? "";
    const query = place.telegram.press({
      user: given.user ?? ADA,
      chat: given.chat ?? chat,
      message_id: given.message_id ?? asked.message.message_id,
      data: given.data?.(carried) ?? carried,
      forged: true,
    });
    await place.telegram.until(() => query.answer, "the answer");
    expect(query.answer).toEqual({ text: says, show_alert: true });
    expect(await stateOf(place, asked)).toBe("pending");
  });
}

test("of two presses the first counts, and the other is told what it was", async () => {
  const place = await scratchPlace();
  await place.open();
  const asked = await ask(place);
  const { message_id } = asked.message;
  const [yes, no] = ["Allow once", "Deny"].map((button) => place.telegram.press({ message_id, button }));
  await place.telegram.until(() => yes?.answer !== undefined && no?.answer !== undefined, "the answers");
  expect(yes?.answer?.text).toBe("Allowed once by Person 42");
  expect(no?.answer).toEqual({ text: "Too late: Allowed once by Person 42", show_alert: true });
  expect(await stateOf(place, asked)).toBe("granted");
});

// oxfmt-ignore
const ELSEWHERE = [
  { title: "answered elsewhere", end: ({ store }: Place, id: string) => store.approvals.answer(id, { answer: "deny", by: "ada", via: "http" }), says: "Denied by ada (http)" },
  { title: "over",               end: ({ store }: Place, id: string) => store.approvals.end(id, "expired"),    says: "Expired: no answer in time, so it was not allowed" },
  { title: "withdrawn",          end: ({ store }: Place, id: string) => store.approvals.end(id, "withdrawn"),  says: "Withdrawn: the task no longer needs it" },
] as const;

for (const { title, end, says } of ELSEWHERE) {
  test(`a question that is ${title} says so and loses its buttons, also after a restart`, async () => {
    const place = await scratchPlace();
    const first = await place.open();
    const asked = await ask(place);
    await first.close();
    await end(place, asked.request.approval_id);
    await place.open();
    const edited = await place.telegram.until(
      () => place.telegram.answers().find(({ text }) => text.includes(says)),
      "the edit",
    );
    expect(edited.buttons).toEqual([]);
    expect(await place.until(async () => (await place.store.kv.get("telegram:questions")) === "[]")).toBe(true);
  });
}

test("text that is too long for a message is sent as a file, before the buttons", async () => {
  const place = await scratchPlace();
  await place.open();
  const { message, request } = await ask(place, { params: { cmd: `echo ${"x".repeat(10_000)} end` } });
  const [file] = place.telegram.answers();
  expect(file?.document?.file_name).toBe(`${request.approval_id}.txt`);
  expect(file?.document?.content.toString()).toContain(`${"x".repeat(10_000)} end`);
  expect(file?.message_id).toBeLessThan(message.message_id);
  expect(message.text).toContain("Truncated: the file above has the full text");
  expect(message.text.length).toBeLessThan(4096);
});

test("the file of a long question is sent once, however often the question is refused, also after a restart", async () => {
  const place = await scratchPlace();
  const { telegram, store } = place;
  const first = await place.open();
  telegram.fault({ kind: "rate_limited", method: "sendMessage", retry_after_s: 1, times: 2 });
  const asking = ask(place, { params: { cmd: "x".repeat(10_000) } });
  const refusals = (): number => telegram.calls.filter(({ status }) => status === 429).length;
  await telegram.until(() => refusals() === 1, "the first refusal");
  await first.close();
  await place.open();
  const { request } = await asking;
  expect(refusals()).toBe(2);
  expect(telegram.answers().filter(({ document }) => document !== undefined)).toHaveLength(1);
  expect(await store.kv.get("telegram:whole:42")).toBe(request.approval_id);
});

test("a question is asked once, with its file, while the store cannot record that it was", async () => {
  const { telegram, store } = await scratchPlace();
  telegram.say({ text: "hello" }); // who has never written cannot be written to
  let isFull = true;
  const set: Store["kv"]["set"] = (...given) =>
    isFull ? Promise.reject(new Error("the disk is full")) : store.kv.set(...given);
  const full = { ...store, kv: { ...store.kv, set } };
  const rate = new RateLimit({ chatMs: 0, groupMs: 0, anyMs: 0 });
  const client = new TelegramClient({ token: telegram.token, api_root: telegram.url, log: () => undefined, rate });
  const common = { store: full, client, allowed: new Set([ADA]), clock: Date.now };
  const questions = new Questions({ ...common, onTask: () => undefined, onAnswer: () => undefined });
  await store.inbox.ingest({ source: "telegram", lane: `telegram:${ADA}`, text: "do it", user: "42" });
  const [lease] = await store.inbox.claim("w", 1);
  const { task_id = null, run_id = "" } = lease?.task ?? {};
  const params = { cmd: "x".repeat(10_000) };
  const request = makeRequest({ now: Date.now(), task_id, run_id, chat: `telegram:${ADA}`, user: "42", params });
  await store.approvals.open(request);

  for (let i = 0; i < 4; i++)
    await expect(questions.ask(request.approval_id, { chat: ADA })).rejects.toThrow("the disk is full");
  isFull = false;
  const receipt = await questions.ask(request.approval_id, { chat: ADA });
  const [file, question, ...more] = telegram.answers();
  expect([file?.document?.file_name, more]).toEqual([`${request.approval_id}.txt`, []]);
  expect(receipt?.split(":")[0]).toBe(String(question?.message_id));
  const open = [{ approval_id: request.approval_id, chat: ADA, message_id: question?.message_id }];
  expect(JSON.parse((await store.kv.get("telegram:questions")) ?? "")).toEqual(open);
});

test("hidden characters in what would run are seen, and buttons fit what Telegram takes", () => {
  const request = makeRequest({ now: 0, approval_id: `apr_${"Z".repeat(26)}`, reason: "a\u202eb\u0007c" });
  const { text } = makeQuestion(request, { now: 0 });
  expect(text).not.toMatch(/[\u202e\u0007]/);
  for (const { callback_data } of makeKeyboard(request, "abcdEF-_").inline_keyboard.flat() as {
    callback_data: string;
  }[]) {
    expect(Buffer.byteLength(callback_data)).toBeLessThanOrEqual(64);
    expect(readButton(callback_data)?.approval_id).toBe(request.approval_id);
  }
});

test("a question fits into one message, however long all of its parts are", () => {
  const path = `/srv/work/${"deep/".repeat(100)}a.ts`;
  const offer = (words: string, glob: string) => ({
    words,
    pattern: { kind: "path" as const, tool: "edit", path: glob },
  });
  const request = makeRequest({
    now: 0,
    tool: "edit",
    params: { path },
    reason: "because ".repeat(200),
    changes: [{ path, diff: `--- a\n+++ b\n+${"x".repeat(5000)}\n`, truncated: false }],
    touches: Array.from({ length: 5 }, () => ({ path, access: "write" })),
    offers: [
      { offer: "exact", words: "exactly this call again", pattern: { kind: "exact", call_digest: "c".repeat(64) } },
      { offer: "path", ...offer("w".repeat(240), "/srv/work/a".padEnd(17, "x")) },
      { offer: "folder", ...offer("w".repeat(240), "/srv/work/b".padEnd(14, "x")) },
    ],
  });
  const outcome = `Denied by ${"n".repeat(100)} (${"v".repeat(100)}): ${"r".repeat(400)}`;
  for (const asked of [{ now: 0 }, { now: 0, outcome }]) {
    const { text, whole } = makeQuestion(request, asked);
    expect(text.length).toBeLessThanOrEqual(4096);
    expect(text.length).toBeGreaterThan(3900); // all parts are as long as they get
    expect(whole).toContain(path);
  }
});

test("a question that was answered before it could be sent is not asked any more", async () => {
  const place = await scratchPlace();
  const channel = await place.open();
  const asked = await ask(place);
  await place.store.approvals.end(asked.request.approval_id, "withdrawn");
  const row = {
    id: 9,
    task_id: "t",
    run_id: "r",
    channel: "telegram",
    chat: "telegram:42",
    attempts: 0,
    created_at: 0,
  };
  const content = { kind: "approval", approval_id: asked.request.approval_id } as const;
  expect(await channel.sender.send({ ...row, content })).toEqual({});
});

test("a question that had to be sent twice is answered on the last one, and both say what was answered", async () => {
  const place = await scratchPlace();
  const channel = await place.open();
  const asked = await ask(place);
  const [row] = await place.until(async () => [await place.store.outbox.receiptOf(asked.request.approval_id)]);
  // As after a crash between Telegram's yes and its record: the first message is not recorded.
  const content = { kind: "approval", approval_id: asked.request.approval_id } as const;
  const again = {
    id: 9,
    task_id: "t",
    run_id: "r",
    channel: "telegram",
    chat: "telegram:42",
    attempts: 0,
    created_at: 0,
  };
  const { receipt } = await channel.sender.send({ ...again, content });
  expect(receipt).not.toBe(row?.receipt);
  const [, second] = place.telegram.answers();
  const late = place.telegram.press({ message_id: second?.message_id ?? 0, button: "Allow once" });
  await place.telegram.until(() => late.answer, "the answer");
  expect(late.answer?.text).toMatch(/^This button is out of date/); // the record has the first
  const counts = place.telegram.press({ message_id: asked.message.message_id, button: "Deny" });
  await place.telegram.until(() => counts.answer, "the answer");
  await place.telegram.until(
    () => place.telegram.answers().every(({ text }) => text.includes("Denied by")),
    "both edits",
  );
});
