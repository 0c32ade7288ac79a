import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { FakeTelegram } from "../emulators/fake-telegram/server.ts";
import { lastAsked, startPhone, toolCall } from "./support/phone.ts";
import { scratchPlace, until } from "./support/service.ts";
import { openTelegram, pressed, questionIn, startBot, tasksOf } from "./support/telegram.ts";

/** The talk beside the tasks, by phone: what is typed while something runs or is asked, and the commands. */

async function said(telegram: FakeTelegram, shape: RegExp): Promise<string> {
  const found = await telegram.until(
    () => telegram.answers().find(({ text }) => shape.test(text)),
    `a message like ${String(shape)}`,
  );
  return found.text;
}

const DELETE = [toolCall("delete_file", { path: "a.txt" }), { text: "as you say" }];

test.concurrent("words while a question is open are acknowledged; a reply to it is the reason", async ({
  onTestFinished,
}) => {
  const phone = await startPhone(onTestFinished, { clean: DELETE, later: [{ text: "now" }] });
  const { telegram, place } = phone;
  telegram.say({ text: "clean up" });
  const { message_id } = await questionIn(telegram);
  telegram.say({ text: "later this" });
  await said(telegram, /^Queued \(1\): answer the question above first/);
  telegram.say({ text: "it is the last copy", reply_to: message_id });
  await said(telegram, /^as you say$/);
  await said(telegram, /^now$/);
  expect(JSON.stringify(phone.model.requests.map(({ body }) => body))).toContain("it is the last copy");
  expect(readFileSync(join(place.root, "a.txt"), "utf8")).toBe("a");
  await telegram.until(() => !telegram.answers().some(({ text }) => text.startsWith("Queued")), "the notice to go");
});

const SLOW = [toolCall("bash", { cmd: "echo one third; sleep 600" }), { text: "never" }];

test.concurrent("progress is in words with the time and the last line of output; a task that was stopped says so", async ({
  onTestFinished,
}) => {
  const phone = await startPhone(onTestFinished, { slow: SLOW, next: [{ text: "next is done" }] });
  const { telegram, service } = phone;
  telegram.say({ text: "slow work" });
  const { message_id } = await telegram.until(
    () => telegram.answers().find(({ buttons, text }) => buttons.length > 0 || text.startsWith("Working")),
    "a sign of it",
  );
  if (telegram.answers().some(({ buttons }) => buttons.length > 0))
    await pressed(telegram, { message_id, button: "Allow once" });
  const progress = await said(telegram, /^Working[^]*one third/);
  expect(progress).toMatch(/^Working · \d+ s\n/);
  expect(progress).not.toMatch(/[{}"]/);
  telegram.say({ text: "next" });
  await said(telegram, /^Queued \(1\): starts when the running task ends/);
  telegram.say({ text: "/stop" });
  await said(telegram, /^Stopp(?:ing|ed): /);
  await said(telegram, /^next is done$/);
  const [task] = await tasksOf(service);
  expect(task?.state).toBe("cancelled");
  await said(telegram, /^Stopped\. No files changed\.$/);
});

test.concurrent("/new starts a fresh conversation", async ({ onTestFinished }) => {
  const phone = await startPhone(onTestFinished, { first: [{ text: "kept in mind" }] });
  const { telegram } = phone;
  telegram.say({ text: "first the harbour" });
  await said(telegram, /^kept in mind$/);
  telegram.say({ text: "second" });
  await said(telegram, /^You said: second/);
  expect(lastAsked(phone)).toContain("harbour");
  telegram.say({ text: "/new" });
  await said(telegram, /^New conversation/);
  telegram.say({ text: "third" });
  await said(telegram, /^You said: third/);
  expect(lastAsked(phone)).not.toContain("harbour");
});

test.concurrent("without a model too, /help lists what can be typed", async ({ onTestFinished }) => {
  const place = scratchPlace(onTestFinished);
  const telegram = await openTelegram(place);
  await startBot(place, telegram);
  telegram.say({ text: "/help" });
  const help = await said(telegram, /\/stop/);
  for (const word of ["/new", "/status", "/tasks", "/retry", "/ls", "/read"]) expect(help).toContain(word);
});

test.concurrent("/undo says what it would change, and does it by a button", async ({ onTestFinished }) => {
  const write = [toolCall("write", { path: "note.txt", content: "new\n" }), { text: "written" }];
  const phone = await startPhone(onTestFinished, { write });
  const { telegram, place } = phone;
  const file = join(place.root, "note.txt");
  writeFileSync(file, "old\n");
  telegram.say({ text: "write it" });
  await said(telegram, /^written$/);
  telegram.say({ text: "/undo" });
  const offer = await questionIn(telegram);
  expect(offer.text).toMatch(/note\.txt/);
  expect(readFileSync(file, "utf8")).toBe("new\n");
  const [button] = offer.buttons.flat();
  await pressed(telegram, { message_id: offer.message_id, button: button?.text ?? "" });
  await until(() => readFileSync(file, "utf8") === "old\n", "the file to be as before");
});
