import { expect, test } from "vitest";
import { call, open, updates } from "./support.ts";

const GROUP = -100;
const SUPERGROUP = -1_000_000_000_100;

// oxfmt-ignore
const SAID: readonly { title: string; text?: string; isReply?: boolean; beside?: object; isGiven: boolean }[] = [
  { title: "words",                                 text: "hello all",                    isGiven: false },
  { title: "a command",                             text: "/ls src",                      isGiven: true },
  { title: "a command for this bot",                text: "/ls@Fake_Bot src",             isGiven: true },
  { title: "a command for another bot",             text: "/ls@other_bot src",            isGiven: false },
  { title: "a command in the middle",               text: "try /ls",                      isGiven: false },
  { title: "its name",                              text: "well @fake_bot, what is it?",  isGiven: true },
  { title: "the name of another",                   text: "well @fake_bots",              isGiven: false },
  { title: "an address that has its name",          text: "me@fake_bot",                  isGiven: false },
  { title: "a reply to it",                         text: "yes", isReply: true,           isGiven: true },
  { title: "what was sent by it inline",            text: "pic", beside: { via_bot: { id: 42_424_242, is_bot: true, first_name: "Fake bot" } }, isGiven: true },
  { title: "what was sent by another inline",       text: "pic", beside: { via_bot: { id: 9, is_bot: true, first_name: "Pic" } }, isGiven: false },
];

for (const { title, text = "", isReply = false, beside = {}, isGiven } of SAID) {
  test(`with privacy mode a bot ${isGiven ? "gets" : "does not get"} ${title}; without, it gets everything`, async () => {
    for (const privacy of [true, false]) {
      const telegram = await open({ privacy });
      telegram.say({ chat: GROUP, text: "/start" });
      await call(telegram, "sendMessage", { chat_id: GROUP, text: "Ready" });
      const reply_to = telegram.answers(GROUP)[0]?.message_id ?? 0;
      telegram.say({ chat: GROUP, text, beside, ...(isReply ? { reply_to } : {}) });
      expect(telegram.messages(GROUP)).toHaveLength(3);
      expect(await updates(telegram)).toHaveLength(isGiven || !privacy ? 2 : 1);
      expect((await call(telegram, "getMe")).result).toMatchObject({ can_read_all_group_messages: !privacy });
    }
  });
}

test("privacy mode can be switched; a caption counts as words; topics are not replies", async () => {
  const telegram = await open();
  const thread = telegram.createTopic({ chat: SUPERGROUP });
  telegram.say({ chat: SUPERGROUP, thread, text: "hello all" });
  telegram.send({ chat: SUPERGROUP, thread, kind: "document", caption: "@fake_bot read this" });
  telegram.setPrivacy(false);
  telegram.say({ chat: SUPERGROUP, thread, text: "hello bot" });
  expect(await updates(telegram)).toMatchObject([
    { message: { forum_topic_created: {} } },
    { message: { caption: "@fake_bot read this", caption_entities: [{ type: "mention", offset: 0, length: 9 }] } },
    { message: { text: "hello bot" } },
  ]);
});

test("a group that becomes a supergroup has a new id, and the old one takes nothing", async () => {
  const telegram = await open();
  telegram.invite({ chat: GROUP, title: "Builders", user: 7 });
  const id = telegram.migrate({ chat: GROUP });
  expect(id).toBe(SUPERGROUP);
  expect((await updates(telegram)).slice(-2)).toMatchObject([
    { message: { chat: { id: GROUP, type: "group", title: "Builders" }, migrate_to_chat_id: id } },
    { message: { chat: { id, type: "supergroup", title: "Builders" }, migrate_from_chat_id: GROUP } },
  ]);
  for (const method of ["sendMessage", "sendChatAction"])
    expect(await call(telegram, method, { chat_id: GROUP, text: "x", action: "typing" })).toMatchObject({
      status: 400,
      description: "Bad Request: group chat was upgraded to a supergroup chat",
      parameters: { migrate_to_chat_id: id },
    });
  expect(await call(telegram, "getChat", { chat_id: GROUP })).toMatchObject({ ok: true });
  expect(await call(telegram, "sendMessage", { chat_id: id, text: "x" })).toMatchObject({ ok: true });
  expect(() => telegram.say({ chat: GROUP, text: "x" })).toThrow(`it became supergroup ${id}`);
  expect(() => telegram.migrate({ chat: id })).toThrow("it is a supergroup");
});

test("supergroups count their own messages, and replies there have a thread that is not a topic", async () => {
  const telegram = await open();
  telegram.say({ text: "private" });
  const one = telegram.say({ chat: SUPERGROUP, text: "/one" });
  const two = telegram.say({ chat: SUPERGROUP - 1, text: "/two" });
  expect([one.message_id, two.message_id]).toEqual([2, 2]);
  const { message_id } = telegram.say({ chat: SUPERGROUP, text: "/three", reply_to: 2 });
  telegram.say({ chat: SUPERGROUP, text: "/four", reply_to: message_id });
  const last = (await updates(telegram)).at(-1);
  expect(last).toMatchObject({ message: { message_thread_id: 2, reply_to_message: { text: "/three" } } });
  expect(last).not.toHaveProperty("message.is_topic_message");
  const parameters = { chat_id: SUPERGROUP, text: "x", message_thread_id: 2 };
  expect((await call(telegram, "sendMessage", parameters)).result).not.toHaveProperty("message_thread_id");
});

test("a bot that was put out of a group is told so, and may be taken in again", async () => {
  const telegram = await open();
  telegram.invite({ chat: SUPERGROUP });
  telegram.kick({ chat: SUPERGROUP });
  expect(await call(telegram, "sendMessage", { chat_id: SUPERGROUP, text: "x" })).toMatchObject({
    status: 403,
    description: "Forbidden: bot was kicked from the supergroup chat",
  });
  expect(() => telegram.say({ chat: SUPERGROUP, text: "/x" })).toThrow(/the bot was removed/);
  telegram.invite({ chat: SUPERGROUP, user: 7 });
  expect(await call(telegram, "sendMessage", { chat_id: SUPERGROUP, text: "x" })).toMatchObject({ ok: true });
  expect(await updates(telegram)).toMatchObject([
    { my_chat_member: { new_chat_member: { status: "member" }, chat: { id: SUPERGROUP } } },
    { message: { new_chat_members: [{ is_bot: true }] } },
    { my_chat_member: { new_chat_member: { status: "kicked" } } },
    { my_chat_member: { from: { id: 7 } } },
    {},
  ]);
  expect(() => telegram.invite({ chat: 42 })).toThrow("it is not a group");
});

test("people have the names that they are given", async () => {
  const telegram = await open();
  telegram.introduce({ id: 7, first_name: "Zoë", last_name: "Å", username: "zoe_a", language_code: "sv" });
  telegram.say({ user: 7, text: "hello" });
  telegram.say({ user: { id: 8, first_name: "/stop" }, text: "hello" });
  const zoe = { first_name: "Zoë", last_name: "Å", username: "zoe_a" };
  expect(await updates(telegram)).toMatchObject([
    { message: { from: { id: 7, ...zoe, language_code: "sv" }, chat: { id: 7, type: "private", ...zoe } } },
    { message: { from: { id: 8, first_name: "/stop" } } },
  ]);
});

test("a webhook keeps getUpdates from working, ends the open poll, and is shown by getWebhookInfo", async () => {
  const telegram = await open();
  const polled = call(telegram, "getUpdates", { timeout: 50 });
  await telegram.until(() => telegram.isPolled, "the poll");
  telegram.setWebhook("https://bots.example/hook");
  expect(await polled).toMatchObject({ status: 409, description: "Conflict: terminated by setWebhook request" });
  telegram.say({ text: "hello" });
  expect((await call(telegram, "getWebhookInfo")).result).toMatchObject({
    url: "https://bots.example/hook",
    pending_update_count: 1,
    max_connections: 40,
  });
  expect(await call(telegram, "getUpdates")).toMatchObject({
    status: 409,
    description:
      "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
  });
  expect(await call(telegram, "setWebhook", { url: "http://a.b" })).toMatchObject({
    description: "Bad Request: bad webhook: An HTTPS URL must be provided for webhook",
  });
  telegram.setWebhook("");
  expect((await call(telegram, "getWebhookInfo")).result).toEqual({
    url: "",
    has_custom_certificate: false,
    pending_update_count: 1,
  });
  expect(await updates(telegram)).toHaveLength(1);
});
