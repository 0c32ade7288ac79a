import { expect, test } from "vitest";
import { scratchPlace } from "../../../../../../test/support/telegram-channel.ts";
import type { Place } from "../../../../../../test/support/telegram-channel.ts";
import { ownWords } from "../../../model/prompt/quoted.ts";

/** Texts that an app split because they were too long for one message. */

/** The next task, once nothing keeps it from beginning. */
async function begunText({ claim }: Place): Promise<string> {
  return (await claim()).task.text;
}

const LINES = Array.from({ length: 1300 }, (_, index) => `word${index}`).join("\n");

// oxfmt-ignore
const PASTED = [
  { title: "lines",         text: LINES },
  { title: "one long line", text: "x".repeat(9000) },
] as const;

test.each(PASTED)("a pasted text of $title that the app split is one task", async ({ text }) => {
  const place = await scratchPlace();
  const { telegram, open, tasks } = place;
  await open();
  expect(telegram.paste({ text }).length).toBeGreaterThan(2);
  expect(await begunText(place)).toBe(text);
  expect(await tasks()).toHaveLength(1);
});

test("a secret that the app cut in two is redacted", async () => {
  const place = await scratchPlace();
  await place.open();
  const secret = ["AKIA", "IOSFODNN7EXAMPLE"].join("");
  place.telegram.paste({ text: `${"x".repeat(4084)} ${secret} and more`.replace(" ", ":") });
  const text = await begunText(place);
  expect(text).toContain("and more");
  expect(text).not.toContain("OSFODNN7");
});

test("a pasted command is one command; what others wrote, a command of the bot and later words are not a part of it", async () => {
  const place = await scratchPlace();
  const { telegram, open, tasks, until } = place;
  await open();
  const command = `/write {"path":"a.txt","content":"${"x ".repeat(4000)}"}`;
  telegram.paste({ text: command });
  telegram.say({ text: "/status" });
  telegram.say({ text: "theirs", beside: { forward_origin: { type: "hidden_user", sender_user_name: "Eve" } } });
  telegram.say({ text: "much later", date: Math.floor(Date.now() / 1000) + 60 });
  await until(async () => (await tasks()).at(-1)?.text === "much later");
  const [first, forwarded] = await tasks();
  expect(first?.text.replaceAll("\n", " ")).toBe(command);
  expect(forwarded?.text).toMatch(/^I pass on/);
  expect(await tasks()).toHaveLength(3);
  await telegram.until(() => telegram.answers()[0], "the status");
});

test("short texts are tasks at once, however fast they come", async () => {
  const place = await scratchPlace();
  const { telegram, open, answer, tasks } = place;
  await open({ quiet_ms: 600_000 });
  for (const text of ["one", "two"]) telegram.say({ text });
  await answer("1");
  await answer("2");
  expect((await tasks()).map(({ text, state }) => [text, state])).toEqual([
    ["one", "done"],
    ["two", "done"],
  ]);
});

const GROUP = -5;

/** How the parts of a pasted text are for the bot: what each of them is. */
// oxfmt-ignore
const ADDRESSED = [
  { title: "whose first part names the bot",                      before: "@fake_bot ", reply: "none" },
  { title: "whose first part replies to the bot",                 before: "",           reply: "first" },
  { title: "of which an app makes each part a reply to the bot",  before: "",           reply: "each" },
  { title: "that names the bot and replies to another person",    before: "@fake_bot ", reply: "each", to: "person" },
] as const;

for (const { title, before, reply, ...rest } of ADDRESSED)
  test(`in a group a pasted text ${title} is one task`, async () => {
    const place = await scratchPlace();
    const { telegram, open, answer, tasks, until } = place;
    await open();
    telegram.say({ chat: GROUP, text: "@fake_bot first" });
    await answer("what is it?");
    const asked = await telegram.until(() => telegram.answers(GROUP)[0], "the answer");
    const said = "to" in rest ? telegram.say({ chat: GROUP, user: 99, text: "a remark" }) : asked;
    const reply_to = { reply_to: said.message_id };
    for (const [index, part] of splitInThree(`${before}${LINES}`).entries())
      telegram.say({
        chat: GROUP,
        text: part,
        ...(reply === "each" || (reply === "first" && index === 0) ? reply_to : {}),
      });
    telegram.say({ chat: GROUP, text: "not for the bot", date: Math.floor(Date.now() / 1000) + 60 });
    await until(async () => ownWords((await tasks())[1]?.text ?? "") === LINES);
    const text = await begunText(place);
    expect(text.match(/In reply to/g) ?? [], "what it replies to, once").toHaveLength(reply === "none" ? 0 : 1);
    expect(await tasks()).toHaveLength(2);
  });

/** Between lines, as the apps do. */
function splitInThree(text: string): readonly string[] {
  const cuts = [4000, 8000].map((at) => text.lastIndexOf("\n", at));
  return [text.slice(0, cuts[0]), text.slice(cuts[0], cuts[1]), text.slice(cuts[1])];
}

test("in private a pasted text of which each part is a reply is one task; a reply to another message is not a part of it", async () => {
  const place = await scratchPlace();
  const { telegram, open, answer, tasks, until } = place;
  await open();
  telegram.say({ text: "first" });
  await answer("what is it?");
  telegram.say({ text: "second" });
  await answer("and what is that?");
  const [one, two] = await telegram.until(() => telegram.answers().length === 2 && telegram.answers(), "both answers");
  for (const text of splitInThree(LINES)) telegram.say({ text, reply_to: one?.message_id ?? 0 });
  telegram.say({ text: "on its own", reply_to: two?.message_id ?? 0 });
  await until(async () => (await tasks()).length === 4);
  const [, , pasted, other] = await tasks();
  expect(ownWords(pasted?.text ?? "")).toBe(LINES);
  expect(ownWords(other?.text ?? "")).toBe("on its own");
});

test("what is said in a group while the service is away takes no place, but the rest of a pasted text does", async () => {
  const { telegram, open, tasks, until } = await scratchPlace();
  const [first = "", ...others] = splitInThree(LINES);
  telegram.say({ chat: GROUP, text: `@fake_bot ${first}` });
  for (const text of others) telegram.say({ chat: GROUP, text });
  const later = Math.floor(Date.now() / 1000) + 60;
  for (let count = 0; count < 30; count++) telegram.say({ chat: GROUP, text: `talk ${count}`, date: later });
  await open({ pending_max_messages: 3 });
  await until(async () => ownWords((await tasks())[0]?.text ?? "") === LINES);
  expect(await tasks()).toHaveLength(1);
  expect(telegram.answers(GROUP)).toEqual([]);
});
