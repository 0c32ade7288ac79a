import { makeId } from "@autonous/runtime/internal";
import type { ApprovalRequest } from "@autonous/runtime";
import { describe, expect, onTestFinished, test } from "vitest";
import { ScratchStore, START_MS, STORE_KINDS } from "../../../../../test/support/store-places.ts";
import type { Finish, Lease, Store } from "../store.ts";

for (const kind of STORE_KINDS) {
  async function scratch(): Promise<{ readonly at: ScratchStore; readonly store: Store }> {
    const at = new ScratchStore(kind);
    onTestFinished(() => at.close());
    return { at, store: await at.open() };
  }

  describe(`stopping and retrying tasks, on ${kind.name}`, () => {
    test("a waiting task is cancelled at once, and its chat continues with the next", async () => {
      const { at, store } = await scratch();
      const first = await put(store, "first", START_MS + 60_000);
      await put(store, "second");
      expect(await store.inbox.claim("w", 1), "the first decides when").toEqual([]);
      at.now++;

      const answer = await store.tasks.cancel(first, "ada");

      expect(answer).toMatchObject({
        outcome: "done",
        task: { state: "cancelled", cancel_by: "ada", error: "stopped by ada", finished_at: START_MS + 1 },
      });
      expect(await lastEvent(store, first)).toMatchObject({ type: "task.cancelled", payload: { by: "ada" } });
      expect((await store.tasks.get(first))?.audit.at(-1)?.message).toBe("cancelled: stopped by ada");
      expect(await store.inbox.claim("w", 1)).toMatchObject([{ task: { text: "second" } }]);
    });

    test("cancelling a task in the middle of a chat keeps the order of the others", async () => {
      const { store } = await scratch();
      const lease = await begin(store, "first");
      const second = await put(store, "second");
      await put(store, "third");
      await store.tasks.cancel(second, "ada");
      expect(await store.inbox.claim("w", 9), "the chat is held").toEqual([]);
      const { next } = await store.inbox.finish(lease, { outcome: "done", reply: "x", take_next: true });
      expect(next?.task.text).toBe("third");
    });

    test("a task that waits for approval is cancelled, and its request is withdrawn", async () => {
      const { store } = await scratch();
      const lease = await begin(store, "delete it");
      const request = requestOf(lease);
      await store.approvals.open(request);
      await store.inbox.finish(lease, { outcome: "parked" });
      await put(store, "next");

      expect(await store.tasks.cancel(lease.task.task_id, "ada")).toMatchObject({ outcome: "done" });

      expect(await store.approvals.get(request.approval_id)).toMatchObject({ state: "withdrawn" });
      expect(await store.approvals.answer(request.approval_id, { answer: "grant" })).toMatchObject({ won: false });
      expect(await store.inbox.claim("w", 9)).toMatchObject([{ task: { text: "next" } }]);
    });

    // oxfmt-ignore
    const ENDS: readonly { readonly outcome: Finish["outcome"]; readonly end: Finish; readonly reply: string }[] = [
      { outcome: "done",      end: { outcome: "done", reply: "I did it" },                            reply: "The task finished before it could be stopped. Its answer:\n\nI did it" },
      { outcome: "failed",    end: { outcome: "failed", error: "it broke", reply: "it broke" },       reply: "Stopped by ada. Files may have changed. The task had failed: it broke" },
      { outcome: "dead",      end: { outcome: "dead", error: "it broke", reply: "it broke" },         reply: "Stopped by ada. Files may have changed. The task had failed: it broke" },
      { outcome: "retry",     end: { outcome: "retry", error: "it broke", retry_at: START_MS },       reply: "Stopped by ada. Files may have changed." },
      { outcome: "parked",    end: { outcome: "parked" },                                             reply: "Stopped by ada. Files may have changed." },
      { outcome: "cancelled", end: { outcome: "cancelled", error: "Cancelled: it was stopped" },      reply: "Stopped by ada. Files may have changed." },
      { outcome: "cancelled", end: { outcome: "cancelled", error: "x", reply: "No files changed." }, reply: "Stopped by ada. No files changed." },
    ];

    test.each(ENDS)(
      "a running task is stopped by its worker, ends as cancelled although it returns $outcome, and its reply says how it ended",
      async ({ end, reply }) => {
        const { store } = await scratch();
        const lease = await begin(store, "a");
        await put(store, "next");

        expect(await store.tasks.cancel(lease.task.task_id, "ada")).toMatchObject({ outcome: "stopping" });
        expect(await store.tasks.cancel(lease.task.task_id, "bob"), "who asked first").toMatchObject({
          outcome: "stopping",
          task: { cancel_by: "ada" },
        });
        const { lane, token } = lease;
        expect(await store.inbox.heartbeat("w", [lease])).toEqual({
          lost: [],
          cancelled: [{ lane, token, by: "ada" }],
        });
        const { next } = await store.inbox.finish(lease, { ...end, take_next: true });

        expect(await store.tasks.get(lease.task.task_id)).toMatchObject({
          task: { state: "cancelled", cancel_by: "ada" },
          reply,
        });
        expect(next?.task.text).toBe("next");
        expect(await store.tasks.cancel(lease.task.task_id, "eve")).toMatchObject({ outcome: "refused" });
      },
    );

    test("the reply of a running task does not name the sender who stopped it", async () => {
      const { store } = await scratch();
      await store.inbox.ingest({ source: "telegram", lane: "telegram:7", text: "x", user: "7", external_id: "1" });
      const [lease] = await store.inbox.claim("w", 1);
      if (lease === undefined) throw new Error("The task was not claimed");
      const { task_id } = lease.task;
      await store.tasks.cancel(task_id, "telegram:7");
      await store.inbox.finish(lease, { outcome: "cancelled", error: "x", reply: "No files changed." });
      expect(await store.tasks.get(task_id)).toMatchObject({ reply: "Stopped. No files changed." });
    });

    test("the reply of a waiting task names who stopped it, unless it was the sender", async () => {
      const { store } = await scratch();
      const message = { source: "telegram", lane: "telegram:7", text: "x", user: "7" };
      const { task_id: own } = await store.inbox.ingest({ ...message, external_id: "1" });
      const { task_id: others } = await store.inbox.ingest({ ...message, external_id: "2" });

      await store.tasks.cancel(own, "telegram:7");
      await store.tasks.cancel(others, "ada");

      expect(await store.tasks.get(own)).toMatchObject({ task: { state: "cancelled" }, reply: null });
      expect(await store.tasks.get(others)).toMatchObject({ task: { state: "cancelled" }, reply: "Stopped by ada." });
    });

    test("a task whose worker is lost before it could stop is not started again", async () => {
      const { store } = await scratch();
      const lease = await begin(store, "a");
      await store.tasks.cancel(lease.task.task_id, "ada");
      await store.inbox.releaseWorker("w");
      expect(await store.inbox.claim("w2", 1)).toEqual([]);
      expect(await store.tasks.get(lease.task.task_id)).toMatchObject({
        task: { state: "cancelled" },
        reply: "Stopped by ada. Files may have changed.",
      });
      expect(await lastEvent(store, lease.task.task_id)).toMatchObject({
        type: "task.cancelled",
        payload: { by: "ada" },
      });
    });

    test("a task whose worker is already lost is cancelled at once", async () => {
      const { store } = await scratch();
      const lease = await begin(store, "a");
      await store.inbox.releaseWorker("w");
      expect(await store.tasks.cancel(lease.task.task_id, "ada")).toMatchObject({ outcome: "done" });
      expect(await store.inbox.claim("w2", 1)).toEqual([]);
    });

    test.each(["failed", "dead", "cancelled"] as const)(
      "a task that ended as %s is requeued as new, behind the waiting ones",
      async (outcome) => {
        const { at, store } = await scratch();
        const lease = await begin(store, "first");
        await store.inbox.releaseWorker("w");
        const [again] = await store.inbox.claim("w", 1);
        await store.inbox.finish(again ?? lease, { outcome, error: "it broke", reply: "sorry" });
        await put(store, "second");
        at.now += 5;

        const answer = await store.tasks.retry(lease.task.task_id, "ada");

        expect(answer).toMatchObject({
          outcome: "done",
          task: {
            state: "queued",
            attempts: 0,
            crashes: 0,
            error: null,
            cancel_by: null,
            finished_at: null,
            run_id: lease.task.run_id,
          },
        });
        expect(await lastEvent(store, lease.task.task_id)).toMatchObject({
          type: "task.queued",
          payload: { by: "ada" },
        });
        expect((await store.tasks.get(lease.task.task_id))?.audit.at(-1)?.message).toBe("requeued by ada");
        expect(await turns(store)).toEqual(["second", "first"]);
        const replies = await store.outbox.pending({ limit: 9 });
        expect(replies.filter(({ task_id }) => task_id === lease.task.task_id)).toHaveLength(2);
      },
    );

    test("the number of retries by people is in each start event, also after a restart", async () => {
      const { at, store } = await scratch();
      let lease = await begin(store, "first");
      expect(await lastEvent(store, lease.task.task_id)).not.toHaveProperty("payload.retries");
      for (const retries of [1, 2]) {
        await store.inbox.finish(lease, { outcome: "failed", error: "it broke" });
        await store.tasks.retry(lease.task.task_id, "ada");
        const restarted = await at.open();
        const [again] = await restarted.inbox.claim("w", 1);
        lease = again ?? lease;
        expect(lease).toMatchObject({ attempt: 1, task: { retries } });
        expect(await lastEvent(store, lease.task.task_id)).toMatchObject({
          type: "task.started",
          payload: { attempt: 1, retries },
        });
      }
    });

    test("a message that arrives after a retry is queued behind it", async () => {
      const { store } = await scratch();
      const lease = await begin(store, "first");
      await store.inbox.finish(lease, { outcome: "failed", error: "it broke" });
      await store.tasks.retry(lease.task.task_id, "ada");
      await put(store, "second");
      expect(await turns(store)).toEqual(["first", "second"]);
    });

    test("a task that completed, has not ended or is pruned cannot be retried", async () => {
      const { at, store } = await scratch();
      const done = await begin(store, "a");
      expect(await store.tasks.retry(done.task.task_id, "ada")).toMatchObject({
        outcome: "refused",
        why: expect.stringMatching(/not ended/),
      });
      await store.inbox.finish(done, { outcome: "done", reply: "x" });
      expect(await store.tasks.retry(done.task.task_id, "ada")).toMatchObject({
        outcome: "refused",
        why: "it completed",
      });
      const failed = await begin(store, "b");
      await store.inbox.finish(failed, { outcome: "failed", error: "it broke" });
      at.now++;
      await store.upkeep.markForgotten(failed.task.run_id);
      expect(await store.tasks.retry(failed.task.task_id, "ada")).toMatchObject({
        outcome: "refused",
        why: expect.stringMatching(/no longer stored/),
      });
    });

    test("a dropped dead letter is cancelled, and the person is recorded", async () => {
      const { store } = await scratch();
      const lease = await begin(store, "a");
      expect(await store.tasks.drop(lease.task.task_id, "ada")).toMatchObject({
        outcome: "refused",
        why: expect.stringMatching(/cancel it/),
      });
      await store.inbox.finish(lease, { outcome: "dead", error: "it broke" });
      expect((await store.tasks.counts()).by_state).toEqual({ dead_letter: 1 });

      expect(await store.tasks.drop(lease.task.task_id, "ada")).toMatchObject({
        outcome: "done",
        task: { state: "cancelled", error: "it broke" },
      });

      expect((await store.tasks.counts()).by_state).toEqual({});
      expect(await lastEvent(store, lease.task.task_id)).toMatchObject({
        type: "task.cancelled",
        payload: { by: "ada", dropped: true },
      });
      expect(await store.tasks.drop(lease.task.task_id, "ada")).toMatchObject({ outcome: "refused" });
    });

    test("nothing can be done to a task that does not exist", async () => {
      const { store } = await scratch();
      for (const action of ["cancel", "retry", "drop"] as const)
        expect(await store.tasks[action]("task_1", "ada"), action).toBeUndefined();
    });

    test("a worker that was ended on purpose does not count as a crash of its tasks, however often", async () => {
      const { store } = await scratch();
      await begin(store, "a");
      for (let i = 0; i < 7; i++) {
        await store.inbox.releaseWorker("w", { blameless: true });
        expect(await store.inbox.claim("w", 1)).toMatchObject([{ resumed: true, attempt: 1, task: { crashes: 0 } }]);
      }
    });

    test("the counts of the queue exclude ended tasks", async () => {
      const { at, store } = await scratch();
      const done = await begin(store, "done");
      await store.inbox.finish(done, { outcome: "done", reply: "x" });
      await put(store, "later", START_MS + 60_000);
      at.now += 10;
      await store.inbox.ingest({ source: "test", lane: "b", text: "b1" });
      await store.inbox.ingest({ source: "test", lane: "b", text: "b2" });
      const [lease] = await store.inbox.claim("w", 1);
      if (lease === undefined) throw new Error("nothing to claim");
      await store.approvals.open(requestOf(lease));

      expect(await store.tasks.counts()).toMatchObject({
        by_state: { queued: 2, in_progress: 1 },
        oldest_queued_at: START_MS + 10,
        oldest_unsent_at: START_MS,
        pending_approvals: 1,
      });
      expect(await store.inbox.nextReadyAt()).toBe(START_MS + 60_000);
    });

    test("the tasks of one chat are listed newest first, page by page, and by state", async () => {
      const { store } = await scratch();
      for (let i = 0; i < 5; i++)
        for (const lane of ["a", "b"]) await store.inbox.ingest({ source: "test", lane, text: `${lane}${i}` });
      await store.inbox.claim("w", 1);

      const first = await store.tasks.list({ lane: "a", limit: 3 });
      const second = await store.tasks.list({ lane: "a", limit: 3, after: first.next ?? 0 });

      expect([...first.tasks, ...second.tasks].map(({ text }) => text)).toEqual(["a4", "a3", "a2", "a1", "a0"]);
      expect(second.next).toBeNull();
      const begun = await store.tasks.list({ lane: "a", state: "in_progress", limit: 3 });
      expect(begun.tasks.map(({ text }) => text)).toEqual(["a0"]);
    });

    for (const { which, text, listed } of [
      { which: "the oldest", text: "0", listed: ["0", "3", "2", "1"] },
      { which: "one between others", text: "2", listed: ["2", "3", "1", "0"] },
      { which: "the newest", text: "3", listed: ["3", "2", "1", "0"] },
    ])
      test(`${which} of a chat becomes its newest when retried, and the order of the others is kept`, async () => {
        const { store } = await scratch();
        const ids = new Map<string, string>();
        for (const each of ["0", "1", "2", "3"]) {
          const lease = await begin(store, each);
          ids.set(each, lease.task.task_id);
          await store.inbox.finish(lease, { outcome: "failed", error: "x" });
        }
        await store.tasks.retry(ids.get(text) ?? "", "ada");

        const { tasks } = await store.tasks.list({ lane: "chat", limit: 9 });
        expect(tasks.map((task) => task.text)).toEqual(listed);
        const rest = await store.tasks.list({ lane: "chat", state: "failed", limit: 9 });
        expect(rest.tasks.map((task) => task.text)).toEqual(listed.slice(1));
        const next = await store.inbox.ingest({ source: "test", lane: "chat", text: "next" });
        const said = await store.history.before(next.task_id, 9);
        expect(said.map((row) => row.text)).toEqual(listed.toReversed());
      });
  });
}

async function put(store: Store, text: string, run_at?: number): Promise<string> {
  const message = { source: "test", lane: "chat", text };
  return (await store.inbox.ingest(run_at === undefined ? message : { ...message, run_at })).task_id;
}

async function begin(store: Store, text: string): Promise<Lease> {
  await put(store, text);
  const [lease] = await store.inbox.claim("w", 1);
  if (lease === undefined) throw new Error("nothing to claim");
  return lease;
}

/** Runs all queued tasks and returns their order. */
async function turns(store: Store): Promise<string[]> {
  const texts: string[] = [];
  let [lease] = await store.inbox.claim("w", 1);
  while (lease !== undefined) {
    texts.push(lease.task.text);
    ({ next: lease } = await store.inbox.finish(lease, { outcome: "done", reply: "x", take_next: true }));
  }
  return texts;
}

async function lastEvent(store: Store, task_id: string): Promise<unknown> {
  return (await store.events.last({ task_id, limit: 1 }))[0]?.event;
}

function requestOf({ task }: Lease): ApprovalRequest {
  return {
    approval_id: makeId("apr", START_MS),
    tool_call_id: "call_1",
    run_id: task.run_id,
    digest: "0".repeat(64),
    requested_at: new Date(START_MS).toISOString(),
    expires_at: new Date(START_MS + 3_600_000).toISOString(),
  } as ApprovalRequest;
}
