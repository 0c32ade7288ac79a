import { expect, test } from "vitest";
import { greyPng } from "./media/images.ts";
import { button, call, open, updates, upload } from "./support.ts";

const FORUM = -1_000_000_000_042;
const link = (url: string): object => ({
  chat_id: 42,
  text: "x",
  entities: [{ type: "text_link", offset: 0, length: 1, url }],
});

// oxfmt-ignore
const REFUSED: readonly { title: string; parameters: object; says: string }[] = [
  { title: "a link without a host",        parameters: link("https://"), says: "entity URL 'https://' is invalid: URL host is empty" },
  { title: "a link to a host with no dot", parameters: link("http://localhost:8080/a"), says: "entity URL 'http://localhost:8080/a' is invalid: Wrong HTTP URL" },
  { title: "a link to a file",             parameters: link("src/app.ts"), says: "entity URL 'src/app.ts' is invalid: Wrong HTTP URL" },
  { title: "a link to a script",           parameters: link("javascript://a.b"), says: "entity URL 'javascript://a.b' is invalid: Unsupported URL protocol" },
  { title: "a link with a space",          parameters: link("https://a b.c"), says: "entity URL 'https://a b.c' is invalid: Disallowed character in URL host" },
  { title: "a link to port 0",             parameters: link("https://a.b:0/"), says: "entity URL 'https://a.b:0/' is invalid: Wrong port number specified in the URL" },
  { title: "half a percent",               parameters: link("https://a%4.b"), says: "entity URL 'https://a%4.b' is invalid: Wrong percent-encoded symbol in URL host" },
  { title: "an empty link",                parameters: link(""), says: "entity URL '' is invalid: URL host is empty" },
  { title: "a link that is none",          parameters: { chat_id: 42, text: "x", entities: [{ type: "text_link", offset: 0, length: 1 }] }, says: `can't parse MessageEntity: Can't find field "url"` },
  { title: "an entity that is none",       parameters: { chat_id: 42, text: "x", entities: [{ type: "loud", offset: 0, length: 1 }] }, says: "can't parse MessageEntity: Unsupported type specified" },
  { title: "an entity without a length",   parameters: { chat_id: 42, text: "x", entities: [{ type: "bold", offset: 0 }] }, says: `can't parse MessageEntity: Can't find field "length"` },
  { title: "an entity from below zero",    parameters: { chat_id: 42, text: "x", entities: [{ type: "bold", offset: -1, length: 1 }] }, says: "receive an entity with incorrect offset -1" },
  { title: "a quote that is not there",    parameters: { chat_id: 42, text: "x", reply_parameters: { message_id: 1, quote: "bye" } }, says: "QUOTE_TEXT_INVALID" },
  { title: "half a character",             parameters: { chat_id: 42, text: "x\ud83d" }, says: "strings must be encoded in UTF-8" },
  { title: "half a character on a button", parameters: { chat_id: 42, text: "x", reply_markup: { inline_keyboard: [[{ text: "\ud83d", callback_data: "a" }]] } }, says: "strings must be encoded in UTF-8" },
  { title: "a topic in a private chat",    parameters: { chat_id: 42, text: "x", message_thread_id: 7 }, says: "message thread not found" },
  { title: "a topic that is not there",    parameters: { chat_id: FORUM, text: "x", message_thread_id: 99 }, says: "message thread not found" },
  { title: "the general topic by number",  parameters: { chat_id: FORUM, text: "x", message_thread_id: 1 }, says: "message thread not found" },
];

for (const { title, parameters, says } of REFUSED) {
  test(`sendMessage refuses ${title}`, async () => {
    const telegram = await open();
    telegram.say({ text: "hello" });
    telegram.createTopic({ chat: FORUM });
    const description = `Bad Request: ${says}`;
    expect(await call(telegram, "sendMessage", parameters)).toMatchObject({ status: 400, description });
    expect(telegram.answers()).toEqual([]);
  });
}

for (const url of [
  "https://a.b/c?d=%zz#e f",
  "a.b",
  "tg://user?id=7",
  "https://u:p@[2001:db8::1]:8443/",
  "http://ü.de:80",
]) {
  test(`a link to ${url} is taken`, async () => {
    const telegram = await open();
    telegram.say({ text: "hello" });
    expect(await call(telegram, "sendMessage", link(url))).toMatchObject({ result: { entities: [{ url }] } });
  });
}

// oxfmt-ignore
const OVERLAPPING = [
  { title: "bold in code is dropped",                    given: "code:0+8 bold:2+3",             seen: "code:0+8", altered: "bold:2+3" },
  { title: "bold around code is cut out",                given: "bold:0+8 pre:2+3",              seen: "bold:0+2 pre:2+3 bold:5+3", altered: "bold:0+8" },
  { title: "code in a quote stays",                      given: "blockquote:0+8 pre:2+3",        seen: "blockquote:0+8 pre:2+3", altered: "" },
  { title: "bold in an expandable quote stays",          given: "expandable_blockquote:0+8 bold:0+8", seen: "expandable_blockquote:0+8 bold:0+8", altered: "" },
  { title: "a quote in a quote is dropped",              given: "blockquote:0+8 blockquote:2+3", seen: "blockquote:0+8", altered: "blockquote:2+3" },
  { title: "code that leaves its quote is dropped",      given: "blockquote:0+5 code:3+5",       seen: "blockquote:0+5", altered: "code:3+5" },
  { title: "bold and italic that cross are cut",         given: "bold:0+5 italic:3+5",           seen: "bold:0+5 italic:3+2 italic:5+3", altered: "italic:3+5" },
  { title: "bold beside bold is one",                    given: "bold:0+3 bold:3+3",             seen: "bold:0+6", altered: "bold:0+3 bold:3+3" },
  { title: "italic in bold stays",                       given: "italic:2+2 bold:0+6",           seen: "bold:0+6 italic:2+2", altered: "" },
  { title: "what Telegram finds by itself is ignored",   given: "url:0+3 bold:4+2",              seen: "bold:4+2", altered: "" },
  { title: "nothing is bold",                            given: "bold:2+0",                      seen: "", altered: "bold:2+0" },
] as const;

const inWords = (entities: readonly { type: string; offset: number; length: number }[]): string =>
  entities.map(({ type, offset, length }) => `${type}:${offset}+${length}`).join(" ");

for (const { title, given, seen, altered } of OVERLAPPING) {
  test(`of entities that overlap, ${title}`, async () => {
    const telegram = await open();
    telegram.say({ text: "hello" });
    const entities = Array.from(given.matchAll(/(\w+):(\d+)\+(\d+)/g), ([, type, offset, length]) => ({
      type,
      offset: Number(offset),
      length: Number(length),
    }));
    await call(telegram, "sendMessage", { chat_id: 42, text: "abcdefgh", entities });
    const [message] = telegram.answers();
    expect(inWords(message?.entities ?? [])).toBe(seen);
    expect(inWords(message?.altered_entities ?? [])).toBe(altered);
  });
}

test("of more than 100 entities the first 100 are kept; carriage returns do not move them", async () => {
  const telegram = await open();
  telegram.say({ text: "hello" });
  const entities = Array.from({ length: 101 }, (_, index) => ({ type: "code", offset: index * 4 + 2, length: 1 }));
  await call(telegram, "sendMessage", { chat_id: 42, text: "x\r\ny".repeat(110), entities });
  const [message] = telegram.answers();
  expect(message?.entities).toHaveLength(100);
  expect(message?.entities[1]).toEqual({ type: "code", offset: 4, length: 1 });
  expect(message?.altered_entities).toHaveLength(1);
});

test("a reply is kept and shown, with what it quotes; without what it replies to only if that was allowed", async () => {
  const telegram = await open();
  const { message_id } = telegram.say({ text: "one two" });
  const reply_parameters = { message_id, quote: "two" };
  const sent = await call(telegram, "sendMessage", { chat_id: 42, text: "Yes", reply_parameters });
  expect(sent.result).toMatchObject({
    reply_to_message: { message_id, text: "one two" },
    quote: { text: "two", position: 4 },
  });
  const loose = { message_id: 999, allow_sending_without_reply: true };
  const other = await call(telegram, "sendMessage", {
    chat_id: 42,
    text: "No",
    reply_parameters: loose,
    disable_notification: true,
  });
  expect(other.result).not.toHaveProperty("reply_to_message");
  expect(telegram.answers()).toMatchObject([
    { reply_to: message_id, is_silent: false },
    { text: "No", is_silent: true },
  ]);
});

test("a message may ask for a reply, and is edited in its topic", async () => {
  const telegram = await open();
  const thread = telegram.createTopic({ chat: FORUM, name: "Builds" });
  const parameters = { chat_id: FORUM, message_thread_id: thread, text: "Why?", reply_markup: { force_reply: true } };
  const { result } = await call(telegram, "sendMessage", parameters);
  const inTopic = { message_thread_id: thread, is_topic_message: true, chat: { is_forum: true } };
  expect(result).toMatchObject({ ...inTopic, reply_to_message: { forum_topic_created: { name: "Builds" } } });
  const [message] = telegram.answers(FORUM);
  expect(message).toMatchObject({ thread, forces_reply: true });
  const edit = { chat_id: FORUM, message_id: message?.message_id, text: "Why not?", reply_markup: button("x") };
  expect((await call(telegram, "editMessageText", edit)).result).toMatchObject({ ...inTopic, text: "Why not?" });
  const action = { chat_id: FORUM, action: "typing" };
  expect(await call(telegram, "sendChatAction", { ...action, message_thread_id: 1 })).toMatchObject({ ok: true });
  expect(await call(telegram, "sendChatAction", { ...action, message_thread_id: 99 })).toMatchObject({ status: 400 });
});

test("what is said in a topic names it; a closed topic takes nothing; a reply goes where its message is", async () => {
  const telegram = await open();
  const thread = telegram.createTopic({ chat: FORUM });
  const { message_id } = telegram.say({ chat: FORUM, thread, text: "/here" });
  telegram.say({ chat: FORUM, text: "/general" });
  const [, here, general] = await updates(telegram);
  expect(here).toMatchObject({ message: { message_thread_id: thread, is_topic_message: true, text: "/here" } });
  expect(general).not.toHaveProperty("message.message_thread_id");
  const reply = { chat_id: FORUM, text: "x", reply_parameters: { message_id } };
  expect((await call(telegram, "sendMessage", reply)).result).toMatchObject({ message_thread_id: thread });
  telegram.closeTopic({ chat: FORUM, thread });
  expect(await call(telegram, "sendMessage", reply)).toMatchObject({ description: "Bad Request: TOPIC_CLOSED" });
  telegram.reopenTopic({ chat: FORUM, thread });
  expect(await call(telegram, "sendMessage", reply)).toMatchObject({ ok: true });
  expect(() => telegram.say({ chat: FORUM, thread: 99, text: "x" })).toThrow("it is not there");
  expect(() => telegram.createTopic({ chat: 42 })).toThrow("only supergroups have topics");
});

const PNG = greyPng(1300, 700);
const photo = (content: Buffer | string): File => new File([content], "a.png", { type: "image/png" });

// oxfmt-ignore
const PHOTOS: readonly { title: string; content: Buffer | string; says: RegExp }[] = [
  { title: "words",             content: "these are words", says: /: IMAGE_PROCESS_FAILED$/ },
  { title: "half a picture",    content: PNG.subarray(0, PNG.length - 20), says: /: IMAGE_PROCESS_FAILED$/ },
  { title: "a line",            content: greyPng(210, 10), says: /: PHOTO_INVALID_DIMENSIONS$/ },
  { title: "too many pixels",   content: greyPng(9000, 1001), says: /: PHOTO_INVALID_DIMENSIONS$/ },
  { title: "nothing",           content: "", says: /: file must be non-empty$/ },
  { title: "more than 10 MB",   content: Buffer.alloc(10 * 1024 * 1024 + 1), says: /: file of size 10485761 bytes is too big for a photo; the maximum size is 10485760 bytes$/ },
];

for (const { title, content, says } of PHOTOS) {
  test(`sendPhoto refuses ${title}`, async () => {
    const telegram = await open();
    telegram.say({ text: "hello" });
    const answer = await upload(telegram, "sendPhoto", { chat_id: 42, photo: photo(content) });
    expect(answer).toMatchObject({ status: 400, description: expect.stringMatching(says) as string });
    expect(telegram.answers()).toEqual([]);
  });
}

test("a photo has sizes, a caption with entities, and can be sent again by its id", async () => {
  const telegram = await open();
  telegram.say({ text: "hello" });
  const caption_entities = JSON.stringify([{ type: "bold", offset: 0, length: 1 }]);
  const { result } = await upload(telegram, "sendPhoto", {
    chat_id: 42,
    caption: "see",
    caption_entities,
    photo: photo(PNG),
  });
  expect(result).toMatchObject({
    caption: "see",
    caption_entities: [{ type: "bold" }],
    photo: [
      { width: 90, height: 48 },
      { width: 320 },
      { width: 800 },
      { width: 1280 },
      { width: 1300, height: 700, file_size: PNG.length },
    ],
  });
  const [sent] = telegram.answers();
  expect(sent?.photo?.content.equals(PNG)).toBe(true);
  const edit = { chat_id: 42, message_id: sent?.message_id };
  expect(await call(telegram, "editMessageText", { ...edit, text: "x" })).toMatchObject({
    description: /no text in the message/,
  });
  expect(await call(telegram, "editMessageCaption", { ...edit, caption: "seen" })).toMatchObject({
    result: { caption: "seen" },
  });
  const again = { chat_id: 42, photo: sent?.photo?.file_id };
  expect(await call(telegram, "sendPhoto", again)).toMatchObject({ ok: true });
  expect(await call(telegram, "sendDocument", { chat_id: 42, document: sent?.photo?.file_id })).toMatchObject({
    description: "Bad Request: can't use file of type photo as document",
  });
});

test("an album is several messages of one group", async () => {
  const telegram = await open();
  telegram.say({ text: "hello" });
  const media = JSON.stringify([
    { type: "photo", media: "attach://one", caption: "both" },
    { type: "photo", media: "attach://two" },
  ]);
  const files = { one: photo(greyPng(10, 10)), two: photo(greyPng(20, 20)) };
  expect(await upload(telegram, "sendMediaGroup", { chat_id: 42, media, ...files })).toMatchObject({ ok: true });
  const [one, two] = telegram.answers();
  expect([one?.text, two?.text, two?.photo?.content.length]).toEqual(["both", "", greyPng(20, 20).length]);
  expect(one?.media_group_id).toBe(two?.media_group_id);
  const alone = JSON.stringify([{ type: "photo", media: "attach://one" }]);
  expect(await upload(telegram, "sendMediaGroup", { chat_id: 42, media: alone, ...files })).toMatchObject({
    status: 400,
  });
});
