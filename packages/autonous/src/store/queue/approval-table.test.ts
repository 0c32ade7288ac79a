import { makeId } from "@autonous/runtime/internal";
import type { ApprovalRequest } from "@autonous/runtime";
import type { ApprovalState, Grant } from "@autonous/runtime/internal";
import { describe, expect, onTestFinished, test } from "vitest";
import { ScratchStore, START_MS, STORE_KINDS } from "../../../../../test/support/store-places.ts";
import type { Lease, Store } from "../store.ts";

async function begin(store: Store, lane = "chat"): Promise<Lease> {
  await store.inbox.ingest({ source: "test", lane, text: "a" });
  const [lease] = await store.inbox.claim("w", 1);
  if (lease === undefined) throw new Error("nothing to claim");
  return lease;
}

function request(more: Partial<ApprovalRequest> = {}): ApprovalRequest {
  return {
    approval_id: makeId("apr", START_MS),
    tool_call_id: "call_1",
    run_id: "run_1",
    trace_id: "trace",
    task_id: null,
    chat: null,
    user: null,
    tool: "delete_file",
    version: "1.0.0",
    risk: "high",
    reason: "It deletes",
    rule: "profile:guarded:delete",
    params: { path: "a.txt" },
    touches: [{ path: "a.txt", access: "delete" }],
    scope: "call",
    offers: [],
    digest: "d1",
    call_digest: "c1",
    policy_version: "p1",
    requested_at: new Date(START_MS).toISOString(),
    expires_at: new Date(START_MS + 60_000).toISOString(),
    replay: "",
    ...more,
  };
}

describe.each(STORE_KINDS)("approvals on $name", (kind) => {
  async function scratch(): Promise<{ readonly at: ScratchStore; readonly store: Store }> {
    const at = new ScratchStore(kind);
    onTestFinished(() => at.close());
    return { at, store: await at.open() };
  }

  describe("a request", () => {
    test("that is pending is reused by the same call under another id, only in its run, also by several at once", async () => {
      const { store, at } = await scratch();
      const other = await at.open();
      const { approval_id } = (await store.approvals.open(request())).request;
      const again = await Promise.all(
        [store, other, store].map(({ approvals }, i) => approvals.open(request({ tool_call_id: `call_${i + 2}` }))),
      );
      expect(again.map((each) => each.request.approval_id)).toEqual([approval_id, approval_id, approval_id]);
      expect(await store.approvals.list()).toHaveLength(1);

      const elsewhere = await store.approvals.open(request({ run_id: "run_2", tool_call_id: "call_9" }));
      expect(elsewhere.request.approval_id).not.toBe(approval_id);
      const any = { run_id: "run_3", tool_call_id: "call_10" };
      expect((await store.approvals.open(request(any), { shared: "any" })).request.approval_id).toBe(approval_id);
      expect((await store.approvals.open(request(any), { shared: "none" })).request.run_id).toBe("run_3");

      await store.approvals.answer(approval_id, { answer: "deny" });
      const fresh = await store.approvals.open(request({ tool_call_id: "call_5" }));
      expect([fresh.state, fresh.request.tool_call_id]).toEqual(["pending", "call_5"]);
      at.now += 60_001;
      const late = await store.approvals.open(request({ tool_call_id: "call_6" }));
      expect(late.request.tool_call_id).toBe("call_6");
    });

    test("is pending until the first answer, which wins; the second one gets that answer", async () => {
      const { store, at } = await scratch();
      const other = await at.open();
      const { approval_id } = (await store.approvals.open(request())).request;

      const answers = await Promise.all([
        store.approvals.answer(approval_id, { answer: "grant", by: "ada" }),
        other.approvals.answer(approval_id, { answer: "deny", by: "bob" }),
      ]);

      const states = answers.map((answer) => answer?.approval.state);
      expect(answers.filter((answer) => answer?.won)).toHaveLength(1);
      expect(new Set(states).size).toBe(1);
      expect(await store.approvals.get(approval_id)).toMatchObject({ state: states[0] });
    });

    test("made again by the same call returns the existing one, answered or not", async () => {
      const { store } = await scratch();
      const { request: first } = await store.approvals.open(request());
      await store.approvals.answer(first.approval_id, { answer: "deny", reason: "not today" });
      const again = await store.approvals.open(request());
      expect(again).toMatchObject({ request: first, state: "denied", answer: { reason: "not today" } });
    });

    test("of the same call with other arguments withdraws the previous one", async () => {
      const { store } = await scratch();
      const { request: first } = await store.approvals.open(request());
      await store.approvals.answer(first.approval_id, { answer: "grant" });
      expect(await store.approvals.open(request({ digest: "d2" }))).toMatchObject({ state: "pending" });
      expect(await store.approvals.get(first.approval_id)).toMatchObject({ state: "withdrawn" });
      expect(await store.approvals.findGranted("d1")).toBeUndefined();
    });

    test("that was granted is used once, by one caller", async () => {
      const { store, at } = await scratch();
      const other = await at.open();
      const { approval_id } = (await store.approvals.open(request())).request;
      expect(await store.approvals.use(approval_id)).toBe(false);
      await store.approvals.answer(approval_id, { answer: "grant" });
      expect(await store.approvals.findGranted("d1")).toMatchObject({ state: "granted" });
      const uses = await Promise.all([store.approvals.use(approval_id), other.approvals.use(approval_id)]);
      expect(uses.filter(Boolean)).toHaveLength(1);
      expect(await store.approvals.findGranted("d1")).toBeUndefined();
    });

    test("that has expired can no longer be granted", async () => {
      const { store, at } = await scratch();
      const { approval_id } = (await store.approvals.open(request())).request;
      at.now += 60_000;
      expect(await store.approvals.answer(approval_id, { answer: "grant" })).toMatchObject({
        won: false,
        approval: { state: "expired" },
      });
    });

    test("that does not exist can be neither answered nor used", async () => {
      const { store } = await scratch();
      expect(await store.approvals.answer("apr_none", { answer: "grant" })).toBeUndefined();
      expect(await store.approvals.use("apr_none")).toBe(false);
      expect(await store.approvals.get("apr_none")).toBeUndefined();
    });

    test("is waited for until it is answered or the signal is aborted", async () => {
      const { store } = await scratch();
      const { approval_id } = (await store.approvals.open(request())).request;
      const waiting = store.approvals.wait(approval_id, new AbortController().signal);
      await store.approvals.answer(approval_id, { answer: "grant" });
      expect(await waiting).toMatchObject({ state: "granted" });

      const { approval_id: other } = (await store.approvals.open(request({ tool_call_id: "call_2" }))).request;
      const stop = new AbortController();
      const given = expect(store.approvals.wait(other, stop.signal)).rejects.toThrow("enough");
      stop.abort(new Error("enough"));
      await given;
    });

    test("is listed by its state, oldest first", async () => {
      const { store } = await scratch();
      const ids: string[] = [];
      for (const tool_call_id of ["call_1", "call_2", "call_3"]) {
        ids.push(
          (
            await store.approvals.open(
              request({ tool_call_id, digest: tool_call_id, approval_id: makeId("apr", START_MS) }),
            )
          ).request.approval_id,
        );
      }
      await store.approvals.answer(ids[1] ?? "", { answer: "deny" });
      const listed = async (state?: ApprovalState) =>
        (await store.approvals.list(state === undefined ? {} : { state })).map((each) => each.request.approval_id);
      expect(await listed()).toEqual(ids);
      expect(await listed("pending")).toEqual([ids[0], ids[2]]);
      expect(await listed("denied")).toEqual([ids[1]]);
    });
  });

  describe("a task that waits for an approval", () => {
    async function park(store: Store, lease: Lease, more: Partial<ApprovalRequest> = {}): Promise<string> {
      const { run_id } = lease.task;
      const { approval_id } = (await store.approvals.open(request({ run_id, ...more }))).request;
      await store.inbox.setState(lease, "tool_round");
      await store.inbox.finish(lease, { outcome: "parked" });
      return approval_id;
    }

    test("releases its slot, keeps its lane, and delays no other lane", async () => {
      const { store } = await scratch();
      const lease = await begin(store);
      await park(store, lease);
      await store.inbox.ingest({ source: "test", lane: "chat", text: "behind it" });
      await store.inbox.ingest({ source: "test", lane: "other", text: "elsewhere" });

      const claimed = await store.inbox.claim("w", 10);
      expect(claimed.map(({ task }) => task.text)).toEqual(["elsewhere"]);
      expect((await store.tasks.get(lease.task.task_id))?.task.state).toBe("waiting_approval");
    });

    test.each(["grant", "deny"] as const)("continues after the answer %s, as the same attempt", async (answer) => {
      const { store } = await scratch();
      const lease = await begin(store);
      const approval_id = await park(store, lease);
      await store.approvals.answer(approval_id, { answer });
      const [again] = await store.inbox.claim("w2", 1);
      expect(again).toMatchObject({ attempt: 1, resumed: true, task: { task_id: lease.task.task_id, crashes: 0 } });
    });

    test("waits for all of its approvals", async () => {
      const { store } = await scratch();
      const lease = await begin(store);
      const { run_id } = lease.task;
      const first = (await store.approvals.open(request({ run_id, tool_call_id: "call_0", digest: "d0" }))).request
        .approval_id;
      const second = await park(store, lease, { approval_id: makeId("apr", START_MS + 1) });
      await store.approvals.answer(second, { answer: "grant" });
      expect(await store.inbox.claim("w", 1)).toEqual([]);
      await store.approvals.answer(first, { answer: "grant" });
      expect(await store.inbox.claim("w", 1)).toHaveLength(1);
    });

    test("is ready at once if the answer came before it was parked", async () => {
      const { store } = await scratch();
      const lease = await begin(store);
      const { approval_id } = (await store.approvals.open(request({ run_id: lease.task.run_id }))).request;
      await store.approvals.answer(approval_id, { answer: "grant" });
      await store.inbox.finish(lease, { outcome: "parked" });
      expect(await store.inbox.claim("w", 1)).toHaveLength(1);
    });

    test("continues when the approval expires", async () => {
      const { store, at } = await scratch();
      const lease = await begin(store);
      const approval_id = await park(store, lease);
      at.now += 59_999;
      expect(await store.inbox.recover(1e9)).toBe(0);
      at.now += 1;
      expect(await store.inbox.recover(1e9)).toBe(1);
      expect(await store.approvals.get(approval_id)).toMatchObject({ state: "expired" });
      expect(await store.inbox.claim("w", 1)).toHaveLength(1);
    });

    test("still waits after a restart", async () => {
      const { store, at } = await scratch();
      const lease = await begin(store);
      const approval_id = await park(store, lease);
      const restarted = await at.open();
      await restarted.inbox.recover(Number.NEGATIVE_INFINITY);
      expect(await restarted.inbox.claim("w2", 1)).toEqual([]);
      await restarted.approvals.answer(approval_id, { answer: "grant" });
      expect(await restarted.inbox.claim("w2", 1)).toHaveLength(1);
    });

    test("records which approvals it waits for", async () => {
      const { store } = await scratch();
      const lease = await begin(store);
      const approval_id = await park(store, lease);
      const events = await store.events.read({ run_id: lease.task.run_id, limit: 10 });
      expect(events.at(-1)?.event).toMatchObject({
        type: "task.waiting_approval",
        payload: { approval_ids: [approval_id] },
      });
    });
  });

  describe("the start of a call", () => {
    test("uses its approval and charges its quota in one commit, or nothing is recorded", async () => {
      const { store } = await scratch();
      const lease = await begin(store);
      const { run_id, trace_id } = lease.task;
      const { approval_id } = (await store.approvals.open(request({ run_id }))).request;
      await store.approvals.answer(approval_id, { answer: "grant" });
      const journal = store.journal(run_id, lease);
      const start = () =>
        journal.append(
          [
            {
              event_id: makeId("evt", START_MS),
              ts: new Date(START_MS).toISOString(),
              type: "tool_call.started",
              trace_id,
              task_id: null,
              run_id,
              parent_id: null,
              payload: { tool_call_id: "call_1", tool_name: "delete_file" },
            },
          ],
          { commit: { approval_id, quota: { holder: { run_id, chat: "chat" }, counts: { calls: 1 } } } },
        );

      await start();
      await expect(start()).rejects.toMatchObject({ code: "ApprovalExpired" });

      expect(await store.approvals.get(approval_id)).toMatchObject({ state: "used" });
      expect((await store.quotas.used({ per: "chat", id: "chat" }, 0)).counts.calls).toBe(1);
      const types = (await store.events.read({ run_id, limit: 10 })).map(({ event }) => event.type);
      expect(types.filter((type) => type === "tool_call.started")).toHaveLength(1);
    });
  });

  describe("grants", () => {
    const grant = (more: Partial<Grant>): Grant => ({
      grant_id: makeId("grant", START_MS),
      scope: "run",
      run_id: "run_1",
      session: "chat_1",
      pattern: { kind: "tool", tool: "deploy" },
      words: "any deploy in this run",
      approval_id: "apr_1",
      by: "ada",
      via: "http",
      granted_at: new Date(START_MS).toISOString(),
      ...more,
    });

    test("count for their run or session, until they are revoked", async () => {
      const { store } = await scratch();
      const ofRun = grant({});
      const ofSession = grant({ scope: "session", run_id: "run_0" });
      await store.approvals.addGrant(ofRun);
      await store.approvals.addGrant(ofSession);
      await store.approvals.addGrant(grant({ run_id: "run_2", session: "chat_2" }));

      const mine = { run_id: "run_1", session: "chat_1" };
      expect(await store.approvals.grants(mine)).toEqual([ofRun, ofSession]);
      expect(await store.approvals.grants({ run_id: "run_3", session: "chat_1" })).toEqual([ofSession]);
      expect(await store.approvals.grants()).toHaveLength(3);
      expect(await store.approvals.revoke(ofRun.grant_id)).toBe(true);
      expect(await store.approvals.revoke(ofRun.grant_id)).toBe(false);
      expect(await store.approvals.grants(mine)).toEqual([ofSession]);
    });
  });

  describe("quotas", () => {
    test("add up what a run, chat and user have used since a time", async () => {
      const { store } = await scratch();
      const holder = { run_id: "run_1", chat: "chat_1", user: "ada" };
      await store.quotas.add(holder, { calls: 1, executions: 1 }, START_MS);
      await store.quotas.add({ run_id: "run_2", user: "ada" }, { tokens: 50, bytes_written: 7 }, START_MS + 20_000);

      expect(await store.quotas.used({ per: "user", id: "ada" }, 0)).toEqual({
        counts: { calls: 1, executions: 1, tokens: 50, bytes_written: 7 },
        oldest_ms: START_MS,
      });
      expect((await store.quotas.used({ per: "user", id: "ada" }, START_MS)).counts.calls).toBe(0);
      expect((await store.quotas.used({ per: "chat", id: "chat_1" }, 0)).counts.tokens).toBe(0);
      expect(await store.quotas.used({ per: "run", id: "run_9" }, 0)).toMatchObject({ oldest_ms: null });
    });
  });

  test("a used approval is not reused, and an approval with other arguments does not apply to this call", async () => {
    const { store } = await scratch();
    const { approval_id } = (await store.approvals.open(request())).request;
    await store.approvals.answer(approval_id, { answer: "grant", args: { path: "b.txt" } });
    expect(await store.approvals.findGranted("d1")).toBeUndefined();
    expect(await store.approvals.use(approval_id)).toBe(true);
    const again = await store.approvals.open(request({ approval_id: makeId("apr", START_MS + 1) }));
    expect(again).toMatchObject({ state: "pending" });
    expect(again.request.approval_id).not.toBe(approval_id);
  });
});
