import { join } from "node:path";
import { createRuntime } from "@autonous/runtime";
import { makeId } from "@autonous/runtime/internal";
import type { EventType } from "@autonous/runtime/internal";
import { expect, test } from "vitest";
import { ADA, scratchPlace } from "../../../../../../test/support/telegram-channel.ts";
import type { Place } from "../../../../../../test/support/telegram-channel.ts";
import type { Lease } from "../../../store/store.ts";
import { TelegramClient } from "../api/client.ts";
import { activityOf } from "../../words/call-words.ts";
import { Progress } from "./progress.ts";
import { RateLimit } from "../api/rate-limit.ts";

async function record({ store, notifier }: Place, { task }: Lease, type: EventType, payload: object): Promise<void> {
  const { task_id, run_id, trace_id } = task;
  const event = {
    event_id: makeId("evt", Date.now()),
    ts: new Date().toISOString(),
    type,
    trace_id,
    task_id,
    run_id,
    parent_id: null,
  };
  await store.journal(run_id).append([{ ...event, payload: { ...payload } }]);
  notifier.notify();
}

interface Watched {
  readonly place: Place & { readonly lease: Lease };
  readonly progress: Progress;
  /** Passes an event of the task on and shows the progress. */
  readonly hear: (type: EventType, payload?: object) => Promise<void>;
  readonly pass: (ms: number) => void;
}

/** A task of Ada's whose progress is shown by a clock of ours. */
async function watch(): Promise<Watched> {
  const place = await scratchPlace();
  const { store, telegram } = place;
  telegram.say({ text: "hello" });
  await store.inbox.ingest({ source: "telegram", lane: `telegram:${ADA}`, text: "do it", user: "42" });
  const lease = await place.claim();
  let now = 1_000_000;
  const clock = (): number => now;
  const rate = new RateLimit({ clock, chatMs: 0, groupMs: 0, anyMs: 0 });
  const client = new TelegramClient({
    token: telegram.token,
    api_root: telegram.url,
    clock,
    log: () => undefined,
    rate,
  });
  const progress = new Progress({ store, client, clock });
  return {
    place: { ...place, lease },
    progress,
    pass: (ms) => void (now += ms),
    async hear(type, payload = {}) {
      const { task_id, run_id, trace_id } = lease.task;
      const chained = { event_id: "evt_1", seq: 1, ts: "", prev_hash: "", hash: "", parent_id: null };
      await progress.hear({ ...chained, type, trace_id, task_id, run_id, payload: { ...payload } });
      await progress.show();
    },
  };
}

test("a task that takes its time has one message in words, changed now and then, and removed when it is over", async () => {
  const { place, progress, hear, pass } = await watch();
  const { telegram } = place;
  const shown = (): string | undefined => telegram.answers()[0]?.text;
  await hear("task.started");
  expect(telegram.answers()).toEqual([]);
  expect(telegram.calls.map(({ method }) => method)).toEqual(["sendChatAction"]);
  await hear("turn.started", { turn: 1 });
  pass(2000);
  await hear("tool_call.started", { tool_call_id: "c1", tool_name: "bash", arguments: { cmd: "npm test" } });
  expect(telegram.answers().map(({ text, is_silent }) => [text, is_silent])).toEqual([
    ["Working · 2 s\nRunning: npm test · 0 s", true],
  ]);
  await hear("display", { content: "half of it is done" }); // a message of its own
  pass(3000);
  await progress.show();
  expect(telegram.answers()[0]?.before).toEqual([]); // too soon
  progress.print({ task_id: "another", tool_call_id: "c1", line: "not this one" });
  progress.print({ task_id: place.lease.task.task_id, tool_call_id: "c1", line: "12 passed\u0007" });
  pass(70_000);
  await progress.show();
  expect(shown()).toBe("Working · 1 min 15 s\nRunning: npm test · 1 min 13 s\n12 passed\\u{7}");
  expect(progress.activityIn(`telegram:${ADA}`)).toBe("Running: npm test · 1 min 13 s\n12 passed\\u{7}");
  await hear("tool_call.completed", { tool_call_id: "c1" });
  pass(9000);
  await progress.show();
  expect(shown()).toContain("Running"); // the older the task, the longer between two changes
  pass(1000);
  await progress.show();
  expect(shown()).toBe("Working · 1 min 25 s");
  pass(7_200_000);
  await progress.show();
  expect(shown()).toBe("Working · 2 h 1 min");
  await hear("task.completed");
  expect(telegram.answers()).toEqual([]);
  expect(await place.store.kv.get("telegram:progress")).toBe("{}");
});

// oxfmt-ignore
const CALLS = [
  { tool_name: "read",            arguments: { path: "src/app.ts" },                 says: "Reading src/app.ts" },
  { tool_name: "grep",            arguments: { pattern: "a\u202eb", path: "src" },   says: 'Searching for "a\\u{202e}b" in src' },
  { tool_name: "ls",              arguments: { path: "." },                          says: "Listing the workspace" },
  { tool_name: "bash",            arguments: { cmd: "cd a &&\n  npm test" },         says: "Running: cd a && npm test" },
  { tool_name: "network_request", arguments: { url: "https://example.com/a?b=c" },   says: "Requesting example.com" },
  { tool_name: "weather",         arguments: { city: "Graz" },                       says: 'Using weather city="Graz"' },
  { tool_name: "constructor",     arguments: {},                                     says: "Using constructor" },
  { tool_name: "read",            arguments: { path: 7 },                            says: "Reading " },
] as const;

for (const { says, ...payload } of CALLS) {
  test(`a call in words: ${says}`, () => {
    expect(activityOf(payload)).toBe(says);
  });
}

test("every built-in tool has words of its own", async () => {
  const place = await scratchPlace();
  const runtime = await createRuntime({
    roots: [place.state_dir],
    state_dir: join(place.state_dir, "s"),
    looking: true,
  });
  for (const { name } of runtime.tools()) expect(activityOf({ tool_name: name, arguments: {} })).not.toMatch(/^Using/);
  await runtime.close();
});

test("the message says how far the running call is, and of no other call", async () => {
  const { place, progress, hear, pass } = await watch();
  const { telegram } = place;
  await hear("task.started");
  await hear("tool_call.started", { tool_call_id: "c1", tool_name: "attach", arguments: { path: "a.iso" } });
  await hear("progress", { tool_call_id: "c1", fraction: 0.42, detail: "copying\u202e\u0007 a.iso" });
  await hear("progress", { tool_call_id: "c0", fraction: 0.99, detail: "late" });
  pass(2000);
  await progress.show();
  expect(telegram.answers()[0]?.text).toMatch(/^Working · 2 s\nSending a\.iso · 2 s\n42 % copying/);
  expect(telegram.answers()[0]?.text).not.toMatch(/[\u202e\u0007]|late/);
  await hear("progress", { tool_call_id: "c1", fraction: null, detail: "" });
  pass(4000);
  await progress.show();
  expect(telegram.answers()[0]?.text).toBe("Working · 6 s\nSending a.iso · 6 s");
  await hear("tool_call.completed", { tool_call_id: "c1" });
  await hear("progress", { tool_call_id: "c1", fraction: 1, detail: "over" });
  pass(4000);
  await progress.show();
  expect(telegram.answers()[0]?.text).toBe("Working · 10 s");
});

test("a failure of the progress message affects nothing else", async () => {
  const { place, progress, hear, pass } = await watch();
  const { telegram } = place;
  telegram.fault({ kind: "rate_limited", method: "sendMessage", retry_after_s: 5 });
  await hear("task.started");
  pass(3000);
  await hear("turn.started", { turn: 2 });
  expect(telegram.answers()).toEqual([]);
  pass(6000);
  await progress.show();
  expect(telegram.answers()).toHaveLength(1);
  telegram.fault({ kind: "server_error", method: "editMessageText" });
  pass(3000);
  await hear("turn.started", { turn: 3 });
  telegram.fault({ kind: "server_error", method: "deleteMessage" });
  pass(3000);
  await hear("task.failed");
  expect(telegram.calls.filter(({ method }) => method === "deleteMessage")).toHaveLength(1);
});

// oxfmt-ignore
const NOT_NOW = [
  { title: "Telegram asked to wait",  fault: { kind: "rate_limited", retry_after_s: 5 } },
  { title: "Telegram had a fault",    fault: { kind: "server_error" } },
  { title: "no response",             fault: { kind: "reset_before" } },
] as const;

for (const { title, fault } of NOT_NOW) {
  test(`a message that could not be removed since ${title} is removed later`, async () => {
    const { place, progress, hear, pass } = await watch();
    const { telegram, store } = place;
    await hear("task.started");
    pass(2000);
    await hear("turn.started", { turn: 1 });
    telegram.fault({ ...fault, method: "deleteMessage" });
    await hear("task.completed");
    const [standing] = telegram.answers();
    expect(await store.kv.get("telegram:progress")).toBe(`{"42":[${standing?.message_id}]}`);
    pass(5000);
    await progress.show();
    expect(telegram.answers()).toEqual([]);
    expect(await store.kv.get("telegram:progress")).toBe("{}");
    expect(telegram.calls.filter(({ method }) => method === "deleteMessage")).toHaveLength(2);
  });
}

test("a message that a user deleted is not removed again and again", async () => {
  const { place, progress, hear, pass } = await watch();
  const { telegram, store } = place;
  await store.kv.set("telegram:progress", '{"42":77}');
  await progress.open();
  await hear("task.started");
  pass(2000);
  await progress.show();
  expect(telegram.calls.filter(({ method }) => method === "deleteMessage")).toHaveLength(1);
});

test("a message that a process left standing when it was killed is removed by the next", async () => {
  const { place, hear, pass } = await watch();
  await hear("task.started");
  pass(2000);
  await hear("turn.started", { turn: 1 });
  expect(place.telegram.answers()).toHaveLength(1);
  await place.open();
  await place.telegram.until(() => place.telegram.answers().length === 0, "the message to go");
});

test("the channel follows what is recorded, and nothing of other channels' tasks", async () => {
  const place = await scratchPlace();
  await place.store.inbox.ingest({ source: "http", lane: "http:a", text: "not by Telegram" });
  const other = await place.claim();
  await place.open();
  place.telegram.say({ text: "do it" });
  const lease = await place.claim();
  await record(place, other, "turn.started", { turn: 1 });
  await record(place, lease, "turn.started", { turn: 7 });
  await place.telegram.until(() => place.telegram.answers()[0]?.text.startsWith("Working · "), "the message");
  await place.store.inbox.finish(lease, { outcome: "done", reply: "Done." });
  place.notifier.notify();
  await place.telegram.until(
    () =>
      place.telegram
        .answers()
        .map(({ text }) => text)
        .join() === "Done.",
    "the answer",
  );
});
