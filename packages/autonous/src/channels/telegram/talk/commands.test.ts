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
  expect(await say(place, "/status")).toBe("No task is running or queued.");
  expect(await say(place, "/Tasks")).toBe("No tasks in this chat yet.");
  expect(await say(place, "/cancel")).toBe("No task is running or queued.");
  expect(await say(place, "/stop")).toBe("No task is running or queued.");
  expect(await say(place, "/retry")).toBe("No failed or stopped task in this chat.");
  expect(await say(place, "/cancel tsk_nobody")).toBe('No task "tsk_nobody" in this chat. /tasks lists the tasks.');
  expect(await say(place, "/tools")).toBe("ls: Lists a folder.");
  expect(await say(place, "/help@fake_bot")).toContain("/status: Show what is running and queued");
  expect(await say(place, "/start")).toContain("Write what you want done.");
  expect(await say(place, "/start")).not.toContain("/ls:");
  expect(await say(place, "/new")).toMatch(/^New conversation: your next message starts without the earlier ones/);
  expect(await place.tasks()).toEqual([]);
});

test("/status and /tasks show what is running and queued, of this chat only", async () => {
  const place = await withTasks("first", "second");
  place.telegram.say({ chat: -5, text: "@fake_bot elsewhere" });
  await place.until(async () => (await place.tasks()).length === 3);
  const { task } = await place.claim();
  const id = task.task_id.slice(-6);
  expect(await say(place, "/status")).toMatch(new RegExp(`^${id} · running · first\nElapsed: \\d+ s\nQueued: 1$`));
  expect(await say(place, "/tasks")).toMatch(new RegExp(`^\\w{6} · queued · second\n${id} · running · first$`));
});

test("/stop and /cancel stop the running task, then the next; by its name any of this chat", async () => {
  const place = await withTasks("first", "second", "third");
  await place.claim();
  expect(await say(place, "/stop")).toMatch(/^Stopping: \w{6} · running · first$/);
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
  expect(await say(place, `/cancel ${task?.task_id}`)).toMatch(/^No task/);
  expect((await place.tasks())[0]?.state).toBe("queued");
});

test("/retry puts the last task that was stopped back, and says why another cannot be", async () => {
  const place = await withTasks("first");
  await say(place, "/cancel");
  expect(await say(place, "/retry")).toMatch(/^Retrying: \w{6} · queued · first$/);
  const [task] = await place.tasks();
  expect(await say(place, `/retry ${task?.task_id}`)).toMatch(
    /^Not possible, it is not over: .*: \w{6} · queued · first$/,
  );
});

test("commands that come again after a crash do not reach the tasks behind", async () => {
  const place = await withTasks("first", "second", "third", "fourth");
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
    isDirect: false,
    previewUndo: () => Promise.resolve(undefined),
    activityIn: () => undefined,
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
  const batch = [written, { ...written, update_id: 10 }];
  for (const each of [...batch, ...batch]) await runCommand(each, parts); // Telegram delivers the last batch again
  expect((await place.tasks()).map(({ state }) => state)).toEqual(["cancelled", "cancelled", "queued", "queued"]);
});

test("without a model /help lists the calls that can be typed", async () => {
  const place = await scratchPlace();
  await place.open({ isDirect: true });
  expect(await say(place, "/help")).toMatch(
    /No model is configured: each message is one tool call[^]*\n\/ls: Lists a folder\.$/,
  );
});

test("after /new the next task knows nothing of what was said before, and what is queued already still does", async () => {
  const place = await scratchPlace();
  await place.open();
  const { telegram, store } = place;
  telegram.say({ text: "one" });
  await place.answer("first answer");
  telegram.say({ text: "two" });
  const second = await place.claim();
  expect(await say(place, "/new")).toContain("Running and queued tasks still belong to the earlier one");
  telegram.say({ text: "three" });
  await place.until(async () => (await place.tasks()).length === 3);
  await store.inbox.finish(second, { outcome: "done", reply: "second answer" });
  const third = await place.claim();
  const textsBefore = async (task_id: string): Promise<readonly string[]> =>
    (await store.history.before(task_id, 40)).map(({ text }) => text);
  expect(await textsBefore(second.task.task_id)).toEqual(["one", "first answer"]);
  expect(await textsBefore(third.task.task_id)).toEqual([]);
  await store.inbox.finish(third, { outcome: "done", reply: "third answer" });
  telegram.say({ text: "four" });
  const fourth = await place.claim();
  expect(await textsBefore(fourth.task.task_id)).toEqual(["three", "third answer"]);
});

test("a /new that comes again after a crash does not cut off what was said since", async () => {
  const { store } = await scratchPlace();
  const lane = "telegram:42";
  const start = { lane, external_id: "9", by: "telegram:42" };
  await store.history.startFresh(start);
  await store.inbox.ingest({ source: "telegram", lane, text: "one" });
  const [lease] = await store.inbox.claim("w", 1);
  if (lease !== undefined) await store.inbox.finish(lease, { outcome: "done", reply: "answer" });
  await store.history.startFresh(start);
  const { task_id } = await store.inbox.ingest({ source: "telegram", lane, text: "two" });
  expect((await store.history.before(task_id, 40)).map(({ text }) => text)).toEqual(["one", "answer"]);
});
