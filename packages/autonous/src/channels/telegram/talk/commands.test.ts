import { ToolError } from "@autonous/runtime";
import { expect, test } from "vitest";
import { makeRequest } from "../../../../../../test/support/approval-request.ts";
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

test("/tasks shows the author's words of a task; without any, what was forwarded or sent", async () => {
  const place = await scratchPlace();
  await place.open();
  const { telegram } = place;
  const said = telegram.say({ user: 7, text: "/write x" });
  telegram.say({
    text: "explain",
    beside: { reply_to_message: { from: { id: 7, first_name: "Eve" }, text: "a reply" } },
  });
  telegram.forward({ message_id: said.message_id, chat: 7, to: 42, user: 42 });
  telegram.send({ kind: "document", content: Buffer.from("a,b"), file_name: "report.csv" });
  telegram.send({ kind: "document", content: Buffer.from("a,b"), file_name: "b.csv", caption: "what is it?" });
  await place.until(async () => (await place.tasks()).length === 4);
  const lines = (await say(place, "/tasks")).split("\n").map((line) => line.split(" · ")[2]);
  expect(lines).toEqual(["what is it?", "files", 'Forwarded from "Person 7" (user 7): /write x', "explain"]);
});

test("/status names who has to answer a question, and says why a task that failed is not running", async () => {
  const place = await scratchPlace();
  await place.open({ allowed_users: [42, 8] });
  const { telegram, store } = place;
  const inGroup = async (user: number, text: string): Promise<string> => {
    const before = telegram.answers(-5).length;
    telegram.say({ user, chat: -5, text });
    return (await telegram.until(() => telegram.answers(-5)[before], text)).text;
  };
  telegram.say({ user: { id: 8, first_name: "Bob" }, chat: -5, text: "@fake_bot clean up" });
  const lease = await place.claim();
  const { task_id, run_id, lane, user } = lease.task;
  await store.approvals.open(makeRequest({ now: Date.now(), task_id, run_id, chat: lane, user }));
  await store.inbox.finish(lease, { outcome: "parked" });
  await telegram.until(() => telegram.answers(-5).length === 1, "the question");
  expect(await inGroup(42, "/status")).toMatch(
    /^\w{6} · waiting for an answer · clean up\nElapsed: \d+ s\nBob has to answer the question above\.$/,
  );
  expect(await inGroup(42, "/tasks")).toMatch(/^\w{6} · waiting for an answer · clean up$/);
  expect(await inGroup(8, "/status")).toMatch(
    /^\w{6} · waiting for your answer · clean up\nElapsed: \d+ s\nAnswer the question above to continue\.$/,
  );

  telegram.say({ text: "in private" });
  const failing = await place.claim();
  await store.inbox.finish(failing, { outcome: "retry", error: "no model", retry_at: Date.now() + 90_000 });
  expect(await say(place, "/status")).toMatch(
    /^No task is running\.\nNext: \w{6} · queued · in private\nIt failed and is retried in 1 min \d+ s: no model\nQueued: 1$/,
  );
});

test("in a group /help says what is read there", async () => {
  for (const groups of ["addressed", "all"] as const) {
    const place = await scratchPlace();
    await place.open({ groups });
    place.telegram.say({ chat: -5, text: "/help" });
    const { text } = await place.telegram.until(() => place.telegram.answers(-5)[0], "help");
    expect(text.includes("mention the bot or reply to it")).toBe(groups === "addressed");
    expect(text.includes("Any other text is a task")).toBe(groups === "all");
    expect(await say(place, "/help")).toContain("Any other text is a task for the agent.");
  }
});

test("/stop and /cancel stop the running task, then the next; by its name any of this chat", async () => {
  const place = await withTasks("first", "second", "third");
  await place.claim();
  expect(await say(place, "/stop")).toMatch(/^Stopping: \w{6} · first$/);
  const [, second, third] = await place.tasks();
  expect(await say(place, `/cancel ${third?.task_id.slice(-6)}`)).toMatch(/^Stopped: \w{6} · third/);
  expect(await say(place, `/cancel ${second?.task_id}`)).toMatch(/^Stopped: \w{6} · second/);
  expect((await place.store.tasks.get(second?.task_id ?? ""))?.task.cancel_by).toBe("telegram:42");
});

test("who stopped a task is named by name where the chat knows it, and by id in the record", async () => {
  const place = await scratchPlace();
  await place.open({ allowed_users: [42, 8] });
  const { telegram, store } = place;
  const inGroup = async (from: object & { readonly id: number }, text: string): Promise<string> => {
    telegram.say({ user: from, chat: -5, text });
    const { message_id } = telegram.messages(-5).at(-1) ?? { message_id: 0 };
    const isNext = (message: { readonly message_id: number }): boolean => message.message_id > message_id;
    return (await telegram.until(() => telegram.answers(-5).find(isNext), text)).text;
  };
  const [ada, bob] = [
    { id: 42, first_name: "Ada" },
    { id: 8, first_name: "Bob\u202e" },
  ];
  telegram.say({ user: ada, chat: -5, text: "@fake_bot waiting" });
  await place.until(async () => (await place.tasks()).length === 1);
  expect(await inGroup(bob, "/stop")).toMatch(/^Stopped: \w{6} · waiting$/);
  await telegram.until(
    () => telegram.answers(-5).find(({ text }) => text === "Stopped by Bob\\u{202e}."),
    "the remark",
  );

  telegram.say({ user: ada, chat: -5, text: "@fake_bot running" });
  const lease = await place.claim();
  expect(await inGroup(bob, "/stop")).toMatch(/^Stopping: \w{6} · running$/);
  await store.inbox.finish(lease, { outcome: "cancelled", error: "x", reply: "No files changed." });
  place.notifier.notify();
  const said = "Stopped by Bob\\u{202e}. No files changed.";
  await telegram.until(() => telegram.answers(-5).find(({ text }) => text === said), "how it ended");

  telegram.say({ user: ada, chat: -5, text: "@fake_bot own" });
  await place.until(async () => (await place.tasks()).length === 3);
  expect(await inGroup(ada, "/stop")).toMatch(/^Stopped: \w{6} · own$/);
  const [, , own] = await place.tasks();
  expect((await inGroup(ada, "/tasks")).split("\n").map((line) => line.replace(/^.*?cancelled · /, ""))).toEqual([
    "own (stopped by you)",
    "running (stopped by Bob\\u{202e})",
    "waiting (stopped by Bob\\u{202e})",
  ]);
  expect(own?.cancel_by).toBe("telegram:42");
  expect((await place.tasks())[0]).toMatchObject({ cancel_by: "telegram:8", error: "stopped by telegram:8" });

  const reopened = await scratchPlace();
  await reopened.store.kv.set("telegram:names", "{damaged");
  await reopened.open();
  expect(await say(reopened, "/status")).toBe("No task is running or queued.");
});

test("the answer of a task that finished before it could be stopped is shown formatted", async () => {
  const place = await withTasks("explain");
  const { telegram, store } = place;
  const lease = await place.claim();
  const { task_id, run_id, trace_id } = lease.task;
  expect(await say(place, "/stop")).toMatch(/^Stopping/);
  const said = { task_id, run_id, trace_id, parent_id: null, ts: new Date().toISOString() };
  const events = [{ ...said, event_id: "evt_1", type: "model.completed", payload: { provider: "anthropic" } } as const];
  await store.inbox.finish(lease, { outcome: "done", reply: "It is **done**", events });
  place.notifier.notify();
  const answer = await telegram.until(() => telegram.answers().find(({ text }) => text.includes("Its answer")), "it");
  expect(answer.text).toBe("The task finished before it could be stopped. Its answer:\n\nIt is done");
  expect(answer.entities.map(({ type }) => type)).toEqual(["bold"]);
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
  expect(await say(place, "/retry")).toMatch(/^Retrying: \w{6} · first$/);
  const [task] = await place.tasks();
  expect(await say(place, `/retry ${task?.task_id}`)).toMatch(
    /^Not possible, it has not ended: .*: \w{6} · queued · first$/,
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
    groups: "addressed" as const,
    previewUndo: () => Promise.resolve(undefined),
    activityIn: () => undefined,
    nameOf: (person: string) => person,
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
  const listTools = (): Promise<readonly string[]> => Promise.resolve(["undo: Undoes.", "ls: Lists a folder."]);
  await place.open({ isDirect: true, listTools });
  const help = await say(place, "/help");
  expect(help).toMatch(/No model is configured: each message is one tool call[^]*\n\/ls: Lists a folder\.$/);
  expect(help.match(/^\/undo: /gm)).toHaveLength(1); // the channel's own, which is what /undo reaches
  expect(help).not.toContain("Write what you want done");
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

// oxfmt-ignore
const UNREADABLE = [
  { title: "was pruned",      error: new ToolError("NotFound", "It is no longer kept", { pruned_at: "2026" }), says: /^Nothing to undo: no recent task changed files\.$/ },
  { title: "cannot be read",  error: new ToolError("IOError", "Cannot read a.txt"),                           says: /^Cannot undo task \w{6}: Cannot read a\.txt$/ },
] as const;

for (const { title, error, says } of UNREADABLE) {
  test(`/undo answers where what the last task changed ${title}`, async () => {
    const place = await scratchPlace();
    await place.open({ readChanges: (work) => work(() => Promise.reject(error)) });
    place.telegram.say({ text: "do it" });
    await place.answer("done");
    await place.telegram.until(() => place.telegram.answers().length === 1, "the answer");
    expect(await say(place, "/undo")).toMatch(says);
  });
}

test("a message that fails by an internal error is skipped; its sender is told, and the next one is taken", async () => {
  const place = await scratchPlace();
  await place.open({ listTools: () => Promise.reject(new Error("a bug")) });
  expect(await say(place, "/tools")).toBe(
    "This message was skipped because of an internal error; see the service log.",
  );
  expect(place.lines.some((line) => /^Message \d+ failed and is skipped: a bug$/.test(line))).toBe(true);
  expect(await say(place, "/status")).toBe("No task is running or queued.");
});
