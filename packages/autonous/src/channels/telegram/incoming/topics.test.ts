import { expect, test } from "vitest";
import { ADA, scratchPlace } from "../../../../../../test/support/telegram-channel.ts";
import { ownWords } from "../../../model/prompt/quoted.ts";

const FORUM = -1_001_234_567_890;

test("each topic is a chat of its own: its tasks, answers, command answers and notices stay in it", async () => {
  const { telegram, open, tasks, until, answer } = await scratchPlace();
  const one = telegram.createTopic({ chat: FORUM, name: "One" });
  const two = telegram.createTopic({ chat: FORUM, name: "Two" });
  const old = Math.floor(Date.now() / 1000) - 3600;
  telegram.say({ chat: FORUM, thread: one, text: "@fake_bot too old", date: old });
  await open();
  const notice = await telegram.until(() => telegram.answers(FORUM)[0], "the notice");
  expect(notice).toMatchObject({
    thread: one,
    text: expect.stringMatching(/^1 message sent during downtime/) as string,
  });
  telegram.say({ chat: FORUM, thread: one, text: "@fake_bot first" });
  telegram.say({ chat: FORUM, thread: two, text: "not for the bot" });
  telegram.say({ chat: FORUM, thread: two, text: "@fake_bot second" });
  telegram.say({ chat: FORUM, text: "@fake_bot third" });
  const taken = await until(async () => (await tasks()).length === 3 && (await tasks()));
  expect(taken.map(({ lane, text, user }) => [lane, ownWords(text), user])).toEqual([
    [`telegram:${FORUM}:${one}`, "first", String(ADA)],
    [`telegram:${FORUM}:${two}`, "second", String(ADA)],
    [`telegram:${FORUM}`, "third", String(ADA)],
  ]);
  for (const text of ["answer 1", "answer 2", "answer 3"]) await answer(text);
  telegram.say({ chat: FORUM, thread: two, text: "/tasks" });
  const said = await telegram.until(() => telegram.answers(FORUM).length === 5 && telegram.answers(FORUM), "all");
  const threads = new Set(said.slice(1, 4).map(({ thread }) => thread));
  expect(threads).toEqual(new Set([one, two, undefined]));
  expect(said[4]).toMatchObject({ thread: two, text: expect.stringContaining("second") as string });
  expect(said[4]?.text).not.toContain("first");
});
