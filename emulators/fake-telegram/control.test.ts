import { expect, test } from "vitest";
import type { FakeTelegram } from "./server.ts";
import { greyPng } from "./server.ts";
import { button, call, open, updates } from "./support.ts";

const FORUM = -1_000_000_000_100;

/** What a person with curl does. */
function byHand(
  telegram: FakeTelegram,
): (method: string, path: string, body?: string | Buffer | FormData) => Promise<string> {
  return async (method, path, body) => {
    const response = await fetch(telegram.url + path, { method, ...(body === undefined ? {} : { body }) });
    return await response.text();
  };
}

test("a person sends files, albums and things, replies and forwards by hand", async () => {
  const telegram = await open();
  const hand = byHand(telegram);
  const id = async (path: string, body?: string | Buffer | FormData): Promise<number> =>
    (JSON.parse(await hand("POST", path, body)) as { message_id: number }).message_id;
  const photo = await id("/send?kind=photo&caption=look", greyPng(30, 20));
  await id("/send?name=a.pdf&type=application/pdf", "%PDF");
  await id("/send?kind=dice");
  const form = new FormData();
  form.set("a", new File([greyPng(3, 3)], "a.png", { type: "image/png" }));
  form.set("b", new File(["b"], "b.txt", { type: "text/plain" }));
  expect(JSON.parse(await hand("POST", "/album?caption=both", form))).toMatchObject({ message_ids: [4, 5] });
  await id(`/say?reply_to=${photo}&quote=look`, "what is it?");
  await id(`/forward?message=${photo}&as=hidden_user`);
  await hand("POST", "/edit?message=6", "what is this?");
  expect(JSON.parse(await hand("POST", "/say", "word ".repeat(1000)))).toMatchObject({ message_ids: [8, 9] });
  expect(await updates(telegram)).toMatchObject([
    { message: { caption: "look", photo: [{ width: 30, height: 20 }] } },
    { message: { document: { file_name: "a.pdf", mime_type: "application/pdf" } } },
    { message: { dice: {} } },
    { message: { caption: "both", photo: [{}] } },
    { message: { document: { file_name: "b.txt" } } },
    { message: { text: "what is it?", reply_to_message: { message_id: photo }, quote: { text: "look" } } },
    { message: { forward_origin: { type: "hidden_user" }, caption: "look" } },
    { edited_message: { text: "what is this?" } },
    {},
    {},
  ]);
  const seen = await hand("GET", "/messages");
  expect(seen.split("\n\n").slice(0, 7)).toEqual([
    expect.stringMatching(/^#1 42: \[photo, 30×20, \d+ bytes, \/documents\/\w+\] look$/),
    expect.stringMatching(/^#2 42: \[a\.pdf, 4 bytes, /),
    "#3 42: [dice]",
    expect.stringMatching(/^#4 42 \(album \d+\): \[photo a\.png, 3×3, .*\] both$/),
    expect.stringMatching(/^#5 42 \(album \d+\): \[b\.txt, 1 bytes, /),
    '#6 42 (edited) ↳ #1 "look": what is this?',
    expect.stringMatching(/^#7 42 \(forwarded from #1 of 42\): \[photo, 30×20, .*\] look$/),
  ]);
  const [, file] = /\/documents\/(\w+)\] look/.exec(seen) ?? [];
  expect(await hand("GET", `/documents/${file}`)).toContain("IHDR");
});

test("a person changes groups, names, privacy and webhooks by hand", async () => {
  const telegram = await open();
  const hand = byHand(telegram);
  await hand("POST", "/person?user=7&first_name=Zo%C3%AB&last_name=A");
  await hand("POST", "/invite?chat=-100&user=7&title=Builders");
  expect(await hand("POST", "/migrate?chat=-100")).toBe(`{"chat":${FORUM}}`);
  const { thread } = JSON.parse(await hand("POST", `/topic?chat=${FORUM}&name=Today`)) as { thread: number };
  await hand("POST", `/say?chat=${FORUM}&thread=${thread}&user=7`, "hello all");
  await hand("DELETE", "/privacy");
  await hand("POST", `/say?chat=${FORUM}&thread=${thread}&user=7`, "hello bot");
  await hand("DELETE", `/topic?chat=${FORUM}&thread=${thread}`);
  expect(await updates(telegram)).toMatchObject([
    { my_chat_member: { from: { id: 7, first_name: "Zoë", last_name: "A" } } },
    { message: { new_chat_members: [{}], chat: { title: "Builders" } } },
    { message: { migrate_to_chat_id: FORUM } },
    { message: { migrate_from_chat_id: -100 } },
    { message: { forum_topic_created: { name: "Today" } } },
    { message: { text: "hello bot", message_thread_id: thread } },
    { message: { forum_topic_closed: {} } },
  ]);
  const parameters = { chat_id: FORUM, message_thread_id: thread, text: "x", disable_notification: true };
  expect(await call(telegram, "sendMessage", parameters)).toMatchObject({ description: "Bad Request: TOPIC_CLOSED" });
  await hand("POST", `/topic?chat=${FORUM}&thread=${thread}`);
  expect(await call(telegram, "sendMessage", parameters)).toMatchObject({ ok: true });
  expect(await hand("GET", `/messages?chat=${FORUM}`)).toContain(`bot (topic ${thread}, silent): x\n`);
  await hand("POST", "/privacy");
  await hand("POST", "/webhook?url=https://a.b/c");
  expect((await call(telegram, "getWebhookInfo")).result).toMatchObject({ url: "https://a.b/c" });
  await hand("DELETE", "/webhook");
  await hand("DELETE", `/invite?chat=${FORUM}`);
  expect(await call(telegram, "sendMessage", { chat_id: FORUM, text: "x" })).toMatchObject({ status: 403 });
});

// oxfmt-ignore
const DRAWN = [
  { title: "a line",           text: "plain",              entities: [],                                                             seen: "plain" },
  { title: "styles",           text: "a b c",              entities: ["bold:0+1", "italic:2+1", "code:4+1"],                         seen: "**a** _b_ `c`" },
  { title: "nested styles",    text: "a b",                entities: ["bold:0+3", "italic:2+1"],                                     seen: "**a _b_**" },
  { title: "a block of code",  text: "see\nx = 1\ny",      entities: ["pre:4+7"],                                                    seen: "see\n    ```ts\n    x = 1\n    y\n    ```" },
  { title: "a quote",          text: "a\nb\nc",            entities: ["blockquote:0+3"],                                             seen: "┃ a\n    ┃ b\n    c" },
  { title: "a folded quote",   text: "a\nb c",             entities: ["expandable_blockquote:2+3", "bold:4+1"],                      seen: "a\n    ┃ b **c** ▾" },
  { title: "a link",           text: "here.",              entities: ["text_link:0+4"],                                              seen: "[here](https://a.b)." },
] as const;

for (const { title, text, entities, seen } of DRAWN) {
  test(`a message is drawn with its entities: ${title}`, async () => {
    const telegram = await open();
    telegram.say({ text: "hello" });
    const given = entities.map((each) => {
      const [, type, offset, length] = /(\w+):(\d+)\+(\d+)/.exec(each) ?? [];
      return { type, offset: Number(offset), length: Number(length), url: "https://a.b", language: "ts" };
    });
    await call(telegram, "sendMessage", { chat_id: 42, text, entities: given, reply_markup: button("x") });
    expect(await byHand(telegram)("GET", "/messages")).toBe(`#1 42: hello\n\n#2 bot: ${seen}\n    [Go]\n`);
  });
}

test("a message that asks for a reply, and a button with a link, are drawn so", async () => {
  const telegram = await open();
  telegram.say({ text: "hello" });
  const open_docs = { inline_keyboard: [[{ text: "Docs", url: "https://a.b" }]] };
  await call(telegram, "sendMessage", { chat_id: 42, text: "Why?", reply_markup: { force_reply: true } });
  await call(telegram, "sendMessage", { chat_id: 42, text: "See", reply_markup: open_docs });
  const seen = await byHand(telegram)("GET", "/messages");
  expect(seen).toContain("#2 bot: Why?\n    (asks for a reply)\n\n#3 bot: See\n    [Docs → https://a.b]\n");
});

// oxfmt-ignore
const WRONG = [
  { path: "/say",                         says: "the body is what is said" },
  { path: "/say?user=ada",                body: "x", says: 'user is a number, not \\"ada\\"' },
  { path: "/say?thread=5",                body: "x", says: "Cannot say it in topic 5" },
  { path: "/send?kind=pigeon",            says: "kind is one of photo, document" },
  { path: "/send?kind=photo",             body: "words", says: "Cannot send this as a photo" },
  { path: "/album",                       says: "a form with files" },
  { path: "/forward",                     says: "message is missing" },
  { path: "/forward?message=7&as=me",     says: "as is one of user" },
  { path: "/press?message=7",             says: "which button" },
  { path: "/migrate?chat=42",             says: "it is a private" },
  { path: "/topic",                       says: "chat is missing" },
  { path: "/webhook",                     says: "url is missing" },
] as const;

for (const { path, says, ...more } of WRONG) {
  test(`POST ${path} is refused and says why`, async () => {
    const telegram = await open();
    expect(await byHand(telegram)("POST", path, "body" in more ? more.body : undefined)).toContain(says);
    expect(await updates(telegram)).toEqual([]);
  });
}
