import { makeId } from "@autonous/runtime/internal";
import type { AttachedFile, EventDraft } from "@autonous/runtime/internal";
import { describe, expect, onTestFinished, test } from "vitest";
import { makeRequest } from "../../../../../test/support/approval-request.ts";
import { ScratchStore, START_MS, STORE_KINDS } from "../../../../../test/support/store-places.ts";
import type { Lease, OutboxRow, Store } from "../store.ts";

async function begin(store: Store, lane = "chat", source = "test"): Promise<Lease> {
  await store.inbox.ingest({ source, lane, text: "?" });
  const [lease] = await store.inbox.claim("w", 1);
  if (lease === undefined) throw new Error("nothing to claim");
  return lease;
}

async function answer(store: Store, reply: string): Promise<void> {
  const lease = await begin(store, reply.slice(0, 1));
  await store.inbox.finish(lease, { outcome: "done", reply });
}

async function waiting(store: Store): Promise<string[]> {
  const rows = await store.outbox.pending({ limit: 100, channel: "test" });
  return rows.map(({ content }) => (content.kind === "text" ? content.text : content.kind));
}

async function rowOf(store: Store, text: string): Promise<OutboxRow> {
  const rows = await store.outbox.pending({ limit: 100 });
  const row = rows.find(({ content }) => content.kind === "text" && content.text === text);
  if (row === undefined) throw new Error(`"${text}" does not wait`);
  return row;
}

const FILE: AttachedFile = {
  artifact: "artifacts/0123456789abcdef-report.pdf",
  name: "report.pdf",
  media_type: "application/pdf",
  bytes: 12,
  sha256: "0".repeat(64),
  caption: "as asked",
};

function completed({ task: { task_id, run_id, trace_id } }: Lease, attachments: readonly AttachedFile[]): EventDraft {
  const payload = { tool_call_id: "call_1", tool_name: "attach", attachments };
  const ts = new Date(START_MS).toISOString();
  const event_id = makeId("evt", START_MS);
  return { event_id, ts, type: "tool_call.completed", trace_id, task_id, run_id, parent_id: null, payload };
}

function shown({ task: { task_id, run_id, trace_id } }: Lease, payload: object): EventDraft {
  const event_id = makeId("evt", START_MS);
  const ts = new Date(START_MS).toISOString();
  return { event_id, ts, type: "display", trace_id, task_id, run_id, parent_id: null, payload: { ...payload } };
}

describe.each(STORE_KINDS)("the outbox on $name", (kind) => {
  async function scratch(): Promise<{ readonly at: ScratchStore; readonly store: Store }> {
    const at = new ScratchStore(kind);
    onTestFinished(() => at.close());
    return { at, store: await at.open() };
  }

  test("a displayed message is queued with its event, before the answer, and only once if the call is repeated", async () => {
    const { store } = await scratch();
    const lease = await begin(store);
    const journal = store.journal(lease.task.run_id, lease);
    const half = { tool_call_id: "call_1", content: "half way", level: "warning", title: "Walk", thought: "not sent" };
    await journal.append([shown(lease, half)]);
    await journal.append([shown(lease, half), shown(lease, { ...half, content: "more" })]);
    await journal.append([shown(lease, { ...half, tool_call_id: "call_2" }), shown(lease, { i: 1 })]);
    await store.inbox.finish(lease, { outcome: "done", reply: "there" });

    const rows = await store.outbox.pending({ limit: 100, channel: "test" });
    const content = { kind: "display", content: "half way", level: "warning", title: "Walk" };
    expect(rows.map((row) => row.content)).toEqual([
      content,
      { ...content, content: "more" },
      content,
      { kind: "text", text: "there" },
    ]);
    for (const { id } of rows) await store.outbox.markSent(id);
    const types = (await store.events.read({ run_id: lease.task.run_id, limit: 100 })).map(({ event }) => event.type);
    expect(types.filter((type) => type === "reply.sent")).toHaveLength(1);
    expect((await store.tasks.get(lease.task.task_id))?.reply).toBe("there");
  });

  test("a task that shows more than can be sent in time gets one notice, and its answer waits behind a limited backlog", async () => {
    const { store } = await scratch();
    const lease = await begin(store);
    const journal = store.journal(lease.task.run_id, lease);
    const show = (i: number) =>
      shown(lease, { tool_call_id: `call_${i}`, content: `${i} `.repeat(4000), level: "info" });
    const fromTo = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => show(from + i));
    const rows = () => store.outbox.pending({ limit: 1000, channel: "test" });
    const size = async () => JSON.stringify((await rows()).map(({ content }) => content)).length;
    await journal.append(fromTo(0, 100));
    const first = await rows();
    expect(JSON.stringify(first.at(-1)?.content)).toContain("further messages are only recorded in the audit log");
    expect(await size()).toBeLessThan(60_000);
    await journal.append(fromTo(100, 200));
    expect(await rows()).toEqual(first);

    for (const { id } of first) await store.outbox.markSent(id);
    await journal.append([show(200)]);
    await store.inbox.finish(lease, { outcome: "done", reply: "there" });
    expect((await rows()).map(({ content }) => content.kind)).toEqual(["display", "text"]);
    const all = await store.events.read({ run_id: lease.task.run_id, limit: 1000 });
    expect(all.filter(({ event }) => event.type === "display")).toHaveLength(201);
  });

  test("todo steps are sent like displayed messages", async () => {
    const { store } = await scratch();
    const lease = await begin(store);
    const payload = { tool_call_id: "call_1", items: [{ text: "look", done: true }], content: "[x] 1. look" };
    await store.journal(lease.task.run_id, lease).append([{ ...shown(lease, payload), type: "todo" }]);
    const rows = await store.outbox.pending({ limit: 100, channel: "test" });
    expect(rows.map((row) => row.content)).toEqual([
      { kind: "display", content: "[x] 1. look", level: "progress", title: "Steps" },
    ]);
  });

  test("a message that was not accepted is due again later, and delays only its chat until then", async () => {
    const { at, store } = await scratch();
    for (const reply of ["a1", "a2", "b1"]) await answer(store, reply);
    const first = await rowOf(store, "a1");

    await store.outbox.markFailed(first.id, { error: "no network", next_at: START_MS + 5000 });

    expect(await waiting(store)).toEqual(["b1"]);
    expect(await store.outbox.nextDueAt("test")).toBe(0);
    await store.outbox.markSent((await rowOf(store, "b1")).id);
    expect(await waiting(store)).toEqual([]);
    expect(await store.outbox.nextDueAt("test")).toBe(START_MS + 5000);
    at.now += 5000;
    expect(await waiting(store)).toEqual(["a1", "a2"]);
    expect((await rowOf(store, "a1")).attempts).toBe(1);
  });

  test("nothing is due for an empty channel, and other channels do not count", async () => {
    const { store } = await scratch();
    expect(await store.outbox.nextDueAt()).toBeNull();
    await answer(store, "a1");
    expect(await store.outbox.nextDueAt("telegram")).toBeNull();
    expect(await store.outbox.nextDueAt()).toBe(0);
  });

  test("an undeliverable message is not retried, and cannot be marked as sent or failed", async () => {
    const { store } = await scratch();
    for (const reply of ["a1", "a2"]) await answer(store, reply);
    const { id, task_id } = await rowOf(store, "a1");

    await store.outbox.giveUp(id, "the chat is gone");
    await store.outbox.giveUp(id, "again");
    await store.outbox.markSent(id);
    await store.outbox.markFailed(id, { error: "late", next_at: 0 });

    expect(await waiting(store)).toEqual(["a2"]);
    const details = await store.tasks.get(task_id);
    expect(details).toMatchObject({ reply: "a1", reply_sent_at: null });
    expect(details?.unsent).toMatchObject([{ error: "the chat is gone", next_at: null, attempts: 1 }]);
    const events = await store.events.last({ task_id, limit: 1 });
    expect(events.map(({ event }) => event.type)).toEqual(["task.completed"]);
  });

  test("a file is queued with the event of its call, once, before the reply", async () => {
    const { store } = await scratch();
    const lease = await begin(store);
    const journal = store.journal(lease.task.run_id, lease);
    await journal.append([completed(lease, [FILE, { ...FILE, name: "other.pdf" }])]);
    await journal.append([completed(lease, [FILE])]); // the same call again, after a crash
    await store.inbox.finish(lease, { outcome: "done", reply: "there" });

    const rows = await store.outbox.pending({ limit: 9 });

    expect(rows.map(({ content }) => content)).toEqual([
      { kind: "file", ...FILE },
      { kind: "file", ...FILE, name: "other.pdf" },
      { kind: "text", text: "there" },
    ]);
    expect(rows[0]).toMatchObject({ task_id: lease.task.task_id, run_id: lease.task.run_id, chat: "chat" });
    await store.outbox.markSent(rows[0]?.id ?? 0, "message 7");
    const [last] = await store.events.last({ run_id: lease.task.run_id, limit: 1 });
    const { artifact, name, bytes, sha256 } = FILE;
    expect(last?.event.payload).toEqual({ channel: "test", file: { artifact, name, bytes, sha256 } });
    const details = await store.tasks.get(lease.task.task_id);
    expect(details?.reply).toBe("there");
    expect(details?.audit.at(-1)?.message).toBe('"report.pdf" sent by test');
  });

  test("a file of a run without a channel is not sent", async () => {
    const { store } = await scratch();
    const lease = await begin(store);
    const draft = { ...completed(lease, [FILE]), run_id: "run_alone", task_id: null };
    await store.journal("run_alone").append([draft]);
    expect(await store.outbox.pending({ limit: 9 })).toEqual([]);
  });

  test("an approval request goes to the chat of the task, once, and its receipt can be found", async () => {
    const { store } = await scratch();
    const { task } = await begin(store, "chat", "telegram");
    const asked = makeRequest({ now: START_MS, run_id: task.run_id });
    await store.approvals.open(asked);
    await store.approvals.open({ ...asked, approval_id: makeId("apr", START_MS) }); // requested again by the same call

    const rows = await store.outbox.pending({ limit: 9 });

    expect(rows.map(({ content, channel, chat }) => ({ content, channel, chat }))).toEqual([
      { content: { kind: "approval", approval_id: asked.approval_id }, channel: "telegram", chat: "chat" },
    ]);
    expect(await store.outbox.receiptOf(asked.approval_id)).toBeUndefined();
    await store.outbox.markSent(rows[0]?.id ?? 0, "message 7");
    expect(await store.outbox.receiptOf(asked.approval_id)).toEqual({ chat: "chat", receipt: "message 7" });
    const [last] = await store.events.last({ run_id: task.run_id, limit: 1 });
    expect(last?.event.type).toBe("task.started"); // the request itself is recorded elsewhere
    await store.outbox.askAgain(asked.approval_id);
    await store.outbox.askAgain(asked.approval_id);
    expect(await store.outbox.receiptOf(asked.approval_id)).toBeUndefined();
    expect((await store.outbox.pending({ limit: 10 })).map(({ id }) => id)).toEqual([rows[0]?.id]);
  });

  test("answering an approval request sends nothing, and a request without a task is not sent", async () => {
    const { store } = await scratch();
    const { task } = await begin(store);
    const asked = makeRequest({ now: START_MS, run_id: task.run_id });
    await store.approvals.open(asked);
    await store.approvals.answer(asked.approval_id, { answer: "grant" });
    await store.approvals.open(
      makeRequest({ now: START_MS, run_id: "run_alone", approval_id: makeId("apr", START_MS) }),
    );
    expect(await store.outbox.pending({ limit: 9 })).toHaveLength(1);
  });
});
