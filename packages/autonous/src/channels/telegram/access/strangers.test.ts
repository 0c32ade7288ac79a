import { expect, test } from "vitest";
import { ADA, scratchPlace } from "../../../../../../test/support/telegram-channel.ts";
import type { Place } from "../../../../../../test/support/telegram-channel.ts";
import { readBook } from "./access-book.ts";
import { makeCode } from "./pairing.ts";

const EVE = { id: 7, first_name: "Eve\u202e\n", last_name: "Doe", username: "eve" };
const BOB = 8;

async function questionTo(place: Place, owner = ADA): Promise<{ readonly message_id: number; readonly text: string }> {
  return await place.telegram.until(
    () => place.telegram.answers(owner).find(({ buttons }) => buttons.length > 0),
    "the question",
  );
}

// oxfmt-ignore
const ANSWERS = [
  { button: "Allow",  state: "allowed", event: "access.granted", words: "has access" },
  { button: "Ignore", state: "ignored", event: "access.denied",  words: "is ignored" },
  { button: "Block",  state: "blocked", event: "access.denied",  words: "is blocked" },
] as const;

for (const { button, state, event, words } of ANSWERS) {
  test(`an owner is asked once about a stranger, and "${button}" counts at once`, async () => {
    const place = await scratchPlace();
    const { telegram, store, open, tasks, until } = place;
    telegram.say({ text: "first" });
    await open();
    for (const text of ["hello", "hello?"]) telegram.say({ user: EVE, text });
    const question = await questionTo(place);
    expect(question.text).toMatch(/^"Eve Doe" \(@eve, id 7\) wrote to this bot\. Let them in\?/);
    await until(async () => (await readBook(store)).contacts[0]?.questions?.length === 1);
    const query = telegram.press({ message_id: question.message_id, button });
    await telegram.until(() => query.answer, "the answer");
    expect(query.answer?.text).toContain(words);
    const edited = await telegram.until(
      () =>
        telegram.answers().find(({ message_id, text }) => message_id === question.message_id && text.includes(words)),
      "the edit",
    );
    expect(edited.buttons).toEqual([]);
    expect(edited.text).toContain(`(decided by "Person ${ADA}" (id ${ADA}))`);
    expect((await readBook(store)).contacts).toMatchObject([{ user: 7, state, by: `telegram:${ADA}`, via: "button" }]);
    const recorded = (await store.events.read({ limit: 100 })).find(({ event: { type } }) => type === event);
    expect(recorded?.event.payload).toMatchObject({ user: "7", by: `telegram:${ADA}`, via: "button" });
    telegram.say({ user: EVE, text: "a task" });
    telegram.say({ text: "last" });
    await until(async () => (await tasks()).at(-1)?.text === "last");
    expect((await tasks()).some(({ text }) => text === "a task")).toBe(state === "allowed");
    expect(telegram.answers().filter(({ text }) => text.includes("Let them in?"))).toEqual([]);
  });
}

test("only an owner decides: not the stranger, not a member, not in another chat, not twice", async () => {
  const place = await scratchPlace();
  const { telegram, store, open, until } = place;
  telegram.say({ text: "first" });
  await open();
  telegram.say({ user: BOB, text: "hello" });
  const aboutBob = await questionTo(place);
  const data = (name: string): string =>
    telegram
      .answers()
      .flatMap(({ buttons }) => buttons.flat())
      .find(({ text }) => text === name)?.callback_data ?? "";
  const allow = data("Allow");
  const press = async (pressing: Parameters<typeof telegram.press>[0]): Promise<string> => {
    const query = telegram.press(pressing);
    return (await telegram.until(() => query.answer, "the answer")).text;
  };
  const { message_id } = aboutBob;
  expect(await press({ user: BOB, message_id, data: allow, forged: true })).toMatch(/Only an owner/);
  expect(await press({ chat: -5, message_id, data: allow, forged: true })).toMatch(/Only an owner/);
  expect(await press({ message_id, data: allow.replace(/.{8}$/, "AAAAAAAA"), forged: true })).toMatch(/no longer open/);
  expect((await readBook(store)).contacts).toMatchObject([{ user: BOB, state: "asked" }]);
  expect(await press({ message_id, data: allow, forged: true })).toMatch(/has access/);
  expect(await press({ message_id, data: allow.replace(":a:", ":b:"), forged: true })).toMatch(/^Already answered/);
  telegram.say({ user: EVE, text: "hello" });
  await until(async () => (await readBook(store)).contacts.some(({ user }) => user === 7));
  const aboutEve = await telegram.until(() => telegram.answers().find(({ text }) => text.startsWith('"Eve')), "it");
  const forEve = aboutEve.buttons.flat()[0]?.callback_data ?? "";
  expect(await press({ user: BOB, message_id: aboutEve.message_id, data: forEve, forged: true })).toMatch(
    /Only an owner/,
  );
  expect(telegram.answers(BOB).some(({ text }) => text.includes("Let them in?"))).toBe(false);
});

test("a crowd of strangers is bounded: questions per day, lines of the log, answers", async () => {
  const place = await scratchPlace();
  const { telegram, store, open, tasks, until, lines } = place;
  const now = Date.now();
  telegram.say({ text: "first" });
  await open({ clock: () => now });
  for (let user = 100; user < 150; user++) telegram.say({ user, text: "hello" });
  telegram.say({ text: "last" });
  await until(async () => (await tasks()).at(-1)?.text === "last");
  expect((await readBook(store)).contacts).toHaveLength(10);
  expect(lines.filter((line) => line.includes("wrote to the bot")).length).toBe(31);
  const answered = Array.from({ length: 50 }, (_, i) => telegram.answers(100 + i)).flat();
  expect(answered.length).toBeLessThanOrEqual(10);
});

test("a question that could not be delivered is asked again when the stranger writes later", async () => {
  const place = await scratchPlace();
  const { telegram, store, open, until, lines } = place;
  let now = Date.now();
  const say = (): unknown => telegram.say({ user: EVE, text: "hello", date: Math.floor(now / 1000) });
  telegram.say({ text: "first" });
  await open({ clock: () => now, pending_window_seconds: 3600 });
  telegram.fault({ kind: "blocked", method: "sendMessage", text: "Let them in?" });
  say();
  await until(() => lines.some((line) => line.startsWith("A question about access was not sent")));
  expect((await readBook(store)).contacts).toMatchObject([{ user: 7, state: "asked" }]);
  now += 11 * 60_000;
  say();
  expect((await questionTo(place)).text).toContain("Let them in?");
});

for (const first_name of ["y", "yy"]) {
  test(`what a button did is cut to the limit, and no character is halved: ${first_name}`, async () => {
    const place = await scratchPlace();
    const { telegram, store, open } = place;
    const last_name = "😀".repeat(100);
    telegram.say({ text: "first" });
    await open();
    const { code } = await makeCode(store, { by: "me", now: Date.now() });
    telegram.say({ user: { id: BOB, first_name, last_name }, text: code });
    await telegram.until(() => telegram.answers(BOB)[0], "the welcome");
    telegram.say({ user: { id: 7, first_name: "x", last_name }, text: "hello" });
    const { message_id } = await questionTo(place, BOB);
    const query = telegram.press({ user: BOB, message_id, button: "Allow" });
    const { text } = await telegram.until(() => query.answer, "the answer");
    expect(text).toMatch(/^"x [^]* has access \(decided by "yy? 😀[^]*…$/u);
    expect(text.length).toBe(200);
  });
}

test("a member who becomes an owner by a code is logged, and the owners are told", async () => {
  const place = await scratchPlace();
  const { telegram, store, open, until, lines } = place;
  telegram.say({ text: "first" });
  await open();
  telegram.say({ user: BOB, text: "hello" });
  const { message_id } = await questionTo(place);
  telegram.press({ message_id, button: "Allow" });
  await until(async () => (await readBook(store)).contacts[0]?.role === "member");
  const { code } = await makeCode(store, { by: "me", now: Date.now() });
  telegram.say({ user: BOB, text: code });
  await telegram.until(() => telegram.answers().some(({ text }) => text.includes("sent a pairing code")), "the note");
  expect((await readBook(store)).contacts[0]?.role).toBe("owner");
  expect(lines.filter((line) => line.startsWith("Paired"))).toHaveLength(1);
});
