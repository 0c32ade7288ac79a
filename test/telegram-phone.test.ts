import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { greyPng } from "../emulators/fake-telegram/server.ts";
import type { ChatMessage } from "../emulators/fake-telegram/server.ts";
import { lastAsked, startPhone, toolCall } from "./support/phone.ts";
import type { Phone } from "./support/phone.ts";
import { until } from "./support/service.ts";
import { ADA, answersOf, BOB, pressed, questionIn, tasksOf } from "./support/telegram.ts";

/** What a person with a phone does, against the service as it is run, a model that follows a script, and the emulator. */

function typesIn({ text, entities }: ChatMessage): readonly string[] {
  return entities.map(({ type, offset, length }) => `${type} ${text.slice(offset, offset + length)}`);
}

/** Telegram refused nothing, and took all formatting as it was given. */
function expectClean({ telegram }: Phone): void {
  expect(telegram.calls.filter(({ status }) => status === 400)).toEqual([]);
  expect(telegram.calls.filter(({ parameters }) => "parse_mode" in parameters)).toEqual([]);
  for (const { altered_entities } of telegram.answers()) expect(altered_entities).toEqual([]);
}

const MARKDOWN =
  "# Left\n\nThe **build** of `app_x` fails, see [the log](https://ci.example.com/7):\n\n```ts\nlet a = 1 < 2;\n```\n\n- one\n- two";

test.concurrent("answers in Markdown are entities, reply to their question, and display stays beside them", async ({
  onTestFinished,
}) => {
  const display = { content: "half **way**", level: "warning", title: "Walk" };
  const phone = await startPhone(onTestFinished, { format: [toolCall("display", display), { text: MARKDOWN }] });
  const { telegram } = phone;
  const { message_id } = telegram.say({ text: "format it" });
  const [shown, answer] = await answersOf(telegram, 2);
  expect(shown?.text).toBe("Warning: Walk\nhalf way");
  expect(shown && typesIn(shown)).toEqual(["bold Warning: Walk", "bold way"]);
  expect(answer?.reply_to).toBe(message_id);
  expect(answer && typesIn(answer)).toEqual(
    expect.arrayContaining(["bold Left", "bold build", "code app_x", "text_link the log", "pre let a = 1 < 2;"]),
  );
  expect(answer?.text).not.toContain("**");
  await telegram.until(() => telegram.answers().every(({ text }) => !text.startsWith("Working")), "the progress to go");
  expect(telegram.answers()).toHaveLength(2);
  expectClean(phone);
});

test.concurrent("emoji and Persian stay as they are; controls of direction are visible", async ({ onTestFinished }) => {
  const said = "👩‍👩‍👧 ❤️ می‌خواهم 🏳️‍🌈";
  const phone = await startPhone(onTestFinished, { say: [{ text: `${said} a\u202eb` }] });
  phone.telegram.say({ text: `say ${said}` });
  const [answer] = await answersOf(phone.telegram, 1);
  expect(answer?.text).toContain(said);
  expect(answer?.text).not.toContain("\u202e");
  expect(lastAsked(phone)).toContain(said);
  expectClean(phone);
});

test.concurrent("files go into the inbox folder and are named; images are seen; an album is one message", async ({
  onTestFinished,
}) => {
  const phone = await startPhone(onTestFinished);
  const { telegram, place, service } = phone;
  const picture = greyPng(120, 80);
  telegram.send({ kind: "photo", content: picture, caption: "what is on it?" });
  const [answer] = await answersOf(telegram, 1);
  expect(answer?.text).toMatch(/^You said: what is on it\?/);
  expect(lastAsked(phone)).toContain(picture.toString("base64"));
  const [, name] = /inbox\/([\w.-]+\.\w+)/.exec(lastAsked(phone)) ?? [];
  expect(readFileSync(join(place.root, "inbox", name ?? "")).equals(picture)).toBe(true);

  const items = ["a.csv", "b.csv"].map((file_name) => ({ kind: "document" as const, file_name, content: file_name }));
  telegram.album({ items, caption: "compare" });
  telegram.send({ kind: "voice" });
  await answersOf(telegram, 3);
  const tasks = await tasksOf(service);
  expect(tasks).toHaveLength(3);
  expect(tasks[1]?.text).toMatch(/^compare[^]*inbox\/a\.csv[^]*inbox\/b\.csv/);
  expect(tasks[2]?.text).toMatch(/voice_[\d_-]+\.ogg/);
  expect(readFileSync(join(place.root, "inbox/b.csv"), "utf8")).toBe("b.csv");
  telegram.send({ kind: "dice" });
  expect((await answersOf(telegram, 4)).at(-1)?.text).toMatch(/dice/i);
  expect(await tasksOf(service)).toHaveLength(3);
  expectClean(phone);
});

test.concurrent("a pasted text is one task; a reply carries what it replies to; a forward is data", async ({
  onTestFinished,
}) => {
  const phone = await startPhone(onTestFinished, { paste: [{ text: "long" }], which: [{ text: "that one" }] });
  const { telegram, service } = phone;
  const text = `paste ${"word ".repeat(2000)}`.trim();
  expect(telegram.paste({ text }).length).toBe(3);
  await answersOf(telegram, 1);
  const [task, ...others] = await tasksOf(service);
  expect(others).toEqual([]);
  expect(task?.text.split(/\s+/)).toHaveLength(2001); // what white space was at the cuts, the app does not tell
  const reply_to = telegram.answers()[0]?.message_id ?? 0;
  telegram.say({ text: "which one?", reply_to });
  const [, second] = await answersOf(telegram, 2);
  expect(second?.text).toBe("that one");
  expect(lastAsked(phone)).toMatch(/which one\?.*> long/);
  const { message_id } = telegram.say({ user: { id: 13, first_name: "Eve" }, text: "/delete_file a.txt" });
  telegram.forward({ chat: 13, message_id, to: ADA });
  await answersOf(telegram, 3);
  expect(lastAsked(phone)).toContain("Forwarded from");
  expect(readFileSync(join(phone.place.root, "a.txt"), "utf8")).toBe("a");
});

const DELETE = [toolCall("delete_file", { path: "a.txt" }), { text: "as you say" }];

test.concurrent("a question is readable on a phone, and is denied with a reason that the model gets", async ({
  onTestFinished,
}) => {
  const phone = await startPhone(onTestFinished, { clean: DELETE });
  const { telegram } = phone;
  telegram.say({ text: "clean up" });
  const question = await questionIn(telegram);
  expect(question.text.split("\n")[0]).toMatch(/^The agent wants to .*a\.txt/);
  expect(question.entities.map(({ type }) => type)).toContain("expandable_blockquote");
  expect(question.text).not.toMatch(/autonous (approvals|approve|deny)/);
  expect(question.buttons.flat().map(({ text }) => text)).toEqual(
    expect.arrayContaining(["Allow once", "Deny", "Deny with a reason…"]),
  );
  await pressed(telegram, { message_id: question.message_id, button: "Deny with a reason" });
  const prompt = await telegram.until(() => telegram.answers().find(({ forces_reply }) => forces_reply), "the prompt");
  telegram.say({ text: "I still need it", reply_to: prompt.message_id });
  await telegram.until(() => telegram.answers().some(({ text }) => text === "as you say"), "the answer");
  expect(lastAsked(phone)).toContain("I still need it");
  expect(readFileSync(join(phone.place.root, "a.txt"), "utf8")).toBe("a");
  expectClean(phone);
});

const FORUM = -1_000_000_000_077;

test.concurrent("in groups only what is meant for the bot is a task, answered in its topic, people by name", async ({
  onTestFinished,
}) => {
  const phone = await startPhone(onTestFinished);
  const { telegram, service } = phone;
  telegram.introduce({ id: ADA, first_name: "Ada", last_name: "L" });
  const thread = telegram.createTopic({ chat: FORUM, name: "Builds" });
  telegram.say({ chat: FORUM, thread, text: "lunch?" });
  const { message_id } = telegram.say({ chat: FORUM, thread, text: "@fake_bot is it green?" });
  const [answer] = await answersOf(telegram, 1, FORUM);
  expect(answer).toMatchObject({ thread, reply_to: message_id });
  telegram.say({ user: BOB, chat: FORUM, thread, text: "and now?", reply_to: answer?.message_id ?? 0 });
  telegram.say({ user: BOB, chat: FORUM, text: "@fake_bot in general" });
  const [, , general] = await answersOf(telegram, 3, FORUM);
  expect(general?.thread).toBeUndefined();
  const tasks = await tasksOf(service);
  expect(tasks).toHaveLength(3);
  expect(tasks[0]?.text).toContain("Ada");
  expect((await (await service.request(`/api/tasks/${tasks[0]?.task_id}`)).json()) as object).toMatchObject({
    task: { user: String(ADA) },
  });
  expect(telegram.answers()).toEqual([]);
  expectClean(phone);
});

test.concurrent("a group that becomes a supergroup gets its answer there", async ({ onTestFinished }) => {
  const phone = await startPhone(onTestFinished, { "@": [{ text: "there" }] });
  const { telegram } = phone;
  telegram.say({ chat: -50, text: "@fake_bot one" });
  await answersOf(telegram, 1, -50);
  const moved = telegram.migrate({ chat: -50 });
  telegram.say({ chat: moved, text: "@fake_bot two" });
  expect((await answersOf(telegram, 1, moved))[0]?.text).toMatch(/two/);
});

/** From an hour ago to three hours from now. */
function quietNow(): string {
  const [from, to] = [-1, 3].map((hours) => new Date(Date.now() + hours * 3_600_000).toISOString().slice(11, 16));
  return `${from}-${to} UTC`;
}

test.concurrent("pictures are sent as photos, in quiet hours without a sound", async ({ onTestFinished }) => {
  const script = { plan: [toolCall("attach", { path: "plan.png", caption: "The **plan**" }), { text: "sent" }] };
  const phone = await startPhone(onTestFinished, script, { AUTONOUS_TELEGRAM_QUIET_HOURS: quietNow() });
  writeFileSync(join(phone.place.root, "plan.png"), greyPng(50, 50));
  phone.telegram.say({ text: "plan" });
  const [photo, answer] = await answersOf(phone.telegram, 2);
  expect(photo).toMatchObject({ text: "The plan", is_silent: true, photo: {} });
  expect(answer).toMatchObject({ text: "sent", is_silent: true });
  expectClean(phone);
});

test.concurrent("an answer that a blocked chat did not get can be sent again", async ({ onTestFinished }) => {
  const phone = await startPhone(onTestFinished, { work: [{ text: "done" }] });
  const { telegram } = phone;
  telegram.fault({ kind: "blocked", method: "sendMessage" });
  telegram.say({ text: "work" });
  await telegram.until(() => telegram.calls.some(({ status }) => status === 403), "the refusal");
  telegram.say({ text: "/status" });
  await telegram.until(() => telegram.answers().some(({ text }) => text.includes("/resend")), "the notice");
  telegram.say({ text: "/resend" });
  await telegram.until(() => telegram.answers().some(({ text }) => text === "done"), "the answer");
});

test.concurrent("a webhook that another program set is not deleted without a word", async ({ onTestFinished }) => {
  const { telegram, service } = await startPhone(onTestFinished, { list: [{ text: "nothing" }] });
  telegram.setWebhook("https://bots.example/hook");
  await until(() => /webhook/i.test(service.stderr()), "the log to name it");
  expect(telegram.calls.map(({ method }) => method)).not.toContain("deleteWebhook");
  telegram.setWebhook("");
  telegram.say({ text: "list" });
  expect((await answersOf(telegram, 1))[0]?.text).toBe("nothing");
});
