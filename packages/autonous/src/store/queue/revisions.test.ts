import { describe, expect, onTestFinished, test } from "vitest";
import { ScratchStore, START_MS, STORE_KINDS } from "../../../../../test/support/store-places.ts";
import type { Message, Store } from "../store.ts";

const HOUR = 3_600_000;

for (const kind of STORE_KINDS) {
  async function scratch(): Promise<{ readonly at: ScratchStore; readonly store: Store }> {
    const at = new ScratchStore(kind);
    onTestFinished(() => at.close());
    return { at, store: await at.open() };
  }

  async function put(store: Store, message: Partial<Message> = {}): Promise<string> {
    const { task_id } = await store.inbox.ingest({ source: "telegram", lane: "a", text: "look", ...message });
    return task_id;
  }

  describe(`tasks that are added to, on ${kind.name}`, () => {
    test("a part is added once, and counts as an accepted message", async () => {
      const { store } = await scratch();
      const task_id = await put(store, { external_id: "1", run_at: START_MS + HOUR });
      const revision = { text: "look here", files: "[]", origin: "{}", part: "2" };
      expect(await store.revisions.revise(task_id, revision)).toBe("revised");
      expect(await store.revisions.revise(task_id, { text: "twice", part: "2" })).toBe("known");
      expect(await store.revisions.revise(task_id, { text: "itself", part: "1" })).toBe("known");
      expect(await store.inbox.ingest({ source: "telegram", external_id: "2", lane: "a", text: "x" })).toMatchObject({
        task_id,
        duplicate: true,
      });
      const { tasks } = await store.tasks.list({ limit: 9 });
      expect(tasks).toMatchObject([{ text: "look here", files: "[]", origin: "{}", run_at: START_MS + HOUR }]);
    });

    test("tasks behind a held task wait too, and all continue when it is released", async () => {
      const { store } = await scratch();
      const first = await put(store, { run_at: START_MS + HOUR, files: "[]" });
      await put(store, { text: "second" });
      await put(store, { lane: "b", text: "other" });
      expect(await store.inbox.claim("w", 9)).toMatchObject([{ task: { text: "other" } }]);
      expect(await store.revisions.withFiles("telegram")).toMatchObject([{ task_id: first }]);
      await store.revisions.revise(first, { run_at: "now" });
      expect(await store.inbox.claim("w", 9)).toMatchObject([{ task: { task_id: first } }]);
    });

    test("a released task does not overtake earlier tasks of its chat", async () => {
      const { store } = await scratch();
      await put(store, { text: "first", run_at: START_MS + HOUR });
      const second = await put(store, { text: "second", run_at: START_MS + HOUR });
      await store.revisions.revise(second, { run_at: "now" });
      expect(await store.inbox.claim("w", 9)).toEqual([]);
    });

    test("a task that has started, has ended or is being stopped is not changed", async () => {
      const { store } = await scratch();
      const begun = await put(store);
      await store.inbox.claim("w", 1);
      const over = await put(store, { lane: "b" });
      await store.tasks.cancel(over, "ada");
      for (const task_id of [begun, over, "task_unknown"])
        expect(await store.revisions.revise(task_id, { text: "other", part: "7" })).toBe("begun");
      const { tasks } = await store.tasks.list({ limit: 9 });
      expect(tasks.map(({ text }) => text)).toEqual(["look", "look"]);
      expect((await store.inbox.ingest({ source: "telegram", external_id: "7", lane: "c", text: "" })).duplicate).toBe(
        false,
      );
    });

    test("a worker records the outcome of the files; the history contains it, and a notice is sent once", async () => {
      const { store } = await scratch();
      await put(store, { files: "[1]" });
      const [lease] = await store.inbox.claim("w", 1);
      if (lease === undefined) throw new Error("No task was claimed");
      const received = { text: "look at inbox/a.txt", files: "[2]", notice: "One was not taken" };
      await store.revisions.receive(lease, received);
      await store.revisions.receive(lease, received);
      await store.inbox.finish(lease, { outcome: "done", reply: "done" });
      const sent = await store.outbox.pending({ limit: 9 });
      expect(sent.map(({ content }) => content)).toEqual([
        { kind: "display", level: "warning", content: "One was not taken" },
        { kind: "text", text: "done" },
      ]);
      const next = await put(store, { text: "next" });
      expect((await store.history.before(next, 9)).map(({ text }) => text)).toEqual(["look at inbox/a.txt", "done"]);
      await expect(store.revisions.receive(lease, received)).rejects.toThrow(/lease 1 on lane "a" was lost/);
    });
  });
}
