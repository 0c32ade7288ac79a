import { expect, test } from "vitest";
import { makeRequest } from "../../../../../test/support/approval-request.ts";
import { ADA, scratchPlace } from "../../../../../test/support/telegram-channel.ts";
import type { Place } from "../../../../../test/support/telegram-channel.ts";
import type { ChatMessage } from "../../../../../emulators/fake-telegram/server.ts";

/** Messages of a group that becomes a supergroup, where earlier numbers mean other messages. */

const GROUP = -77;

async function questionIn({ telegram }: Place, chat: number): Promise<ChatMessage> {
  return await telegram.until(() => telegram.answers(chat).find(({ buttons }) => buttons.length > 0), "the question");
}

/** A task of the group whose question is open, and on record as asked. */
async function asked(chat = GROUP, thread?: number): Promise<Place> {
  const place = await scratchPlace();
  await place.open({ groups: "all" });
  const where = { chat, ...(thread === undefined ? {} : { thread }) };
  place.telegram.say({ ...where, text: "run it" });
  await waiting(place);
  await questionIn(place, chat);
  await place.until(async () => (await place.store.outbox.receiptOf("apr_1")) !== undefined);
  return place;
}

/** Takes the task as a worker does, up to its question. */
async function waiting(place: Place): Promise<void> {
  const lease = await place.claim();
  const { task_id, run_id } = lease.task;
  await place.store.approvals.open(makeRequest({ now: Date.now(), task_id, run_id }));
  await place.store.inbox.finish(lease, { outcome: "parked" });
  place.notifier.notify();
}

const stateOf = async ({ store }: Place): Promise<string | undefined> => (await store.approvals.get("apr_1"))?.state;

/** What was changed or removed in a chat. */
function touched({ telegram }: Place, chat: number): readonly unknown[] {
  return telegram.calls
    .filter((call) => call.chat === chat && /^(?:edit|delete)/.test(call.method))
    .map(({ parameters }) => parameters["message_id"]);
}

test("a question that was open when its group moved is asked again in the new group, once", async () => {
  const place = await asked();
  const { telegram } = place;
  const before = await questionIn(place, GROUP);
  const chat = telegram.migrate({ chat: GROUP });
  const question = await questionIn(place, chat);
  expect(question.text).toContain("The agent wants to run a command");
  await place.until(async () => (await place.store.outbox.receiptOf("apr_1")) !== undefined);

  const old = telegram.press({ chat: GROUP, message_id: before.message_id, button: "Allow once" });
  expect((await telegram.until(() => old.answer, "the answer")).text).toContain("out of date");
  expect(await stateOf(place)).toBe("pending");
  telegram.press({ chat, message_id: question.message_id, button: "Allow once" });
  await place.until(async () => (await stateOf(place)) === "granted");
  await telegram.until(() => telegram.answers(chat)[0]?.text.includes("Allowed once"), "the outcome");
  expect(telegram.answers(chat).filter(({ text }) => text.includes("wants to run"))).toHaveLength(1);
  expect(touched(place, chat)).toEqual([question.message_id]);
});

test("a question that was answered elsewhere while its group moved changes no message of the new group", async () => {
  const place = await asked();
  await place.store.approvals.answer("apr_1", { answer: "deny", by: "os:me", via: "cli" });
  const chat = place.telegram.migrate({ chat: GROUP });
  place.notifier.notify();
  await place.until(async () => (await place.store.kv.get("telegram:questions")) === "[]");
  expect(touched(place, chat)).toEqual([]);
});

test("a reply in the new group to a message with the number of the old question is a task", async () => {
  const place = await asked();
  const { telegram } = place;
  const before = await questionIn(place, GROUP);
  const chat = telegram.migrate({ chat: GROUP });
  const question = await questionIn(place, chat);
  const said = telegram.messages(chat).find(({ message_id }) => message_id === before.message_id);
  expect(said?.message_id).not.toBe(question.message_id);

  telegram.say({ chat, text: "what is this?", reply_to: before.message_id });
  await place.until(async () => (await place.tasks()).length === 2);
  expect(await stateOf(place)).toBe("pending");
  telegram.say({ chat, text: "not now", reply_to: question.message_id });
  await place.until(async () => (await stateOf(place)) === "denied");
});

test("the prompt for a reason from before the move is dropped, and repeated in the new group", async () => {
  const place = await asked();
  const { telegram } = place;
  const { message_id } = await questionIn(place, GROUP);
  telegram.press({ chat: GROUP, message_id, button: "Deny with a reason" });
  const isPrompt = ({ text }: ChatMessage): boolean => text.startsWith("What is the reason?");
  await telegram.until(() => telegram.answers(GROUP).some(isPrompt), "the prompt");
  const chat = telegram.migrate({ chat: GROUP });
  const question = await questionIn(place, chat);
  await place.until(async () => (await place.store.kv.get("telegram:reasons")) === "[]");
  expect(touched(place, chat)).toEqual([]);

  await place.until(async () => (await place.store.outbox.receiptOf("apr_1")) !== undefined);
  telegram.press({ chat, message_id: question.message_id, button: "Deny with a reason" });
  const prompt = await telegram.until(() => telegram.answers(chat).find(isPrompt), "the prompt");
  await place.until(async () => (await place.store.kv.get("telegram:reasons"))?.includes(`${prompt.message_id}`));
  telegram.say({ chat, text: "too late", reply_to: prompt.message_id });
  await place.until(async () => (await stateOf(place)) === "denied");
  await telegram.until(() => !telegram.answers(chat).some(isPrompt), "the prompt to go");
});

test("what is shown of a running task and of the queue starts again in the new group", async () => {
  const place = await scratchPlace();
  const { telegram } = place;
  await place.open({ groups: "all" });
  telegram.say({ chat: GROUP, text: "one" });
  telegram.say({ chat: GROUP, text: "two" });
  const { task } = await place.claim();
  await place.until(async () => (await place.tasks()).length === 2);
  const isNotice = ({ text }: ChatMessage): boolean => text.startsWith("Queued (");
  await telegram.until(() => telegram.answers(GROUP).some(isNotice), "the notice");
  await telegram.until(() => telegram.answers(GROUP).some(({ text }) => text.startsWith("Working")), "the progress");
  const chat = telegram.migrate({ chat: GROUP });
  await telegram.until(
    () => telegram.answers(chat).some(({ text }) => text.startsWith("Working")),
    "the progress there",
  );
  telegram.say({ chat, text: "three" });
  await telegram.until(() => telegram.answers(chat).some(isNotice), "the notice there");
  const own = new Set(telegram.answers(chat).map(({ message_id }) => message_id));
  for (const { task_id } of await place.tasks())
    if (task_id !== task.task_id) await place.store.tasks.cancel(task_id, "me");
  place.notifier.notify();
  await telegram.until(() => !telegram.answers(chat).some(isNotice), "the notice to go");
  for (const message_id of touched(place, chat)) expect(own).toContain(message_id);
}, 60_000);

test("a question for a topic that was closed is asked in the group, and its buttons count there", async () => {
  const place = await scratchPlace();
  const { telegram } = place;
  await place.open({ groups: "all" });
  const chat = -1_000_000_000_077;
  const thread = telegram.createTopic({ chat });
  telegram.say({ chat, thread, text: "run it" });
  await place.until(async () => (await place.tasks()).length === 1);
  telegram.closeTopic({ chat, thread });
  await waiting(place);
  const question = await questionIn(place, chat);
  expect(question).not.toHaveProperty("thread");
  await place.until(async () => (await place.store.outbox.receiptOf("apr_1")) !== undefined);
  const elsewhere = telegram.say({ text: "hello" });
  const data = question.buttons[0]?.[0]?.callback_data ?? "";
  const forged = telegram.press({ chat: ADA, message_id: elsewhere.message_id, data, forged: true });
  expect((await telegram.until(() => forged.answer, "the answer")).text).toContain("only in the chat");
  telegram.press({ chat, message_id: question.message_id, button: "Allow once" });
  await place.until(async () => (await stateOf(place)) === "granted");
});
