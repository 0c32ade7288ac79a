import { expect, test } from "vitest";
import { TELEGRAM_LIMITS } from "./server.ts";
import { button, call, open, updates, upload } from "./support.ts";
import type { Answer } from "./support.ts";

// oxfmt-ignore
const REFUSED: readonly { title: string; method?: string; parameters: object; status?: number; says: string | RegExp }[] = [
  { title: "a method that there is not",     method: "sendPigeon", parameters: {}, status: 404, says: "Not Found: method not found" },
  { title: "no chat",                        parameters: { text: "x" }, says: "Bad Request: chat_id is empty" },
  { title: "a chat that was never started",  parameters: { chat_id: 77, text: "x" }, says: "Bad Request: chat not found" },
  { title: "a chat that is not a number",    parameters: { chat_id: {}, text: "x" }, says: "Bad Request: chat not found" },
  { title: "no text",                        parameters: { chat_id: 42 }, says: "Bad Request: message text is empty" },
  { title: "white space",                    parameters: { chat_id: 42, text: " \n\t" }, says: "Bad Request: message text is empty" },
  { title: "tags around nothing",            parameters: { chat_id: 42, text: "<b> </b>", parse_mode: "HTML" }, says: "Bad Request: message text is empty" },
  { title: "4097 characters",                parameters: { chat_id: 42, text: "x".repeat(4097) }, says: "Bad Request: message is too long" },
  { title: "2049 faces of two units each",   parameters: { chat_id: 42, text: "😀".repeat(2049) }, says: "Bad Request: message is too long" },
  { title: "a way to parse that is none",    parameters: { chat_id: 42, text: "x", parse_mode: "RTF" }, says: "Bad Request: unsupported parse_mode" },
  { title: "a tag that is none",             parameters: { chat_id: 42, text: "é <div>x</div>", parse_mode: "HTML" }, says: `Bad Request: can't parse entities: Unsupported start tag "div" at byte offset 3` },
  { title: "less than, not escaped",         parameters: { chat_id: 42, text: "1 < 2", parse_mode: "HTML" }, says: `Bad Request: can't parse entities: Unsupported start tag "" at byte offset 2` },
  { title: "a tag that does not end",        parameters: { chat_id: 42, text: "<b>x", parse_mode: "HTML" }, says: `Bad Request: can't parse entities: Can't find end tag corresponding to start tag "b"` },
  { title: "tags that cross",                parameters: { chat_id: 42, text: "<b><i>x</b></i>", parse_mode: "HTML" }, says: `Bad Request: can't parse entities: Unmatched end tag at byte offset 7, expected "</i>", found "</b>"` },
  { title: "an end without a beginning",     parameters: { chat_id: 42, text: "x</b>", parse_mode: "HTML" }, says: "Bad Request: can't parse entities: Unexpected end tag at byte offset 1" },
  { title: "a full stop, not escaped",       parameters: { chat_id: 42, text: "x.", parse_mode: "MarkdownV2" }, says: "Bad Request: can't parse entities: Character '.' is reserved and must be escaped with the preceding '\\'" },
  { title: "bold that does not end",         parameters: { chat_id: 42, text: "é *x", parse_mode: "MarkdownV2" }, says: "Bad Request: can't parse entities: Can't find end of Bold entity at byte offset 3" },
  { title: "code that does not end",         parameters: { chat_id: 42, text: "```\nx", parse_mode: "MarkdownV2" }, says: "Bad Request: can't parse entities: Can't find end of PreCode entity at byte offset 0" },
  { title: "an underscore in old Markdown",  parameters: { chat_id: 42, text: "a_b", parse_mode: "Markdown" }, says: "Bad Request: can't parse entities: Can't find end of the entity starting at byte offset 1" },
  { title: "an entity behind the end",       parameters: { chat_id: 42, text: "x", entities: [{ type: "bold", offset: 0, length: 2 }] }, says: /ends after the end of the text at UTF-16 offset 1$/ },
  { title: "an entity that halves a face",   parameters: { chat_id: 42, text: "😀", entities: [{ type: "bold", offset: 1, length: 1 }] }, says: /begins in a middle of a UTF-16 symbol/ },
  { title: "65 bytes behind a button",       parameters: { chat_id: 42, text: "x", reply_markup: button("é".repeat(32) + "x") }, says: "Bad Request: BUTTON_DATA_INVALID" },
  { title: "a button that does nothing",     parameters: { chat_id: 42, text: "x", reply_markup: { inline_keyboard: [[{ text: "Go" }]] } }, says: /Text buttons are unallowed in the inline keyboard/ },
  { title: "a reply to what is not there",   parameters: { chat_id: 42, text: "x", reply_parameters: { message_id: 999 } }, says: "Bad Request: message to be replied not found" },
  { title: "an edit of what is not there",   method: "editMessageText", parameters: { chat_id: 42, message_id: 999, text: "x" }, says: "Bad Request: message to edit not found" },
  { title: "an edit of what a person said",  method: "editMessageText", parameters: { chat_id: 42, message_id: 1, text: "x" }, says: "Bad Request: message can't be edited" },
  { title: "an edit of nothing named",       method: "editMessageText", parameters: { chat_id: 42, text: "x" }, says: "Bad Request: message identifier is not specified" },
  { title: "to delete what is not there",    method: "deleteMessage", parameters: { chat_id: 42, message_id: 999 }, says: "Bad Request: message to delete not found" },
  { title: "to answer an unknown press",     method: "answerCallbackQuery", parameters: { callback_query_id: "1" }, says: "Bad Request: query is too old and response timeout expired or query ID is invalid" },
  { title: "an action that is none",         method: "sendChatAction", parameters: { chat_id: 42, action: "dancing" }, says: "Bad Request: wrong parameter action in request" },
  { title: "a command in capitals",          method: "setMyCommands", parameters: { commands: [{ command: "Help", description: "x" }] }, says: "Bad Request: BOT_COMMAND_INVALID" },
  { title: "a command that says nothing",    method: "setMyCommands", parameters: { commands: [{ command: "help", description: "" }] }, says: "Bad Request: BOT_COMMAND_DESCRIPTION_INVALID" },
  { title: "a document that is not there",   method: "sendDocument", parameters: { chat_id: 42 }, says: "Bad Request: there is no document in the request" },
];

for (const { title, method = "sendMessage", parameters, status = 400, says } of REFUSED) {
  test(`${method} refuses ${title}`, async () => {
    const telegram = await open();
    telegram.say({ text: "hello" });
    const description = typeof says === "string" ? says : (expect.stringMatching(says) as unknown);
    expect(await call(telegram, method, parameters)).toMatchObject({
      ok: false,
      status,
      error_code: status,
      description,
    });
    expect(telegram.answers()).toEqual([]);
  });
}

// oxfmt-ignore
const FORMATTED = [
  { mode: "HTML", given: "<b>a <i>é</i></b> &lt;x&gt; &#33;", text: "a é <x> !", types: "bold:0+3 italic:2+1" },
  { mode: "HTML", given: '<pre><code class="language-ts">let a;\n</code></pre>', text: "let a;", types: "pre:0+6(ts)" },
  { mode: "HTML", given: '<a href="https://a.b/?c&amp;d">x</a> a > b && c', text: "x a > b && c", types: "text_link:0+1" },
  { mode: "MarkdownV2", given: "*bold _both_* `a.b` \\.", text: "bold both a.b .", types: "bold:0+9 italic:5+4 code:10+3" },
  { mode: "MarkdownV2", given: "```ts\nlet a = 1;\n```\n__u__ ~s~ ||p||", text: "let a = 1;\n\nu s p", types: "pre:0+11(ts) underline:12+1 strikethrough:14+1 spoiler:16+1" },
  { mode: "MarkdownV2", given: ">quoted\n>more\nnot [x](https://a.b)", text: "quoted\nmore\nnot x", types: "blockquote:0+11 text_link:16+1" },
  { mode: "Markdown", given: "*b* _i_ `c` [x](y) \\_", text: "b i c x _", types: "bold:0+1 italic:2+1 code:4+1 text_link:6+1" },
  { mode: "", given: "  *not* <b>parsed</b>\r\n", text: "*not* <b>parsed</b>", types: "" },
] as const;

for (const { mode, given, text, types } of FORMATTED) {
  test(`${mode === "" ? "plain text" : mode} ${JSON.stringify(given)} is seen as ${JSON.stringify(text)}`, async () => {
    const telegram = await open();
    telegram.say({ text: "hello" });
    await call(telegram, "sendMessage", { chat_id: 42, text: given, ...(mode === "" ? {} : { parse_mode: mode }) });
    const [seen] = telegram.answers();
    expect(seen?.text).toBe(text);
    expect(
      seen?.entities
        .map(
          ({ type, offset, length, language }) =>
            `${type}:${offset}+${length}${language === undefined ? "" : `(${language})`}`,
        )
        .join(" "),
    ).toBe(types);
  });
}

test("4096 units are taken, and tags do not count", async () => {
  const telegram = await open();
  telegram.say({ text: "hello" });
  const text = `<b>${"x".repeat(4096)}</b>`;
  expect(await call(telegram, "sendMessage", { chat_id: "42", text, parse_mode: "html" })).toMatchObject({ ok: true });
});

// oxfmt-ignore
const TOKENS = [
  { token: "1:wrong", status: 401, description: "Unauthorized" },
  { token: "nonsense", status: 404, description: "Not Found" },
] as const;

for (const { token, status, description } of TOKENS) {
  test(`the token ${token} is answered ${status}`, async () => {
    const { url } = await open();
    expect(await call({ url, token }, "getMe")).toMatchObject({ ok: false, status, description });
  });
}

test("methods are found in any case, by GET, and with a form", async () => {
  const telegram = await open();
  telegram.say({ text: "hello" });
  const base = `${telegram.url}/bot${telegram.token}`;
  expect(await (await fetch(`${base}/GETME`)).json()).toMatchObject({ result: { is_bot: true, username: "fake_bot" } });
  await fetch(`${base}/sendMessage?chat_id=42&text=by+address`);
  const form = new URLSearchParams({ chat_id: "42", text: "by form", reply_markup: JSON.stringify(button("x")) });
  await fetch(`${base}/sendMessage`, { method: "POST", body: form });
  expect(telegram.answers().map(({ text }) => text)).toEqual(["by address", "by form"]);
  expect(telegram.answers()[1]?.buttons).toEqual([[{ text: "Go", callback_data: "x" }]]);
});

test("an update comes again until an offset behind it is asked for", async () => {
  const telegram = await open();
  telegram.say({ text: "/ls src", date: 1000 });
  telegram.say({ text: "two" });
  const first = await updates(telegram);
  expect(first).toMatchObject([
    { message: { text: "/ls src", date: 1000, entities: [{ type: "bot_command", offset: 0, length: 3 }] } },
    { message: { text: "two", from: { id: 42, is_bot: false }, chat: { id: 42, type: "private" } } },
  ]);
  expect(await updates(telegram)).toEqual(first);
  expect(await updates(telegram, { limit: 1 })).toEqual(first.slice(0, 1));
  expect(await updates(telegram, { offset: first[1]?.update_id })).toEqual(first.slice(1));
  expect(await updates(telegram, { offset: 0 })).toEqual(first.slice(1));
  expect(await updates(telegram, { offset: (first[1]?.update_id ?? 0) + 1 })).toEqual([]);
  expect(telegram.unconfirmed).toBe(0);
});

test("an offset below zero counts from the end, and forgets what is before", async () => {
  const telegram = await open();
  for (const text of ["one", "two", "three"]) telegram.say({ text });
  expect(await updates(telegram, { offset: -1 })).toMatchObject([{ message: { text: "three" } }]);
  expect(telegram.unconfirmed).toBe(1);
});

test("a poll waits until something happens", async () => {
  const telegram = await open();
  const polled = updates(telegram, { timeout: 50 });
  await telegram.until(() => telegram.isPolled, "the poll");
  telegram.say({ text: "hello" });
  expect(await polled).toMatchObject([{ message: { text: "hello" } }]);
});

test("a poll that nothing ends is answered with nothing", async () => {
  expect(await updates(await open(), { timeout: 1 })).toEqual([]);
});

test("a second one that polls ends the first with 409", async () => {
  const telegram = await open();
  const first = call(telegram, "getUpdates", { timeout: 50 });
  await telegram.until(() => telegram.isPolled, "the first");
  const second = call(telegram, "getUpdates", { timeout: 50 });
  expect(await first).toMatchObject({ status: 409, description: /terminated by other getUpdates request/ });
  telegram.say({ text: "hello" });
  expect(await second).toMatchObject({ ok: true, result: [{}] });
});

test("only the kinds of updates that were named come, and the name is kept", async () => {
  const telegram = await open();
  await updates(telegram, { allowed_updates: ["callback_query"] });
  telegram.say({ text: "hello" });
  expect(await updates(telegram)).toEqual([]);
  await updates(telegram, { allowed_updates: [] });
  telegram.say({ text: "hello" });
  expect(await updates(telegram)).toHaveLength(1);
});

test("who has a webhook cannot poll", async () => {
  const telegram = await open();
  await call(telegram, "setWebhook", { url: "https://a.b" });
  telegram.say({ text: "hello" });
  expect(await call(telegram, "getUpdates")).toMatchObject({ status: 409, description: /webhook is active/ });
  await call(telegram, "deleteWebhook", { drop_pending_updates: true });
  expect(await updates(telegram)).toEqual([]);
});

test("an edit changes what is seen, takes the buttons away, and has to change something", async () => {
  const telegram = await open();
  telegram.say({ text: "hello" });
  await call(telegram, "sendMessage", { chat_id: 42, text: "one", reply_markup: button("x") });
  const [sent] = telegram.answers();
  const edit = { chat_id: 42, message_id: sent?.message_id, text: "two" };
  expect(await call(telegram, "editMessageText", edit)).toMatchObject({ ok: true, result: { text: "two" } });
  expect(telegram.answers()).toMatchObject([{ text: "two", buttons: [], before: ["one"] }]);
  expect(await call(telegram, "editMessageText", edit)).toMatchObject({
    status: 400,
    description: /^Bad Request: message is not modified/,
  });
  const markup = { chat_id: 42, message_id: sent?.message_id, reply_markup: button("y") };
  expect(await call(telegram, "editMessageReplyMarkup", markup)).toMatchObject({ ok: true });
  expect(telegram.answers()).toMatchObject([{ text: "two", buttons: [[{ callback_data: "y" }]] }]);
  expect(await call(telegram, "deleteMessage", { chat_id: 42, message_id: sent?.message_id })).toMatchObject({
    result: true,
  });
  expect(telegram.messages()).toMatchObject([{ text: "hello" }]);
});

test("a button that is pressed asks the bot, and shows its answer", async () => {
  let now = Date.now();
  const telegram = await open({ now: () => now, query_seconds: 60 });
  telegram.say({ text: "hello" });
  await call(telegram, "sendMessage", { chat_id: 42, text: "Sure?", reply_markup: button("yes:1") });
  const message_id = telegram.answers()[0]?.message_id ?? 0;
  const query = telegram.press({ message_id, button: "G" });
  const [, update] = await updates(telegram);
  expect(update).toMatchObject({
    callback_query: { id: query.id, from: { id: 42 }, data: "yes:1", message: { message_id, text: "Sure?" } },
  });
  const answer = { callback_query_id: query.id, text: "Done" };
  expect(await call(telegram, "answerCallbackQuery", answer)).toMatchObject({ ok: true });
  expect(query.answer).toEqual({ text: "Done", show_alert: false });
  now += 61_000;
  expect(await call(telegram, "answerCallbackQuery", answer)).toMatchObject({
    status: 400,
    description: /^Bad Request: query is too old/,
  });
  expect(() => telegram.press({ message_id, button: "No" })).toThrow('there are "Go"');
  expect(() => telegram.press({ message_id: 1, data: "x" })).toThrow("it has no buttons");
});

test("a forwarded message has no buttons; a changed app may press them all the same, in whatever chat", async () => {
  const telegram = await open();
  telegram.say({ text: "hello" });
  telegram.say({ user: 7, text: "hi" });
  await call(telegram, "sendMessage", { chat_id: 42, text: "Sure?", reply_markup: button("yes") });
  const [{ message_id } = { message_id: 0 }] = telegram.answers();
  const copy = telegram.forward({ message_id, to: 7 });
  expect(copy).toMatchObject({ text: "Sure?", buttons: [], forwarded_from: { chat: 42, message_id } });
  telegram.press({ user: 7, message_id: copy.message_id, data: "yes", forged: true });
  expect((await updates(telegram)).slice(-2)).toMatchObject([
    { message: { forward_origin: { sender_user: { is_bot: true } }, chat: { id: 7 } } },
    { callback_query: { from: { id: 7 }, data: "yes", message: { chat: { id: 7 } } } },
  ]);
});

test("of a message that was deleted its button tells little", async () => {
  const telegram = await open();
  telegram.say({ text: "hello" });
  telegram.press({ message_id: 99, data: "x", forged: true });
  expect((await updates(telegram)).at(-1)).toMatchObject({
    callback_query: { message: { chat: { id: 42 }, message_id: 99, date: 0 } },
  });
});

test("who blocked the bot gets nothing", async () => {
  const telegram = await open();
  telegram.say({ text: "hello" });
  telegram.block(42);
  expect(await call(telegram, "sendMessage", { chat_id: 42, text: "x" })).toMatchObject({
    status: 403,
    description: "Forbidden: bot was blocked by the user",
  });
  expect(() => telegram.say({ text: "hello?" })).toThrow(/the person has blocked the bot/);
  telegram.unblock(42);
  expect(await call(telegram, "sendMessage", { chat_id: 42, text: "x" })).toMatchObject({ ok: true });
  expect(await updates(telegram)).toMatchObject([
    {},
    { my_chat_member: { new_chat_member: { status: "kicked" } } },
    { my_chat_member: { new_chat_member: { status: "member" } } },
  ]);
});

test("a document comes with its bytes, and its limits are held", async () => {
  const telegram = await open({ max_file_bytes: 100 });
  telegram.say({ text: "hello" });
  const send = (content: string, caption = ""): Promise<Answer> => {
    const document = new File([content], 'a "b"; ü.txt', { type: "text/x-test" });
    return upload(telegram, "sendDocument", { chat_id: 42, caption, document });
  };
  expect(await send("line\r\n--x\r\n\0ü", "see")).toMatchObject({ ok: true });
  const [seen] = telegram.answers();
  expect(seen).toMatchObject({ text: "see", document: { mime_type: "text/x-test" } });
  expect(seen?.document?.content.toString()).toBe("line\r\n--x\r\n\0ü");
  expect(await send("")).toMatchObject({ status: 400, description: "Bad Request: file must be non-empty" });
  expect(await send("x".repeat(101))).toMatchObject({ status: 413 });
  expect(await send("x", "c".repeat(1025))).toMatchObject({
    status: 400,
    description: "Bad Request: message caption is too long",
  });
  const again = { chat_id: 42, document: seen?.document?.file_id };
  expect(await call(telegram, "sendDocument", again)).toMatchObject({ ok: true });
});

test("what comes faster than Telegram takes it has to wait, and is seen when it does not", async () => {
  const telegram = await open({ limits: TELEGRAM_LIMITS });
  telegram.say({ text: "hello" });
  telegram.say({ user: 7, text: "hello" });
  const send = (chat_id: number): Promise<Answer> => call(telegram, "sendMessage", { chat_id, text: "x" });
  for (let sent = 0; sent < 5; sent += 1) expect(await send(42)).toMatchObject({ ok: true });
  const refused = await send(42);
  expect(refused).toMatchObject({ status: 429, description: /^Too Many Requests: retry after \d$/ });
  expect(refused.parameters).toEqual({ retry_after: expect.any(Number) as number });
  expect(await send(7)).toMatchObject({ ok: true });
  await send(42);
  expect(telegram.calls.map(({ is_early }) => is_early).slice(-3)).toEqual([false, false, true]);
});
