import { expect, test } from "vitest";
import { ADA, scratchPlace } from "../../../../../../test/support/telegram-channel.ts";
import { ownWords } from "../../../model/prompt/quoted.ts";
import { BadToken } from "../channel.ts";

const MINUTE = 60_000;

test("messages become tasks of their chat, in order, in the name of their authors", async () => {
  const { telegram, open, tasks, until, woken } = await scratchPlace();
  await open();
  for (const text of ["one", "two", "/ls src", "three"]) telegram.say({ text });
  const taken = await until(async () => (await tasks()).length === 4 && (await tasks()));
  expect(taken.map(({ text, lane, user, source }) => [text, lane, user, source])).toEqual(
    ["one", "two", "/ls src", "three"].map((text) => [text, "telegram:42", "42", "telegram"]),
  );
  expect(woken()).toBe(4);
  await until(() => telegram.unconfirmed === 0);
});

test("what a person writes is redacted before it is kept", async () => {
  const { telegram, open, tasks, until } = await scratchPlace();
  await open();
  telegram.say({ text: ["deploy with ", "AKIA", "IOSFODNN7EXAMPLE"].join("") });
  const [task] = await until(async () => (await tasks()).length === 1 && (await tasks()));
  expect(task?.text).toContain("deploy with");
  expect(task?.text).not.toContain("IOSFODNN7EXAMPLE");
});

test("a stranger gets one line in private with their number, and nothing in a group", async () => {
  const { telegram, open, tasks, until } = await scratchPlace();
  await open();
  for (const text of ["hello", "hello?", "/status"]) telegram.say({ user: 7, text });
  telegram.say({ user: 7, chat: -5, text: "@fake_bot in a group" });
  telegram.say({ user: ADA, chat: -5, text: "@fake_bot mine" });
  const [task] = await until(async () => (await tasks()).length === 1 && (await tasks()));
  expect(task).toMatchObject({ lane: "telegram:-5", user: "42" });
  expect(ownWords(task?.text ?? "")).toBe("mine");
  await telegram.until(() => telegram.answers(7)[0], "the line");
  expect(telegram.answers(7).map(({ text }) => text)).toEqual([
    "This bot is private. Its owner was asked to let you in. Your Telegram id: 7",
  ]);
  expect(telegram.answers(-5)).toEqual([]);
});

// oxfmt-ignore
const UPDATES = [
  { title: "a sticker",                     saying: { content: { sticker: { file_id: "s" } } },                              task: undefined, line: "A sticker is not supported. Write what you want as text." },
  { title: "an invoice",                    saying: { content: { invoice: { title: "x" } } },                                task: undefined, line: "An invoice is not supported. Write what you want as text." },
  { title: "a message that was pinned",     saying: { content: { pinned_message: { message_id: 1 } } },                      task: undefined, line: undefined },
  { title: "a command with the bot's name", saying: { text: "/ls@Fake_Bot src" },                                            task: "/ls src", line: undefined },
  { title: "a command for another bot",     saying: { text: "/ls@other_bot src" },                                           task: undefined, line: undefined },
  { title: "a mention of the bot",          saying: { text: "@fake_bot: ls", chat: -5 },                                     task: "ls", line: undefined },
  { title: "a sticker in a group",          saying: { content: { sticker: { file_id: "s" } }, chat: -5 },                    task: undefined, line: undefined },
] as const;

for (const { title, saying, task, line } of UPDATES) {
  test(`${title} is ${task === undefined ? "no task" : "a task"}, and ${line === undefined ? "nothing is said of it" : "a line says why"}`, async () => {
    const { telegram, open, tasks, until } = await scratchPlace();
    await open();
    telegram.say(saying);
    telegram.say({ text: "last" });
    await until(async () => (await tasks()).at(-1)?.text === "last");
    if (line !== undefined) await telegram.until(() => telegram.answers().length === 1, "the line");
    expect((await tasks()).map(({ text }) => ownWords(text))).toEqual(task === undefined ? ["last"] : [task, "last"]);
    expect(telegram.answers().map(({ text }) => text)).toEqual(line === undefined ? [] : [line]);
  });
}

test("an edited message is not a new task", async () => {
  const { telegram, open, tasks, until } = await scratchPlace();
  await open();
  const { message_id } = telegram.say({ text: "first" });
  await until(async () => (await tasks()).length === 1);
  telegram.edit({ message_id, text: "changed" });
  telegram.say({ text: "last" });
  await until(async () => (await tasks()).at(-1)?.text === "last");
  expect((await tasks()).map(({ text }) => text)).toEqual(["first", "last"]);
});

test("after a stop only the newest messages of the last minutes are taken, and each chat is told once how many were skipped", async () => {
  const { telegram, open, tasks, until } = await scratchPlace();
  const now = Date.now();
  telegram.say({ text: "too old", date: Math.floor((now - 11 * MINUTE) / 1000) });
  telegram.say({ chat: -5, text: "@fake_bot too old there", date: Math.floor((now - 60 * MINUTE) / 1000) });
  telegram.say({ user: 7, text: "stranger, too old", date: Math.floor((now - 60 * MINUTE) / 1000) });
  for (let i = 1; i <= 8; i++) telegram.say({ text: `message ${i}`, date: Math.floor((now - 9 * MINUTE) / 1000) });
  await open({ pending_max_messages: 5 });
  await until(async () => (await tasks()).length === 5);
  expect((await tasks()).map(({ text }) => text)).toEqual([4, 5, 6, 7, 8].map((i) => `message ${i}`));
  await telegram.until(
    () => telegram.answers(ADA)[0] !== undefined && telegram.answers(-5)[0] !== undefined,
    "the lines",
  );
  expect(telegram.answers(ADA).map(({ text }) => text)).toEqual([
    "4 messages sent during downtime were skipped: only the last 10 minutes are read, at most 5 messages. Please resend if still relevant.",
  ]);
  expect(telegram.answers(-5)[0]?.text).toMatch(/^1 message sent during downtime was skipped/);
  expect(telegram.answers(7)).toEqual([]);
  for (let i = 1; i <= 8; i++) telegram.say({ text: `later ${i}` });
  await until(async () => (await tasks()).length === 13); // while it runs the limit does not apply
});

test("a backlog of hundreds is seen to its end before the newest are chosen, in order", async () => {
  const { telegram, open, tasks, until, store } = await scratchPlace();
  for (let i = 1; i <= 250; i++) telegram.say({ text: `message ${i}` });
  await open();
  await until(async () => (await tasks()).length === 50);
  expect((await tasks()).map(({ text }) => text)).toEqual(Array.from({ length: 50 }, (_, i) => `message ${201 + i}`));
  await telegram.until(
    () => telegram.answers()[0]?.text.startsWith("200 messages sent during downtime were skipped") === true,
    "the line",
  );
  await until(() => telegram.unconfirmed === 0);
  expect(await store.kv.get("telegram:backlog:42424242")).toBe("");
});

// oxfmt-ignore
const FAILURES = [
  { title: "500",                    fault: { kind: "server_error" } },
  { title: "a page of a gateway",    fault: { kind: "bad_gateway" } },
  { title: "JSON of a gateway",      fault: { kind: "gateway_json" } },
  { title: "409",                    fault: { kind: "conflict" } },
  { title: "429",                    fault: { kind: "rate_limited", retry_after_s: 1 } },
  { title: "a reset connection",     fault: { kind: "reset_before" } },
  { title: "an answer that was cut", fault: { kind: "cut_answer" } },
  { title: "a token revoked for a moment", fault: { kind: "unauthorized" } },
] as const;

for (const { title, fault } of FAILURES) {
  test(`${title} when messages are asked for loses none, takes none twice, and is told without the token`, async () => {
    const { telegram, open, tasks, until, lines } = await scratchPlace();
    await open();
    await telegram.until(() => telegram.isPolled, "the poll");
    telegram.fault({ ...fault, method: "getUpdates", times: 2 });
    telegram.say({ text: "one" });
    telegram.say({ text: "two" });
    await until(async () => (await tasks()).length === 2);
    telegram.say({ text: "three" });
    await until(async () => (await tasks()).length === 3);
    expect((await tasks()).map(({ text }) => text)).toEqual(["one", "two", "three"]);
    expect(lines.join("\n")).toMatch(/Retrying/);
    expect(lines.join("\n")).not.toContain(telegram.token.slice(9));
    expect(telegram.calls.filter(({ is_early }) => is_early)).toEqual([]);
  });
}

test("a menu that Telegram does not take now keeps no message waiting", async () => {
  const { telegram, open, tasks, until } = await scratchPlace({
    faults: [{ kind: "rate_limited", method: "setMyCommands", retry_after_s: 600 }],
  });
  await open();
  telegram.say({ text: "one" });
  await until(async () => (await tasks()).length === 1);
});

for (const [who, user] of [
  ["a stranger", 7],
  ["a user on the list", ADA],
] as const) {
  test(`a press of ${who} that Telegram does not let us answer blocks no one`, async () => {
    const { telegram, open, tasks, until } = await scratchPlace();
    await open();
    const { message_id } = telegram.say({ chat: -5, text: "@fake_bot one" });
    await until(async () => (await tasks()).length === 1);
    telegram.fault({ kind: "rate_limited", method: "answerCallbackQuery", retry_after_s: 600 });
    telegram.press({ user, chat: -5, message_id, data: "y", forged: true });
    await telegram.until(() => telegram.calls.some(({ status }) => status === 429), "the refusal");
    for (const text of ["@fake_bot two", "/help"]) telegram.say({ chat: -5, text });
    await until(async () => (await tasks()).length === 2);
    await telegram.until(() => telegram.answers(-5)[0], "the list of commands");
  });
}

test("a crowd of strangers who press buttons does not use up what may be sent", async () => {
  const { telegram, open, tasks, until } = await scratchPlace();
  const now = Date.now();
  await open({ clock: () => now });
  const { message_id } = telegram.say({ chat: -5, text: "@fake_bot one" });
  await until(async () => (await tasks()).length === 1);
  for (let i = 0; i < 30; i++) telegram.press({ user: 700 + i, chat: -5, message_id, data: "y", forged: true });
  telegram.say({ chat: -5, text: "@fake_bot two" });
  await until(async () => (await tasks()).length === 2);
  expect(telegram.calls.filter(({ method }) => method === "answerCallbackQuery")).toHaveLength(10);
});

test("updates that come twice, and in the wrong order, are done once and in order", async () => {
  const { telegram, open, tasks, until } = await scratchPlace({
    faults: [
      { kind: "out_of_order", times: 2 },
      { kind: "twice", times: 20 },
    ],
  });
  for (const text of ["one", "two", "/status", "three"]) telegram.say({ text });
  await open();
  await until(async () => (await tasks()).length === 3);
  telegram.say({ text: "four" });
  await until(async () => (await tasks()).length === 4);
  expect((await tasks()).map(({ text }) => text)).toEqual(["one", "two", "three", "four"]);
  await telegram.until(() => telegram.answers()[0], "the status");
  expect(telegram.answers()).toHaveLength(1);
});

test("a network that is gone when the service starts, and again later, delays and loses nothing", async () => {
  const { telegram, open, tasks, until, lines, answer } = await scratchPlace();
  telegram.say({ text: "before" });
  await telegram.outage("refused");
  await open();
  expect(lines[0]).toMatch(/^Telegram cannot be reached for getMe \(ECONNREFUSED\)\. Retrying/);
  await telegram.recover();
  await until(async () => (await tasks()).length === 1);
  await telegram.outage("reset");
  await answer("an answer without a listener");
  await until(() => lines.some((line) => /ECONNRESET/.test(line)));
  await telegram.recover();
  telegram.say({ text: "after" });
  await until(async () => (await tasks()).length === 2);
  await telegram.until(() => telegram.answers()[0]?.text === "an answer without a listener", "the answer");
});

test("a message that was taken by a service that was killed is not taken again by the next", async () => {
  const { telegram, open, tasks, until } = await scratchPlace();
  const first = await open();
  telegram.say({ text: "one" });
  await until(async () => (await tasks()).length === 1);
  await first.close();
  telegram.fault({ kind: "twice", times: 3 }); // what was confirmed comes again, too
  telegram.say({ text: "two" });
  await open();
  await until(async () => (await tasks()).length === 2);
  expect((await tasks()).map(({ text }) => text)).toEqual(["one", "two"]);
});

test("a token that Telegram does not know is told at once, without the token", async () => {
  const { open } = await scratchPlace();
  const wrong = open({ token: "1234:wrong-and-secret" });
  await expect(wrong).rejects.toThrow(BadToken);
  await expect(wrong).rejects.toThrow(/rejected the token in AUTONOUS_TELEGRAM_TOKEN: .* @BotFather/);
  await expect(wrong).rejects.not.toThrow(/wrong-and-secret/);
});

test("the menu of the apps has the commands", async () => {
  const { telegram, open } = await scratchPlace();
  await open();
  await telegram.until(() => telegram.commands.length > 0, "the menu");
  expect(telegram.commands.map(({ command }) => command)).toEqual([
    "status",
    "tasks",
    "stop",
    "retry",
    "resend",
    "undo",
    "new",
    "tools",
    "help",
  ]);
});
