import { expect, test } from "vitest";
import { scratchPlace } from "../../../../../../test/support/telegram-channel.ts";
import type { Place } from "../../../../../../test/support/telegram-channel.ts";

/** Says something and gives what the channel answered. */
async function say(place: Place, text: string): Promise<string> {
  const { telegram } = place;
  const before = telegram.answers().length;
  telegram.say({ text });
  const message = await telegram.until(() => telegram.answers()[before], `the answer to ${text}`);
  return message.text;
}

async function withTasks(...texts: readonly string[]): Promise<Place> {
  const place = await scratchPlace();
  await place.open();
  for (const text of texts) place.telegram.say({ text });
  await place.until(async () => (await place.tasks()).length === texts.length);
  return place;
}

test("each command answers in a chat where nothing has happened", async () => {
  const place = await scratchPlace();
  await place.open();
  expect(await say(place, "/status")).toBe("Nothing is going on in this chat.");
  expect(await say(place, "/Tasks")).toBe("There are no tasks in this chat yet.");
  expect(await say(place, "/cancel")).toBe("Nothing is going on in this chat.");
  expect(await say(place, "/retry")).toBe("No task of this chat has failed or was stopped.");
  expect(await say(place, "/cancel tsk_nobody")).toBe(
    'There is no task "tsk_nobody" in this chat; /tasks shows those that there are.',
  );
  expect(await say(place, "/tools")).toBe("ls: Lists a folder.");
  expect(await say(place, "/help@fake_bot")).toContain("/status: What is going on in this chat");
  expect(await say(place, "/start")).toContain("Write what is to be done.");
  expect(await place.tasks()).toEqual([]);
});

test("/status and /tasks show what is in hand and what waits, of this chat only", async () => {
  const place = await withTasks("first", "second");
  place.telegram.say({ chat: -5, text: "@fake_bot elsewhere" });
  await place.until(async () => (await place.tasks()).length === 3);
  const { task } = await place.claim();
  const id = task.task_id.slice(-6);
  expect(await say(place, "/status")).toMatch(
    new RegExp(`^${id} · in hand · first\nBegun \\d+ s ago\\.\nWaiting in this chat: 1\\.$`),
  );
  expect(await say(place, "/tasks")).toMatch(new RegExp(`^\\w{6} · queued · second\n${id} · in hand · first$`));
});

test("/cancel stops the task in hand, then the next; by its name any of this chat", async () => {
  const place = await withTasks("first", "second", "third");
  await place.claim();
  expect(await say(place, "/cancel")).toMatch(/^It is being stopped: \w{6} · in hand · first$/);
  const [, second, third] = await place.tasks();
  expect(await say(place, `/cancel ${third?.task_id.slice(-6)}`)).toMatch(/^Stopped: \w{6} · cancelled · third/);
  expect(await say(place, `/cancel ${second?.task_id}`)).toMatch(/^Stopped: \w{6} · cancelled · second/);
  expect((await place.store.tasks.get(second?.task_id ?? ""))?.task.cancel_by).toBe("telegram:42");
});

test("a task of another chat cannot be stopped from here", async () => {
  const place = await scratchPlace();
  await place.open();
  place.telegram.say({ chat: -5, text: "@fake_bot elsewhere" });
  const [task] = await place.until(async () => (await place.tasks()).length === 1 && (await place.tasks()));
  expect(await say(place, `/cancel ${task?.task_id}`)).toMatch(/^There is no task/);
  expect((await place.tasks())[0]?.state).toBe("queued");
});

test("/retry puts the last task that was stopped back, and says why another cannot be", async () => {
  const place = await withTasks("first");
  await say(place, "/cancel");
  expect(await say(place, "/retry")).toMatch(/^It is done again: \w{6} · queued · first$/);
  const [task] = await place.tasks();
  expect(await say(place, `/retry ${task?.task_id}`)).toMatch(/: \w{6} · queued · first$/);
});

test("a /cancel that comes again after a crash does not reach the next task", async () => {
  const place = await withTasks("first", "second");
  const { runCommand } = await import("./commands.ts");
  const said: string[] = [];
  const client = { say: () => said.push("") } as unknown as Parameters<typeof runCommand>[1]["client"];
  const parts = {
    store: place.store,
    client,
    allowed: new Set<number>(),
    clock: Date.now,
    onTask: () => undefined,
    listTools: () => Promise.resolve([]),
  };
  const written = {
    kind: "written",
    update_id: 9,
    message_id: 9,
    chat: 42,
    isPrivate: true,
    user: 42,
    sent_at: 0,
    text: "/cancel",
  } as const;
  await runCommand(written, parts);
  await runCommand(written, parts);
  expect((await place.tasks()).map(({ state }) => state)).toEqual(["cancelled", "queued"]);
});
