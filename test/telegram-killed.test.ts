import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openStore } from "../packages/autonous/src/store/open-store.ts";
import { scratchPlace, until, workerOf } from "./support/service.ts";
import type { Place, Served } from "./support/service.ts";
import { ADA, allSent, answersOf, openTelegram, startBot, tasksOf } from "./support/telegram.ts";

/** kill -9 of the service and its worker in the middle of what a person asked for: nothing twice, nothing lost. */

async function kill(service: Served): Promise<void> {
  process.kill(await workerOf(service), "SIGKILL");
  await service.stop("SIGKILL");
}

test.each(["Sending 1 answer", "a"])(
  "a kill in the middle of /resend, while %j is sent: the answer comes once",
  async (text) => {
    const place = scratchPlace();
    const telegram = await openTelegram(place);
    const first = await startBot(place, telegram);
    telegram.fault({ kind: "blocked", method: "sendMessage", text: "a" });
    telegram.say({ text: "/read a.txt" });
    await until(() => hasGivenUp(place), "the answer to be given up");
    await telegram.until(() => telegram.isPolled, "the bot to listen");
    telegram.fault({ kind: "hang", method: "getUpdates", times: "always" }); // the command is not confirmed
    telegram.fault({ kind: "hang", method: "sendMessage", text, times: "always" });
    telegram.say({ text: "/resend" });
    const isHeld = (): boolean =>
      telegram.calls.some(({ method, fault }) => method === "sendMessage" && fault === "hang");
    await telegram.until(isHeld, "the call that hangs");
    const before = telegram.answers().filter((message) => message.text === "a").length;
    await kill(first);
    telegram.clearFaults();

    const second = await startBot(place, telegram);
    await telegram.until(
      () => telegram.answers().some((each) => each.text.startsWith("Sending 1 answer")),
      "the remark",
    );
    await telegram.until(() => telegram.answers().some((each) => each.text === "a"), "the answer");
    telegram.say({ text: "/status" });
    await telegram.until(
      () => telegram.answers().some((each) => each.text.startsWith("No task is running")),
      "the status",
    );
    const texts = telegram.answers().map((each) => each.text);
    expect(texts.filter((each) => each === "a").length - before).toBeLessThanOrEqual(1); // sent and not on record: again
    expect(texts).not.toContain("Everything was delivered here.");
    expect((await tasksOf(second)).map(({ state }) => state)).toEqual(["done"]);
  },
);

async function hasGivenUp({ database }: Place): Promise<boolean> {
  const store = await openStore({ file: database, clock: Date.now });
  try {
    return (await store.outbox.givenUp({ channel: "telegram", chat: `telegram:${ADA}` })).length > 0;
  } finally {
    await store.close();
  }
}

test("a kill after the button of /undo was pressed and before that is confirmed: it is undone once", async () => {
  const place = scratchPlace();
  const telegram = await openTelegram(place);
  const first = await startBot(place, telegram);
  telegram.say({ text: '/write {"path":"b.txt","content":"b"}' });
  await answersOf(telegram, 1);
  await allSent(first);
  telegram.say({ text: "/undo" });
  const preview = await telegram.until(() => telegram.answers().find(({ buttons }) => buttons.length > 0), "a preview");
  telegram.fault({ kind: "hang", method: "editMessageReplyMarkup", times: "always" });
  telegram.press({ message_id: preview.message_id, button: "Undo" });
  await telegram.until(() => telegram.calls.some((call) => call.fault === "hang"), "the press to be taken");
  await kill(first);
  telegram.clearFaults();

  const second = await startBot(place, telegram);
  await until(() => !existsSync(join(place.root, "b.txt")), "the undo");
  await telegram.until(() => telegram.unconfirmed === 0, "the press to be confirmed");
  await allSent(second);
  const tasks = await tasksOf(second);
  expect(tasks.map(({ state }) => state)).toEqual(["done", "done"]);
  expect(tasks[1]?.text).toMatch(/^Undo the file changes of task/);
});

test("a kill between the parts of a pasted text: every word is in a task, once and in order", async () => {
  const place = scratchPlace();
  const telegram = await openTelegram(place);
  const first = await startBot(place, telegram);
  const words = Array.from({ length: 1300 }, (_, index) => `word${index}`);
  const date = Math.floor(Date.now() / 1000);
  const text = words.join(" ");
  telegram.say({ text: text.slice(0, 4000), date });
  await until(async () => (await tasksOf(first)).length === 1, "the first part");
  await kill(first);
  telegram.say({ text: text.slice(4000, 8000), date });
  telegram.say({ text: text.slice(8000), date });

  const second = await startBot(place, telegram);
  await telegram.until(() => telegram.unconfirmed === 0, "all parts to be confirmed");
  await until(
    async () => (await tasksOf(second)).every(({ state }) => state === "done" || state === "failed"),
    "the tasks to end",
  );
  const said = (await tasksOf(second)).map((task) => task.text).join("");
  expect(said.replaceAll(/\s/g, "")).toBe(text.replaceAll(/\s/g, ""));
});
