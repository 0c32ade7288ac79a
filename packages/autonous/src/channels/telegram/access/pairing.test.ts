import { expect, test } from "vitest";
import { ADA, scratchPlace } from "../../../../../../test/support/telegram-channel.ts";
import type { Place } from "../../../../../../test/support/telegram-channel.ts";
import { readBook, removeContact } from "./access-book.ts";
import { CODE_MINUTES, codeIn, makeCode, redeemCode, stateOfCode } from "./pairing.ts";

const EVE = { id: 7, first_name: "Eve", username: "eve" };
const PERSON = { user: 7, name: "Eve", username: "eve" };
const NOW = Date.now();

async function eventsOf({ store }: Place): Promise<readonly (readonly [string, object])[]> {
  const events = await store.events.read({ limit: 100 });
  return events.map(({ event }) => [event.type, event.payload] as const).filter(([type]) => type.startsWith("access."));
}

test("a code is 60 bits, is read as people type it, and only its hash is stored", async () => {
  const { store } = await scratchPlace();
  const { code } = await makeCode(store, { by: "me", now: NOW });
  expect(code).toMatch(/^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$/);
  expect(JSON.stringify(await readBook(store))).not.toContain(code.slice(0, 4));
  const typed = ` /start ${code.toLowerCase().replaceAll("-", " ").replaceAll("0", "o").replaceAll("1", "l")} `;
  expect(await redeemCode(store, { code: codeIn(typed) ?? "", person: PERSON, now: NOW })).toBe("paired");
});

test("words are not codes", () => {
  for (const text of ["hello", "good morning", "/start", "/start hello", "/status", "ABCD-EFGH", "ABCD-EFGH-JKMN!", ""])
    expect(codeIn(text)).toBeUndefined();
});

test("a code works once, until it expires, and who came in is on record", async () => {
  const place = await scratchPlace();
  const { store } = place;
  const { code, hash } = await makeCode(store, { by: "me", now: NOW });
  expect(await stateOfCode(store, { hash, now: NOW })).toEqual({ state: "open" });
  const redeem = (user: number, now = NOW) => redeemCode(store, { code, person: { ...PERSON, user }, now });
  expect(await redeem(7)).toBe("paired");
  expect(await redeem(7)).toBe("paired"); // delivered again after a crash
  expect(await redeem(8)).toBe("used");
  expect(await stateOfCode(store, { hash, now: NOW })).toMatchObject({ state: "used", person: PERSON });
  expect(await eventsOf(place)).toEqual([
    ["access.granted", { channel: "telegram", user: "7", name: "Eve", by: "me", via: "code", role: "owner" }],
  ]);
  const late = await makeCode(store, { by: "me", now: NOW });
  const after = NOW + CODE_MINUTES * 60_000;
  expect(await redeemCode(store, { code: late.code, person: { ...PERSON, user: 9 }, now: after })).toBe("expired");
  expect(await stateOfCode(store, { hash: late.hash, now: after })).toEqual({ state: "expired" });
});

test("after 5 wrong codes a person's codes do not work; after 20 of all, none does", async () => {
  const { store } = await scratchPlace();
  const { code, hash } = await makeCode(store, { by: "me", now: NOW });
  const guess = (user: number, text = "0000-0000-0000") =>
    redeemCode(store, { code: text, person: { ...PERSON, user }, now: NOW });
  for (let i = 0; i < 5; i++) expect(await guess(7)).toBe("wrong");
  expect(await guess(7, code)).toBe("locked");
  for (let user = 100; user < 115; user++) expect(await guess(user)).toBe("wrong");
  expect(await guess(8, code)).toBe("void");
  expect(await stateOfCode(store, { hash, now: NOW })).toEqual({ state: "void" });
  const next = await makeCode(store, { by: "me", now: NOW });
  expect(await guess(7, next.code)).toBe("paired"); // the count begins with the new code
});

test("without an open code a text that looks like one is an ordinary message", async () => {
  const { store } = await scratchPlace();
  expect(await redeemCode(store, { code: "0000-0000-0000", person: PERSON, now: NOW })).toBe("none");
});

test("two who send the same code at the same time: one of them comes in", async () => {
  const { store } = await scratchPlace();
  const { code } = await makeCode(store, { by: "me", now: NOW });
  const outcomes = await Promise.all(
    [7, 8].map((user) => redeemCode(store, { code, person: { ...PERSON, user }, now: NOW })),
  );
  expect(outcomes.toSorted()).toEqual(["paired", "used"]);
});

test("a person without access pairs while the service runs, works at once, and is out as soon as they are removed", async () => {
  const place = await scratchPlace();
  const { telegram, store, open, tasks, until, lines } = place;
  await open({ allowed_users: [] });
  expect(lines).toContain("No one has access to the bot yet. Let someone in: autonous telegram pair");
  telegram.say({ user: EVE, text: "hello" });
  await telegram.until(() => telegram.answers(7)[0], "the line");
  expect(telegram.answers(7)[0]?.text).toBe(
    "This bot is private. Ask its owner for a code, and send it here. Your Telegram id: 7",
  );
  expect(lines.at(-1)).toBe(
    '"Eve" (@eve, id 7) wrote to the bot and has no access. Let them in: autonous telegram pair',
  );
  const { code } = await makeCode(store, { by: "me", now: Date.now() });
  telegram.say({ user: EVE, text: "1111-1111-1111" });
  await telegram.until(() => telegram.answers(7).length === 2, "the refusal");
  telegram.say({ user: EVE, chat: -5, text: `@fake_bot ${code}` });
  telegram.say({ user: EVE, text: `/start ${code}` });
  telegram.say({ user: EVE, text: "do it" });
  await until(async () => (await tasks()).length === 1);
  expect((await tasks())[0]).toMatchObject({ user: "7", text: "do it" });
  await telegram.until(() => telegram.answers(7).length === 3, "the welcome");
  expect(telegram.answers(7).map(({ text }) => text)).toEqual([
    expect.any(String),
    "This code is not valid. Check it, or ask for a new one.",
    "You have access now. Write a task, or send /help.",
  ]);
  expect(telegram.answers(-5)).toEqual([]);
  await removeContact(store, 7, { by: "me", via: "command line", now: Date.now() });
  telegram.say({ user: EVE, text: "and this" });
  await until(() => telegram.unconfirmed === 0);
  expect(await tasks()).toHaveLength(1);
  expect((await eventsOf(place)).map(([type]) => type)).toEqual(["access.granted", "access.revoked"]);
});

test("a code that was sent before the service was started works when it is", async () => {
  const { telegram, store, open } = await scratchPlace();
  const { code } = await makeCode(store, { by: "me", now: Date.now() });
  telegram.say({ user: EVE, text: "hello?" });
  telegram.say({ user: EVE, text: code.toLowerCase() });
  telegram.say({ user: EVE, text: "secret words" });
  await open({ allowed_users: [] });
  await telegram.until(() => telegram.answers(7).some(({ text }) => text.startsWith("You have access")), "the welcome");
});

test("a pairing survives a restart, and a damaged list lets in only the users of the setting", async () => {
  const { telegram, store, open, tasks, until } = await scratchPlace();
  const { code } = await makeCode(store, { by: "me", now: Date.now() });
  telegram.say({ text: "/help" }); // who has never written cannot be written to
  const first = await open();
  telegram.say({ user: EVE, text: code });
  await telegram.until(() => telegram.answers(7)[0], "the welcome");
  await telegram.until(
    () => telegram.answers(ADA).find(({ text }) => text.startsWith('"Eve" (@eve, id 7) has access now')),
    "the note to the other owner",
  );
  await first.close();
  await open();
  telegram.say({ user: EVE, text: "one" });
  await until(async () => (await tasks()).length === 1);
  await store.kv.set("telegram:access", '{"contacts":[{"user":"7"}]}');
  telegram.say({ user: EVE, text: "two" });
  telegram.say({ text: "mine" });
  await until(async () => (await tasks()).length === 2);
  expect((await tasks()).map(({ text }) => text)).toEqual(["one", "mine"]);
});
