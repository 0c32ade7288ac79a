import { expect, test } from "vitest";
import { ADA, scratchPlace } from "../../../../../../test/support/telegram-channel.ts";
import type { Place } from "../../../../../../test/support/telegram-channel.ts";

const said = ({ telegram }: Place): readonly string[] => telegram.answers().map(({ text }) => text);

/** Two answers that the person, who blocked the bot, did not get. */
async function missed(): Promise<{ readonly place: Place; readonly close: () => Promise<void> }> {
  const place = await scratchPlace();
  const { close } = await place.open();
  for (const text of ["one", "two"]) place.telegram.say({ text });
  await place.until(async () => (await place.tasks()).length === 2);
  place.telegram.block(ADA);
  for (const text of ["first", "second"]) await place.answer(text);
  await place.until(async () => (await givenUp(place)) === 2);
  place.telegram.unblock(ADA);
  return { place, close };
}

const givenUp = async ({ store }: Place): Promise<number> =>
  (await store.outbox.givenUp({ channel: "telegram", chat: `telegram:${ADA}` })).length;

test("who unblocks the bot is told once what they missed, and gets it in order", async () => {
  const { place } = await missed();
  place.telegram.say({ text: "three" });
  await place.telegram.until(() => said(place).length === 1, "the notice");
  expect(said(place)[0]).toBe(
    "2 answers and files were not delivered here, because this chat could not be reached. /resend sends them again.",
  );
  place.telegram.say({ text: "/resend" });
  await place.telegram.until(() => said(place).includes("second"), "the answers");
  expect(said(place).filter((text) => text === "first" || text === "second")).toEqual(["first", "second"]);
  expect(said(place)).toContain("Sending 2 answers and files again.");
  expect(said(place).filter((text) => text.includes("not delivered"))).toHaveLength(1);
  place.telegram.say({ text: "/resend" });
  await place.telegram.until(() => said(place).includes("Everything was delivered here."), "that nothing is missing");
});

test("an answer that is sent again is on record as such, and goes out once although the service is stopped meanwhile", async () => {
  const { place, close } = await missed();
  await close();
  const [task] = await place.tasks();
  const answer = await place.store.tasks.resend(task?.task_id ?? "", "cli:ada");
  expect(answer).toMatchObject({ outcome: "done" });
  await place.open();
  await place.until(async () => (await place.store.tasks.get(task?.task_id ?? ""))?.reply_sent_at !== null);
  expect(said(place)).toEqual(["first"]);
  const details = await place.store.tasks.get(task?.task_id ?? "");
  expect(details?.audit.map(({ message }) => message)).toContain("sent again by cli:ada");
  expect(details?.unsent).toEqual([]);
  expect(await place.store.tasks.resend(task?.task_id ?? "", "cli:ada")).toMatchObject({ outcome: "refused" });
  expect(await place.store.tasks.resend("task_none", "cli:ada")).toBeUndefined();
  expect(await givenUp(place)).toBe(1);
});
