import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ChatMessage, FakeTelegram } from "../emulators/fake-telegram/server.ts";
import { scratchPlace, until, workerOf } from "./support/service.ts";
import {
  ADA,
  answersOf,
  BOB,
  eventsOf,
  openTelegram,
  pressed,
  questionIn,
  startBot,
  tasksOf,
} from "./support/telegram.ts";

/** Undoing by `/undo`: shown first, done by its button. */

const WRITE = '/write {"path":"b.txt","content":"new\\n"}';

async function previewOf(telegram: FakeTelegram, chat = ADA): Promise<ChatMessage> {
  telegram.say({ user: chat, text: "/undo" });
  return await questionIn(telegram, chat);
}

test.concurrent("/undo shows what would change; its button does it once, for the person who asked, on record", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  const telegram = await openTelegram(place);
  const service = await startBot(place, telegram);
  telegram.say({ user: BOB, text: "/ls ." });
  await answersOf(telegram, 1, BOB);
  telegram.say({ text: WRITE });
  await answersOf(telegram, 1);
  telegram.say({ text: "/ls ." });
  await answersOf(telegram, 2);
  const { text, message_id, buttons, entities } = await previewOf(telegram);
  expect(text).toMatch(/^Undo task \w{6} \(\/write .*\)\? This would change 1 file:\n- b\.txt\n\n[^]*\n-new/);
  expect(entities).toMatchObject([{ type: "pre", language: "diff" }]);
  const data = buttons[0]?.[0]?.callback_data ?? "";
  const forged = data.replace(/[0-9a-f]{8}$/, (hex) => hex.replaceAll(/./g, (each) => (each === "0" ? "1" : "0")));
  // oxfmt-ignore
  const presses = [
    { title: "a stranger",      press: { user: 13, message_id, data },                        says: /You do not have access to this bot/ },
    { title: "another user",    press: { user: BOB, chat: ADA, message_id, data },            says: /Only the person who sent \/undo/ },
    { title: "another chat",    press: { user: BOB, chat: BOB, message_id: 1, data },         says: /only in the chat/ },
    { title: "another digest",  press: { message_id, data: forged },                          says: /out of date/ },
    { title: "an old nonce",    press: { message_id, data: data.replace(/:.*:/, ":AAAAAAAA:") }, says: /out of date/ },
    { title: "no such button",  press: { message_id, data: "u:x" },                           says: /out of date/ },
  ] as const;
  for (const { title, press, says } of presses)
    expect(await pressed(telegram, { ...press, forged: true }), title).toMatch(says);
  expect(existsSync(join(place.root, "b.txt"))).toBe(true);

  expect(await pressed(telegram, { message_id, data })).toBe("Undoing");
  expect(await pressed(telegram, { message_id, data, forged: true })).toBe("Already confirmed");
  expect((await answersOf(telegram, 4))[3]?.text).toMatch(/^Undone\.\nremoved b\.txt/);
  expect(existsSync(join(place.root, "b.txt"))).toBe(false);
  const task = (await tasksOf(service)).findLast((each) => each.text.startsWith("Undo the file changes"));
  const events = await eventsOf(service, task?.text ?? "");
  const ended = events.filter(({ type }) => type === "tool_call.completed");
  expect(ended).toHaveLength(1);
  expect(ended[0]?.payload["audit"]).toMatchObject({ user: "42", actor: { channel: "telegram" } });
  telegram.say({ text: "/undo" });
  expect((await answersOf(telegram, 5))[4]?.text).toBe("Nothing to undo: no recent task changed files.");
});

test.concurrent("a file that another process changed since is a conflict, before and after the preview", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  const telegram = await openTelegram(place);
  await startBot(place, telegram);
  telegram.say({ text: WRITE });
  await answersOf(telegram, 1);
  const { message_id } = await previewOf(telegram);
  writeFileSync(join(place.root, "b.txt"), "mine\n");
  expect(await pressed(telegram, { message_id, button: "Undo 1 file" })).toBe("Undoing");
  expect((await answersOf(telegram, 3))[2]?.text).toMatch(/^Stale: |^Not undone: /);
  expect(readFileSync(join(place.root, "b.txt"), "utf8")).toBe("mine\n");
  telegram.say({ text: "/undo" });
  expect((await answersOf(telegram, 4))[3]?.text).toMatch(/^Cannot undo task \w{6}: .*b\.txt/);
});

test.concurrent("kill -9 between the press and its effect loses nothing, and undoes once", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  const telegram = await openTelegram(place);
  const first = await startBot(place, telegram);
  telegram.say({ text: WRITE });
  await answersOf(telegram, 1);
  const { message_id } = await previewOf(telegram);
  const worker = await workerOf(first);
  expect(await pressed(telegram, { message_id, button: "Undo 1 file" })).toBe("Undoing");
  await until(async () => (await tasksOf(first)).length === 2, "the undo to be on record");
  process.kill(worker, "SIGKILL");
  await first.stop("SIGKILL");

  const second = await startBot(place, telegram);
  await until(() => !existsSync(join(place.root, "b.txt")), "the undo");
  await until(async () => (await tasksOf(second)).every(({ state }) => state === "done"), "the tasks to end");
  const undone = (await tasksOf(second)).filter(({ text }) => text.startsWith("Undo the file changes"));
  expect(undone).toHaveLength(1);
});
