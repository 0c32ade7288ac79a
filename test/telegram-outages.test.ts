import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { FakeTelegram } from "../emulators/fake-telegram/server.ts";
import { autonous } from "./support/cli.ts";
import { scratchPlace, startService, until, workerOf } from "./support/service.ts";
import type { Place } from "./support/service.ts";
import { ADA, allSent, answersOf, BOB, openTelegram, startBot, tasksOf, variablesFor } from "./support/telegram.ts";

/** Telegram, the network or the service itself fails for a while: nothing is lost, and the order is kept. */

function writeFiles({ root }: Place, names: readonly string[]): void {
  for (const name of names) writeFileSync(join(root, name), name);
}

function textsOf(telegram: FakeTelegram, chat = ADA): readonly string[] {
  return telegram.answers(chat).map(({ text }) => text);
}

test.concurrent("with the network down in both directions nothing is lost, and the order is kept", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  writeFiles(place, ["one", "two", "three"]);
  const telegram = await openTelegram(place);
  const service = await startBot(place, telegram);
  for (const [round, kind] of (["refused", "reset"] as const).entries()) {
    telegram.fault({ kind: "reset_before", method: "sendMessage", times: "always" });
    telegram.say({ text: "/read one" });
    await until(async () => (await tasksOf(service))[round * 3]?.state === "done", "the first task");
    await telegram.outage(kind);
    telegram.say({ text: "/read two" });
    telegram.say({ text: "/read three" });
    const code = kind === "refused" ? "ECONNREFUSED" : "ECONNRESET";
    await until(() => service.stderr().includes(`cannot be reached for getUpdates (${code})`), "the outage to be told");
    expect(textsOf(telegram)).toHaveLength(round * 3);
    telegram.clearFaults();
    await telegram.recover();
    await answersOf(telegram, round * 3 + 3);
    await allSent(service);
  }
  expect(textsOf(telegram)).toEqual(["one", "two", "three", "one", "two", "three"]);
});

test.concurrent("a service that starts while Telegram is down serves, and is a bot as soon as it can be", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  const telegram = await openTelegram(place);
  telegram.say({ text: "/ls ." });
  await telegram.outage("refused");
  const service = await startService(place, { environment: variablesFor(telegram) });
  expect((await service.ask({ text: "/ls ." })).reply?.text).toBe("a.txt");
  expect(service.stderr()).toContain("cannot be reached");
  await telegram.recover();
  expect((await answersOf(telegram, 1))[0]?.text).toBe("a.txt");
});

test.concurrent("replies that could not be sent outlive kill -9, and go out in order", async ({ onTestFinished }) => {
  const place = scratchPlace(onTestFinished);
  writeFiles(place, ["one", "two", "three"]);
  const telegram = await openTelegram(place);
  const first = await startBot(place, telegram);
  telegram.fault({ kind: "server_error", method: "sendMessage", times: "always" });
  for (const name of ["one", "two"]) telegram.say({ text: `/read ${name}` });
  await until(async () => (await tasksOf(first)).filter(({ state }) => state === "done").length === 2, "the tasks");
  process.kill(await workerOf(first), "SIGKILL");
  await first.stop("SIGKILL");
  telegram.say({ text: "/read three" });
  telegram.clearFaults();
  const second = await startBot(place, telegram);
  await answersOf(telegram, 3);
  await allSent(second);
  expect(textsOf(telegram)).toEqual(["one", "two", "three"]);
});

test.concurrent("429 is obeyed: nothing goes to the chat before its time, and nothing is lost", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  writeFiles(place, ["one", "two"]);
  const telegram = await openTelegram(place);
  const service = await startBot(place, telegram);
  telegram.fault({ kind: "rate_limited", method: "sendMessage", chat: ADA, retry_after_s: 3 });
  telegram.fault({ kind: "rate_limited", method: "getUpdates", retry_after_s: 1 });
  for (const name of ["one", "two"]) telegram.say({ text: `/read ${name}` });
  telegram.say({ user: BOB, text: "/read one" });
  expect((await answersOf(telegram, 1, BOB))[0]?.text).toBe("one");
  await answersOf(telegram, 2);
  await allSent(service);
  expect(textsOf(telegram)).toEqual(["one", "two"]);
  expect(telegram.calls.filter(({ status }) => status === 429).length).toBeGreaterThan(0);
  expect(telegram.calls.filter(({ is_early }) => is_early)).toEqual([]);
});

// oxfmt-ignore
const LOST = [
  { chat: 101, kind: "bad_gateway",  times: 2, most: 1 },
  { chat: 102, kind: "reset_before", times: 2, most: 1 },
  { chat: 103, kind: "reset_after",  times: 1, most: 2 },
  { chat: 104, kind: "cut_answer",   times: 1, most: 2 },
] as const;

test.concurrent("a reply arrives whatever befalls it: twice only where its answer got lost, and before the next", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  const telegram = await openTelegram(place);
  const allowed = LOST.map(({ chat }) => chat).join(",");
  const service = await startBot(place, telegram, { AUTONOUS_TELEGRAM_ALLOWED_USERS: allowed });
  for (const { chat, kind, times } of LOST) {
    telegram.fault({ kind, method: "sendMessage", chat, times });
    telegram.say({ user: chat, text: "/ls ." });
    telegram.say({ user: chat, text: "/read a.txt" });
  }
  for (const { chat } of LOST) await telegram.until(() => textsOf(telegram, chat).includes("a"), "the last answer");
  await allSent(service);
  for (const { chat, kind, most } of LOST) {
    const texts = textsOf(telegram, chat);
    expect(texts.filter((text) => text === "a.txt").length, kind).toBeLessThanOrEqual(most);
    expect(
      texts.filter((text, index) => text !== texts[index - 1]),
      kind,
    ).toEqual(["a.txt", "a"]);
  }
  const befallen = telegram.calls.flatMap(({ fault = [] }) => fault);
  expect(new Set(befallen)).toEqual(new Set(LOST.map(({ kind }) => kind)));
});

test("a chat that was shut holds up no other, and what comes after it was opened again arrives", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  writeFiles(place, ["one", "two"]);
  const telegram = await openTelegram(place);
  const service = await startBot(place, telegram);
  telegram.say({ text: "/read one" });
  telegram.block(ADA);
  telegram.say({ user: BOB, text: "/read two" });
  expect((await answersOf(telegram, 1, BOB))[0]?.text).toBe("two");
  await until(async () => (await tasksOf(service)).every(({ state }) => state === "done"), "the tasks");
  await telegram.until(() => telegram.calls.some(({ status }) => status === 403), "the refusal");
  telegram.unblock(ADA);
  telegram.say({ text: "/read two" });
  const [notice, answer] = await answersOf(telegram, 2);
  expect(notice?.text).toMatch(/^1 answer or file was not delivered here/);
  expect(answer?.text).toBe("two");

  const missed = (await tasksOf(service)).find(({ text }) => text === "/read one");
  const resend = ["tasks", "resend", missed?.task_id ?? "", "--state-dir", place.state_dir];
  expect(await autonous(resend, { cwd: place.path })).toMatchObject({ code: 0 });
  expect((await answersOf(telegram, 3)).at(-1)?.text).toBe("one");
  expect((await autonous(resend, { cwd: place.path })).code).toBe(1);
});

test.concurrent("another program that polls for the same bot is logged, and polling recovers when it ends", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  const telegram = await openTelegram(place);
  const service = await startBot(place, telegram);
  await fetch(`${telegram.url}/bot${telegram.token}/getUpdates`);
  await until(() => service.stderr().includes("Another program polls with this bot's token"), "it to be told");
  telegram.say({ text: "/ls ." });
  expect((await answersOf(telegram, 1))[0]?.text).toBe("a.txt");
});
