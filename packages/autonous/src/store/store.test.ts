import { chainEvents, EMPTY_TAIL, makeId } from "@autonous/runtime/internal";
import type { RuntimeEvent, ToolCallResult } from "@autonous/runtime";
import type { EventDraft, EventType } from "@autonous/runtime/internal";
import { describe, expect, onTestFinished, test } from "vitest";
import { ScratchStore, START_MS, STORE_KINDS } from "../../../../test/support/store-places.ts";
import type { Finish, HistoryRow, Lease, OutboxRow, Store } from "./store.ts";

for (const kind of STORE_KINDS) storeContract(kind);

/** The contract of every store, whatever its backend. */
function storeContract(kind: (typeof STORE_KINDS)[number]): void {
  async function scratch(): Promise<{ readonly at: ScratchStore; readonly store: Store }> {
    const at = new ScratchStore(kind);
    onTestFinished(() => at.close());
    return { at, store: await at.open() };
  }

  describe(`store on ${kind.name}`, () => {
    describe("ingest", () => {
      test("creates a task with a run, whose chain starts with task.queued", async () => {
        const { store } = await scratch();

        const { task_id, run_id, duplicate } = await store.inbox.ingest({ ...message("hello"), user: "ada" });

        expect(duplicate).toBe(false);
        const [queued] = await allOf(store.journal(run_id).read());
        expect(queued).toMatchObject({
          seq: 1,
          type: "task.queued",
          task_id,
          run_id,
          payload: { source: "test", lane: "chat" },
        });
        expect(await store.tasks.get(task_id)).toMatchObject({
          task: {
            task_id,
            run_id,
            state: "queued",
            lane: "chat",
            text: "hello",
            user: "ada",
            attempts: 0,
            crashes: 0,
            created_at: START_MS,
          },
          audit: [{ phase: "ingress", message: "received from test", created_at: START_MS }],
          reply: null,
        });
      });

      test("keeps the text of messages out of the events", async () => {
        const { store } = await scratch();
        const { run_id } = await store.inbox.ingest(message("my password is hunter2"));
        expect(JSON.stringify(await allOf(store.journal(run_id).read()))).not.toContain("hunter2");
      });

      test("accepts a message once, however often it is delivered", async () => {
        const { store } = await scratch();
        const first = await store.inbox.ingest({ ...message("a"), external_id: "7" });
        const again = await store.inbox.ingest({ ...message("changed"), external_id: "7", lane: "elsewhere" });
        const other = await store.inbox.ingest({ ...message("a"), external_id: "7", source: "other" });

        expect(again).toEqual({ ...first, duplicate: true });
        expect(other.duplicate).toBe(false);
        expect((await store.tasks.list({ limit: 10 })).tasks).toHaveLength(2);
        expect(await store.inbox.claim("w", 10)).toHaveLength(1);
      });

      test("accepts messages without an external id every time", async () => {
        const { store } = await scratch();
        const first = await store.inbox.ingest(message("a"));
        const second = await store.inbox.ingest(message("a"));
        expect(second.task_id).not.toBe(first.task_id);
      });

      test("stores any text unchanged", async () => {
        const { store } = await scratch();
        const text = "zero \u0000, quote ' \" `, emoji 😀, right-to-left \u202e, new\nline, " + "long ".repeat(50_000);
        const { task_id } = await store.inbox.ingest(message(text));
        expect((await store.tasks.get(task_id))?.task.text).toBe(text);
      });
    });

    describe("claim", () => {
      test("returns the head of each lane, and nothing of a leased lane", async () => {
        const { store } = await scratch();
        for (const lane of ["a", "a", "b", "b", "c"]) await store.inbox.ingest({ ...message(lane), lane });

        const leases = await store.inbox.claim("w1", 2);
        const rest = await store.inbox.claim("w2", 10);

        expect(leases.map(({ lane }) => lane)).toEqual(["a", "b"]);
        expect(rest.map(({ lane }) => lane)).toEqual(["c"]);
        expect(await store.inbox.claim("w2", 10)).toEqual([]);
        expect(leases[0]).toMatchObject({
          worker: "w1",
          attempt: 1,
          resumed: false,
          task: { state: "in_progress", attempts: 1, started_at: START_MS },
        });
        expect(await typesOf(store, leases[0])).toEqual(["task.queued", "task.started"]);
      });

      test("gives each task to one of two connections", async () => {
        const { at, store } = await scratch();
        const other = await at.open();
        for (let i = 0; i < 20; i++) await store.inbox.ingest({ ...message(`${i}`), lane: `${i}` });

        const claims = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? store : other).inbox.claim(`w${i % 2}`, 2));
        const taken = (await Promise.all(claims)).flat().map(({ task }) => task.text);

        expect(taken.toSorted()).toEqual(Array.from({ length: 20 }, (_, i) => `${i}`).toSorted());
      });

      test("does not start a task before its time, nor the tasks behind it", async () => {
        const { at, store } = await scratch();
        await store.inbox.ingest({ ...message("later"), run_at: START_MS + 1000 });
        await store.inbox.ingest(message("behind"));

        expect(await store.inbox.claim("w", 2)).toEqual([]);
        at.now = START_MS + 1000;
        const [lease] = await store.inbox.claim("w", 2);

        expect(lease?.task.text).toBe("later");
      });
    });

    describe("a scheduled task", () => {
      test("does not delay earlier tasks", async () => {
        const { store } = await scratch();
        await store.inbox.ingest(message("now"));
        await store.inbox.ingest({ ...message("later"), run_at: START_MS + 1000 });
        expect(await store.inbox.claim("w", 2)).toMatchObject([{ task: { text: "now" } }]);
      });

      test("waits for its time, also when the previous task was dead-lettered", async () => {
        const { at, store } = await scratch();
        await begin(store, "poison");
        await store.inbox.ingest({ ...message("later"), run_at: START_MS + 1000 });
        for (let crash = 1; crash <= 5; crash++) {
          await store.inbox.releaseWorker("w");
          expect(await store.inbox.claim("w", 1)).toHaveLength(crash < 5 ? 1 : 0);
        }
        at.now = START_MS + 1000;
        expect(await store.inbox.claim("w", 1)).toMatchObject([{ task: { text: "later" } }]);
      });
    });

    describe("a clock that is set back by an hour", () => {
      const BACK = START_MS - 3_600_000;
      const LEASE_MS = 15_000;

      test("delays no message beyond the next recovery, nor those behind it", async () => {
        const { at, store } = await scratch();
        for (const text of ["one", "two"]) await store.inbox.ingest(message(text));

        at.now = BACK;
        await store.inbox.recover(LEASE_MS);

        expect(await store.inbox.nextReadyAt()).toBe(BACK);
        const [one] = await store.inbox.claim("w", 1);
        if (one === undefined) throw new Error("nothing to claim");
        expect(one.task).toMatchObject({ text: "one", run_at: START_MS });
        const done = await store.inbox.finish(one, { outcome: "done", reply: "yes", take_next: true });
        expect(done.next?.task.text).toBe("two");
      });

      test("delays no message whose predecessor is cancelled", async () => {
        const { at, store } = await scratch();
        const { task_id } = await store.inbox.ingest(message("one"));
        await store.inbox.ingest(message("two"));
        at.now = BACK;
        await store.tasks.cancel(task_id, "ada");
        expect(await store.inbox.claim("w", 1)).toMatchObject([{ task: { text: "two" } }]);
      });

      test("delays no task that a lost worker was running", async () => {
        const { at, store } = await scratch();
        await begin(store);
        await store.inbox.releaseWorker("w");
        at.now = BACK;
        await store.inbox.recover(LEASE_MS);
        expect(await store.inbox.claim("w", 1)).toMatchObject([{ resumed: true }]);
      });

      test("brings no scheduled or retried task forward", async () => {
        const { at, store } = await scratch();
        await store.inbox.ingest({ ...message("later"), lane: "a", run_at: START_MS + 1000 });
        const tried = await begin(store, "again");
        await store.inbox.finish(tried, { outcome: "retry", error: "busy", retry_at: START_MS + 500 });

        for (const now of [START_MS, BACK]) {
          at.now = now;
          await store.inbox.recover(LEASE_MS);
          expect(await store.inbox.nextReadyAt()).toBe(START_MS + 500);
          expect(await store.inbox.claim("w", 2)).toEqual([]);
        }
      });
    });

    describe("setState", () => {
      const WAYS = [
        { way: ["model_round", "tool_round", "model_round", "tool_round"], ends: "tool_round" },
        { way: ["tool_round", "model_round", "reply_sent"], ends: "reply_sent" },
      ] as const;

      test.each(WAYS)("moves a task through $way", async ({ way, ends }) => {
        const { store } = await scratch();
        const lease = await begin(store);
        for (const state of way) await store.inbox.setState(lease, state);
        expect((await store.tasks.get(lease.task.task_id))?.task.state).toBe(ends);
      });

      test.each(["model_round", "tool_round", "reply_sent"] as const)(
        "accepts the current state %s again",
        async (state) => {
          const { store } = await scratch();
          const lease = await begin(store);
          await store.inbox.setState(lease, state);
          await store.inbox.setState(lease, state);
          expect((await store.tasks.get(lease.task.task_id))?.task.state).toBe(state);
        },
      );

      test("refuses a lost lease, even if the state would not change", async () => {
        const { store } = await scratch();
        const lease = await begin(store);
        await store.inbox.setState(lease, "model_round");
        await store.inbox.releaseWorker(lease.worker);
        await expect(store.inbox.setState(lease, "model_round")).rejects.toMatchObject({ code: "Fenced" });
      });

      test("throws on an invalid transition, and leaves the task unchanged", async () => {
        const { store } = await scratch();
        const lease = await begin(store);
        await store.inbox.setState(lease, "reply_sent");
        await expect(store.inbox.setState(lease, "tool_round")).rejects.toThrow(/from "reply_sent" to "tool_round"/);
        expect((await store.tasks.get(lease.task.task_id))?.task.state).toBe("reply_sent");
      });
    });

    describe("finish", () => {
      const error = "it broke";
      // oxfmt-ignore
      const ENDS: readonly { end: Finish; state: string; type: EventType; audit: readonly string[]; reply: string | null; said: readonly string[] }[] = [
        { end: { outcome: "done", reply: "here" },             state: "done",        type: "task.completed",     audit: ["ingress", "reply", "done"],   reply: "here",  said: ["a", "here"] },
        { end: { outcome: "failed", error, reply: "sorry" },   state: "failed",      type: "task.failed",        audit: ["ingress", "reply", "failed"], reply: "sorry", said: ["a", "sorry"] },
        { end: { outcome: "failed", error },                   state: "failed",      type: "task.failed",        audit: ["ingress", "failed"],          reply: null,    said: ["a"] },
        { end: { outcome: "dead", error, reply: "gave up" },   state: "dead_letter", type: "task.dead_lettered", audit: ["ingress", "reply", "failed"], reply: "gave up", said: ["a", "gave up"] },
        { end: { outcome: "cancelled", error: "by ada" },      state: "cancelled",   type: "task.cancelled",     audit: ["ingress", "failed"],          reply: null,    said: ["a"] },
        { end: { outcome: "retry", error, retry_at: START_MS }, state: "queued",     type: "task.retry_scheduled", audit: ["ingress", "failed"],        reply: null,    said: [] },
      ];

      test.each(ENDS)(
        "$end.outcome stores state, event, audit, reply and history",
        async ({ end, state, type, audit, reply, said }) => {
          const { store } = await scratch();
          const lease = await begin(store);
          await store.inbox.setState(lease, "model_round");

          await store.inbox.finish(lease, end);

          const details = await store.tasks.get(lease.task.task_id);
          expect(details).toMatchObject({ task: { state, error: "error" in end ? end.error : null }, reply });
          expect(details?.task.finished_at).toBe(end.outcome === "retry" ? null : START_MS);
          expect(details?.audit.map(({ phase }) => phase)).toEqual(audit);
          expect(await typesOf(store, lease)).toEqual(["task.queued", "task.started", type]);
          const replies = await store.outbox.pending({ limit: 10 });
          expect(replies.map(textOf)).toEqual(reply === null ? [] : [reply]);
          expect(await store.inbox.claim("w", 1)).toHaveLength(end.outcome === "retry" ? 1 : 0);
          const { task_id } = await store.inbox.ingest(message("next"));
          expect((await store.history.before(task_id, 10)).map(({ text }) => text)).toEqual(said);
        },
      );

      test("stores the given events before the task's own", async () => {
        const { store } = await scratch();
        const lease = await begin(store);
        await store.inbox.finish(lease, { outcome: "done", reply: "x", events: [draftFor(lease, "agent.completed")] });
        expect(await typesOf(store, lease)).toEqual([
          "task.queued",
          "task.started",
          "agent.completed",
          "task.completed",
        ]);
        expectChain(await allOf(store.journal(lease.task.run_id).read()));
      });

      test("stores nothing if a part of it cannot be stored", async () => {
        const { store } = await scratch();
        const lease = await begin(store);
        const foreign = { ...draftFor(lease, "agent.completed"), run_id: "run_other" };

        await expect(
          store.inbox.finish(lease, { outcome: "done", reply: "x", events: [draftFor(lease, "display"), foreign] }),
        ).rejects.toThrow(/run_other/);

        expect(await store.outbox.pending({ limit: 1 })).toEqual([]);
        expect(await typesOf(store, lease)).toEqual(["task.queued", "task.started"]);
        await store.inbox.finish(lease, { outcome: "done", reply: "x" });
      });

      test("also claims the next task, other chats first", async () => {
        const { at, store } = await scratch();
        for (const text of ["a1", "a2", "b1", "b2"]) {
          await store.inbox.ingest({ ...message(text), lane: text.slice(0, 1) });
          at.now++;
        }
        const order: string[] = [];
        let [lease] = await store.inbox.claim("w", 1);
        while (lease !== undefined) {
          at.now++;
          order.push(lease.task.text);
          ({ next: lease } = await store.inbox.finish(lease, { outcome: "done", reply: "x", take_next: true }));
        }
        expect(order).toEqual(["a1", "b1", "a2", "b2"]);
      });

      test("a retry stays at the head of its lane", async () => {
        const { at, store } = await scratch();
        const first = await begin(store, "first");
        await store.inbox.ingest(message("second"));

        const { next } = await store.inbox.finish(first, {
          outcome: "retry",
          error: "busy",
          retry_at: START_MS + 500,
          take_next: true,
        });
        expect(next).toBeUndefined();
        await store.inbox.ingest(message("third"));
        at.now = START_MS + 499;
        expect(await store.inbox.claim("w", 3)).toEqual([]);
        at.now = START_MS + 500;

        const order: string[] = [];
        let [lease] = await store.inbox.claim("w", 3);
        expect(lease).toMatchObject({ attempt: 2, resumed: false });
        while (lease !== undefined) {
          order.push(lease.task.text);
          ({ next: lease } = await store.inbox.finish(lease, { outcome: "done", reply: "x", take_next: true }));
        }
        expect(order).toEqual(["first", "second", "third"]);
      });
    });

    describe("a lost lease", () => {
      test("lets another worker resume the task, and refuses all writes of the previous one", async () => {
        const { at, store } = await scratch();
        const zombie = await begin(store);
        const other = await at.open();

        expect(await other.inbox.releaseWorker("w")).toBe(1);
        const [lease] = await other.inbox.claim("w2", 1);
        if (lease === undefined) throw new Error("the task was not freed");

        expect(lease).toMatchObject({ resumed: true, attempt: 1, task: { crashes: 1, task_id: zombie.task.task_id } });
        const fenced = { name: "StoreError", code: "Fenced" };
        await expect(store.inbox.finish(zombie, { outcome: "done", reply: "twice" })).rejects.toMatchObject(fenced);
        await expect(store.inbox.setState(zombie, "model_round")).rejects.toMatchObject(fenced);
        await expect(
          store.journal(zombie.task.run_id, zombie).append([draftFor(zombie, "display")]),
        ).rejects.toMatchObject(fenced);
        await other.inbox.finish(lease, { outcome: "done", reply: "once" });
        expect((await store.outbox.pending({ limit: 9 })).map(textOf)).toEqual(["once"]);
        expect(await typesOf(store, lease)).toEqual(["task.queued", "task.started", "task.resumed", "task.completed"]);
      });

      test("is refused even before another worker has claimed the lane", async () => {
        const { store } = await scratch();
        const lease = await begin(store);
        await store.inbox.releaseWorker("w");
        await expect(store.inbox.finish(lease, { outcome: "done", reply: "x" })).rejects.toThrow(
          /^Cannot finish task "task_\w+" \(done\): lease 1 on lane "chat" was lost; drop this work/,
        );
      });

      test("a finished task cannot be finished or written to again, even while its worker has the lane's next task", async () => {
        const { store } = await scratch();
        const lease = await begin(store);
        await store.inbox.ingest(message("next"));
        const { next } = await store.inbox.finish(lease, { outcome: "done", reply: "x", take_next: true });

        expect(next?.task.text).toBe("next");
        await expect(store.inbox.finish(lease, { outcome: "done", reply: "y" })).rejects.toMatchObject({
          code: "Fenced",
        });
        await expect(
          store.journal(lease.task.run_id, lease).append([draftFor(lease, "display")]),
        ).rejects.toMatchObject({ code: "Fenced" });
      });

      test("results from missing heartbeats, not from heartbeats in time", async () => {
        const { at, store } = await scratch();
        for (const lane of ["a", "b"]) await store.inbox.ingest({ ...message(lane), lane });
        const [quiet] = await store.inbox.claim("quiet", 1);
        const [alive] = await store.inbox.claim("alive", 1);
        if (quiet === undefined || alive === undefined) throw new Error("nothing to claim");

        at.now += 4000;
        expect(await store.inbox.heartbeat("alive", [alive])).toEqual({ lost: [], cancelled: [] });
        expect(await store.inbox.recover(5000)).toBe(0);
        at.now += 1001;
        expect(await store.inbox.recover(5000)).toBe(1);

        expect(await store.inbox.heartbeat("quiet", [quiet])).toEqual({ lost: [quiet], cancelled: [] });
        expect(await store.inbox.heartbeat("alive", [alive])).toEqual({ lost: [], cancelled: [] });
        expect((await store.inbox.claim("new", 9)).map(({ lane }) => lane)).toEqual(["a"]);
      });

      test("releases a lane that its worker does not know of, but not one whose claim may not have arrived yet", async () => {
        const { at, store } = await scratch();
        at.now++;
        await store.inbox.heartbeat("w", []);
        at.now++;
        await begin(store); // and the answer is lost

        at.now++;
        await store.inbox.heartbeat("w", []);
        expect(await store.inbox.claim("other", 1)).toEqual([]);
        at.now++;
        await store.inbox.heartbeat("w", []);
        expect(await store.inbox.claim("other", 1)).toMatchObject([{ resumed: true }]);
      });

      test("dead-letters a task after five times; the lane continues", async () => {
        const { store } = await scratch();
        const lease = await begin(store, "poison");
        await store.inbox.ingest(message("innocent"));
        for (let crash = 1; crash < 5; crash++) {
          await store.inbox.releaseWorker("w");
          expect(await store.inbox.claim("w", 1)).toMatchObject([
            { attempt: 1, resumed: true, task: { text: "poison", crashes: crash } },
          ]);
        }
        await store.inbox.releaseWorker("w");

        expect(await store.inbox.claim("w", 1)).toMatchObject([{ task: { text: "innocent" }, resumed: false }]);

        const given = await store.tasks.get(lease.task.task_id);
        expect(given).toMatchObject({
          task: { state: "dead_letter", crashes: 5, attempts: 1 },
          reply: expect.stringMatching(/lost 5 times/),
        });
        expect((await typesOf(store, lease)).at(-1)).toBe("task.dead_lettered");
        expect(await store.outbox.pending({ limit: 9 })).toHaveLength(1);
        expectChain(await allOf(store.journal(lease.task.run_id).read()));
      });
    });

    describe("journal", () => {
      test("keeps one chain when two connections append in turn", async () => {
        const { at, store } = await scratch();
        const lease = await begin(store);
        const other = await at.open();

        const appends = Array.from({ length: 60 }, (_, i) =>
          (i % 2 === 0 ? store : other)
            .journal(lease.task.run_id, lease)
            .append([draftFor(lease, "progress", { i }), draftFor(lease, "display", { i })]),
        );
        await Promise.all(appends);

        const events = await allOf(store.journal(lease.task.run_id).read());
        expect(events).toHaveLength(122);
        expectChain(events);
      });

      test("returns what it recorded, as it will be read", async () => {
        const { store } = await scratch();
        const journal = store.journal("run_1");
        const odd = {
          nothing: undefined,
          zero: -0,
          surrogate: "\ud800",
          nul: "\u0000",
          when: new Date(0),
          deep: { b: [1, { a: 2 }] },
        };

        const appended = await journal.append([draft("display", { payload: odd })]);

        const read = await allOf(journal.read());
        expect(read).toEqual(appended);
        expectChain(read);
        await journal.close();
      });

      test("reads from any event on, over many pages", async () => {
        const { store } = await scratch();
        const journal = store.journal("run_1");
        await journal.append(Array.from({ length: 1234 }, () => draft("progress")));
        for (const after of [0, 1, 499, 500, 501, 1000, 1233, 1234]) {
          const read = await allOf(journal.read(after));
          expect(read.map(({ seq }) => seq)).toEqual(Array.from({ length: 1234 - after }, (_, i) => after + 1 + i));
        }
      });

      test("records all of the events or none of them", async () => {
        const { store } = await scratch();
        const journal = store.journal("run_1");
        const nameless = draft("tool_call.started", { payload: { tool_name: "ls" } });
        await expect(journal.append([draft("display"), nameless])).rejects.toThrow(/tool_call_id/);
        expect(await allOf(journal.read())).toEqual([]);
        await journal.append([draft("display")]);
        expect(await allOf(journal.read())).toHaveLength(1);
      });
    });

    describe("tool calls", () => {
      const started = draft("tool_call.started", {
        payload: { tool_call_id: "call_1", tool_name: "ls", arguments: { path: "." } },
      });
      const completed = draft("tool_call.completed", {
        payload: { tool_call_id: "call_1", tool_name: "ls", latency_ms: 3 },
      });
      const failed = draft("tool_call.failed", {
        payload: { tool_call_id: "call_1", tool_name: "ls", error: "NotFound" },
      });
      const interrupted = { ...failed, payload: { ...failed.payload, error: { code: "Interrupted" } } };

      test("a call that has started and not ended has no result", async () => {
        const { store } = await scratch();
        await store.journal("run_1").append([started]);
        expect(await store.calls.result({ run_id: "run_1", tool_call_id: "call_1" })).toBeUndefined();
      });

      // oxfmt-ignore
      const ENDED = [
        { title: "a call that succeeded",     events: [started, completed], ok: true },
        { title: "a call that failed",        events: [started, failed],    ok: false },
        { title: "a call that never started", events: [failed],             ok: false },
        { title: "a call that ran again",     events: [started, started, completed], ok: true },
      ];

      test.each([completed, failed, interrupted])("a call that has ended is not started again: $type", async (end) => {
        const { store } = await scratch();
        const journal = store.journal("run_1");
        for (const event of [started, end]) await journal.append([event]);
        const again = journal.append([{ ...started, event_id: makeId("evt", START_MS) }]);
        await expect(again).rejects.toThrow(/has ended/);
        expect(await journal.callState?.("call_1")).toBe("ended");
      });

      test.each(ENDED)("$title returns its result", async ({ events, ok }) => {
        const { store } = await scratch();
        const journal = store.journal("run_1");
        for (const event of events)
          await journal.append([{ ...event, event_id: makeId("evt", START_MS) }], { result: resultOf(ok) });
        expect(await store.calls.result({ run_id: "run_1", tool_call_id: "call_1" })).toEqual(resultOf(ok));
      });

      test("the same id in another run is another call", async () => {
        const { store } = await scratch();
        await store.journal("run_1").append([started, completed], { result: resultOf(true) });
        expect(await store.calls.result({ run_id: "run_2", tool_call_id: "call_1" })).toBeUndefined();
      });

      test("a result is stored only for the call that it names", async () => {
        const { store } = await scratch();
        const other = draft("tool_call.completed", { payload: { tool_call_id: "call_2", tool_name: "ls" } });
        await store.journal("run_1").append([completed, other], { result: resultOf(true) });
        expect(await store.calls.result({ run_id: "run_1", tool_call_id: "call_2" })).toBeUndefined();
      });

      test("model rounds and calls are in the task's history", async () => {
        const { store } = await scratch();
        const lease = await begin(store);
        const about = { tool_call_id: "call_1", tool_name: "ls" };
        await store.journal(lease.task.run_id, lease).append([
          draftFor(lease, "model.completed"),
          draftFor(lease, "tool_call.started", about),
          draftFor(lease, "tool_call.failed", { ...about, error: "NotFound" }),
          draftFor(lease, "model.switched", {
            from: "a:x",
            to: "b:y",
            reason: "connection",
            message: "ECONNREFUSED",
          }),
          draftFor(lease, "model.failed", { code: "ModelFailed", message: "overloaded" }),
        ]);
        const details = await store.tasks.get(lease.task.task_id);
        expect(details?.audit.slice(1).map(({ phase, message: text }) => `${phase}: ${text}`)).toEqual([
          "model: the model answered",
          "tool: ls failed: NotFound",
          "model: Falling back to b:y: a:x cannot be reached (ECONNREFUSED)",
          "model: the model did not answer: overloaded",
        ]);
      });
    });

    describe("outbox", () => {
      async function answer(store: Store, lane: string, reply: string): Promise<Lease> {
        await store.inbox.ingest({ source: lane.startsWith("t") ? "telegram" : "console", lane, text: "?" });
        const [lease] = await store.inbox.claim("w", 1);
        if (lease === undefined) throw new Error("nothing to claim");
        await store.inbox.finish(lease, { outcome: "done", reply });
        return lease;
      }

      test("keeps the order of each chat, and no chat waits for all messages of another", async () => {
        const { store } = await scratch();
        for (const reply of ["t1 a", "t1 b", "t1 c", "c2 a", "t3 a", "c2 b"])
          await answer(store, reply.slice(0, 2), reply);

        const bodies = async (options: { limit: number; channel?: string }): Promise<string[]> =>
          (await store.outbox.pending(options)).map(textOf);

        expect(await bodies({ limit: 10 })).toEqual(["t1 a", "c2 a", "t3 a", "t1 b", "c2 b", "t1 c"]);
        expect(await bodies({ limit: 2 })).toEqual(["t1 a", "c2 a"]);
        expect(await bodies({ limit: 10, channel: "console" })).toEqual(["c2 a", "c2 b"]);
      });

      test("a reply that was sent is recorded once, in the run's chain", async () => {
        const { at, store } = await scratch();
        const lease = await answer(store, "t1", "hello");
        const [row] = await store.outbox.pending({ limit: 1 });
        at.now++;

        for (let i = 0; i < 3; i++) await store.outbox.markSent(row?.id ?? 0);

        expect(await store.outbox.pending({ limit: 1 })).toEqual([]);
        const events = await allOf(store.journal(lease.task.run_id).read());
        expect(events.map(({ type }) => type)).toEqual(["task.queued", "task.started", "task.completed", "reply.sent"]);
        expect(events.at(-1)?.payload).toEqual({ channel: "telegram", text: "hello" });
        expectChain(events);
        const details = await store.tasks.get(lease.task.task_id);
        expect(details?.reply).toBe("hello");
        expect(details?.audit.at(-1)).toEqual({
          phase: "reply",
          message: "sent by telegram",
          created_at: START_MS + 1,
        });
      });
    });

    describe("views", () => {
      test("tasks are listed newest first, by page and by state", async () => {
        const { store } = await scratch();
        for (let i = 1; i <= 5; i++) await store.inbox.ingest({ ...message(`${i}`), lane: `${i % 2}` });
        const [lease] = await store.inbox.claim("w", 1);
        if (lease !== undefined) await store.inbox.finish(lease, { outcome: "done", reply: "x" });

        const first = await store.tasks.list({ limit: 3 });
        const second = await store.tasks.list({ limit: 3, after: first.next ?? 0 });

        expect(first.tasks.map(({ text }) => text)).toEqual(["5", "4", "3"]);
        expect(second).toMatchObject({ tasks: [{ text: "2" }, { text: "1" }], next: null });
        expect((await store.tasks.list({ state: "done", limit: 9 })).tasks.map(({ task_id }) => task_id)).toEqual([
          lease?.task.task_id,
        ]);
        expect((await store.tasks.list({ state: "queued", limit: 4 })).next).toBeNull();
        expect(await store.tasks.get("task_none")).toBeUndefined();
      });

      test("events can be followed over all runs, by run and by task", async () => {
        const { store } = await scratch();
        const one = await store.inbox.ingest({ ...message("1"), lane: "1" });
        const two = await store.inbox.ingest({ ...message("2"), lane: "2" });
        await store.inbox.claim("w", 2);

        const all = await store.events.read({ limit: 10 });
        expect(all.map(({ event }) => `${event.type} ${event.run_id}`)).toEqual([
          `task.queued ${one.run_id}`,
          `task.queued ${two.run_id}`,
          `task.started ${one.run_id}`,
          `task.started ${two.run_id}`,
        ]);
        expect(await store.events.read({ limit: 10, after: all[1]?.position ?? 0 })).toEqual(all.slice(2));
        expect(await store.events.read({ limit: 1, run_id: two.run_id })).toEqual([all[1]]);
        expect(await store.events.read({ limit: 9, task_id: one.task_id })).toEqual([all[0], all[2]]);
        expect(await store.events.last({ limit: 3 })).toEqual(all.slice(1));
        expect(await store.events.last({ limit: 1, task_id: one.task_id })).toEqual([all[2]]);
        expect(await store.events.read({ limit: 9, after: all.at(-1)?.position ?? 0 })).toEqual([]);
      });

      test("history returns the last messages of a chat before a task, oldest first", async () => {
        const { store } = await scratch();
        for (const text of ["one", "two", "three"]) {
          const lease = await begin(store, text);
          await store.inbox.finish(lease, { outcome: "done", reply: `${text}!` });
        }
        await store.inbox.ingest({ ...message("elsewhere"), lane: "other" });
        const last = await begin(store, "four");
        await store.inbox.finish(last, { outcome: "done", reply: "four!" });
        const asLines = (rows: readonly HistoryRow[]): string[] => rows.map(({ role, text }) => `${role}: ${text}`);
        const before = await store.history.before(last.task.task_id, 4);
        expect(asLines(before)).toEqual(["user: two", "assistant: two!", "user: three", "assistant: three!"]);
        const next = await store.inbox.ingest(message("five"));
        const all = await store.history.before(next.task_id, 3);
        expect(asLines(all)).toEqual(["assistant: three!", "user: four", "assistant: four!"]);
        expect(await store.history.before("none", 3)).toEqual([]);
      });

      test("values are stored by key, for every connection", async () => {
        const { at, store } = await scratch();
        await store.kv.set("offset", "1");
        await store.kv.set("offset", "2");
        const other = await at.open();
        expect(await other.kv.get("offset")).toBe("2");
        expect(await other.kv.get("nothing")).toBeUndefined();
      });
    });
  });
}

function textOf({ content }: OutboxRow): string {
  return content.kind === "text" ? content.text : content.kind;
}

function message(text: string): { source: string; lane: string; text: string } {
  return { source: "test", lane: "chat", text };
}

async function begin(store: Store, text = "a"): Promise<Lease> {
  await store.inbox.ingest(message(text));
  const [lease] = await store.inbox.claim("w", 1);
  if (lease === undefined) throw new Error("nothing to claim");
  return lease;
}

function draft(type: EventType, more: Partial<EventDraft> = {}): EventDraft {
  const ts = new Date(START_MS).toISOString();
  return {
    event_id: makeId("evt", START_MS),
    ts,
    type,
    trace_id: "t",
    task_id: null,
    run_id: "run_1",
    parent_id: null,
    payload: {},
    ...more,
  };
}

function draftFor(
  { task: { task_id, run_id, trace_id } }: Lease,
  type: EventType,
  payload: EventDraft["payload"] = {},
): EventDraft {
  return draft(type, { task_id, run_id, trace_id, payload });
}

function resultOf(ok: boolean): ToolCallResult {
  const error = ok ? null : { code: "NotFound" as const, class: "tool_exec" as const, message: "no" };
  return {
    tool_call_id: "call_1",
    ok,
    payload: null,
    error,
    artifacts: { files_changed: [], commands_run: [] },
    duration_ms: 3,
    redacted: false,
  };
}

async function allOf<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  return await Array.fromAsync(items);
}

async function typesOf(store: Store, lease: Lease | undefined): Promise<string[]> {
  const events = await allOf(store.journal(lease?.task.run_id ?? "").read());
  return events.map(({ type }) => type);
}

/** Chaining the events again gives the same hashes. */
function expectChain(events: readonly RuntimeEvent[]): void {
  const drafts = events.map((event) => {
    const { hash: _, ...bare } = event;
    return bare;
  });
  expect(chainEvents(drafts, EMPTY_TAIL).map(({ event }) => event)).toEqual(events);
}
