import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime } from "@autonous/runtime";
import { makeId } from "@autonous/runtime/internal";
import { expect, onTestFinished, test } from "vitest";
import { openStore } from "../store/open-store.ts";
import type { Finish, Lease, Store } from "../store/store.ts";
import { digestOfUndo, undoChanges } from "./undo-task.ts";

interface World {
  readonly store: Store;
  readonly changed: string;
  /** The task that undoes it. */
  readonly lease: Lease;
  /** Undoes the change by other means. */
  undoElsewhere(): Promise<void>;
  /** Leaves a call with this id started but not ended, like a killed worker. */
  leaveOpen(tool_call_id: string): Promise<void>;
  undo(): Promise<Finish>;
}

async function makeWorld(): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), "autonous-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [root, state_dir] = [join(folder, "root"), join(folder, "state")];
  mkdirSync(root);
  const place = { roots: [root], state_dir };
  const runtime = await createRuntime(place);
  onTestFinished(() => runtime.close());
  const { run_id } = runtime;
  await runtime.call({ name: "write", args: { path: "b.txt", content: "new\n" } });
  const digest = digestOfUndo(run_id, await runtime.changes({ run_id, undone: true }));
  const store = await openStore({ file: join(state_dir, "autonous.db"), clock: Date.now });
  onTestFinished(() => store.close());
  await store.inbox.ingest({ source: "test", lane: "chat", text: "undo", undoes: { run_id, digest } });
  const [lease] = await store.inbox.claim("w", 1);
  if (lease === undefined) throw new Error("nothing to claim");
  const journal = store.journal(lease.task.run_id, lease);
  return {
    store,
    changed: join(root, "b.txt"),
    lease,
    undoElsewhere: async () => void (await runtime.undo(run_id)),
    async leaveOpen(tool_call_id) {
      const { task_id, trace_id, run_id: own } = lease.task;
      await journal.append([
        {
          event_id: makeId("evt", Date.now()),
          ts: new Date().toISOString(),
          type: "tool_call.started",
          trace_id,
          task_id,
          run_id: own,
          parent_id: null,
          payload: { tool_call_id, tool_name: "undo", version: "1.0.0", arguments: {}, actor: null },
        },
      ]);
    },
    undo: () =>
      undoChanges(lease, {
        store,
        openRuntime: () =>
          createRuntime({ ...place, run_id: lease.task.run_id, openJournal: () => Promise.resolve(journal) }),
        signal: new AbortController().signal,
      }),
  };
}

test("the changes of a run are undone, once", async () => {
  const { changed, undo } = await makeWorld();
  expect(await undo()).toMatchObject({
    outcome: "done",
    reply: expect.stringMatching(/^Undone\.\n.*b\.txt/) as string,
  });
  expect(existsSync(changed)).toBe(false);
  expect(await undo(), "after a crash").toMatchObject({ outcome: "done" });
});

test("a call that a killed worker left is repeated, however often that happens", async () => {
  const { changed, undo, leaveOpen } = await makeWorld();
  await leaveOpen("call_undo_0");
  await leaveOpen("call_undo_0_2");
  expect(await undo()).toMatchObject({ outcome: "done" });
  expect(existsSync(changed)).toBe(false);
});

test("an undo that was complete but not recorded when its worker was killed counts as done", async () => {
  const { changed, undo, leaveOpen, undoElsewhere } = await makeWorld();
  await leaveOpen("call_undo_0");
  await undoElsewhere();
  expect(await undo()).toEqual({ outcome: "done", reply: "Undone." });
  expect(existsSync(changed)).toBe(false);
});

test("files that have changed since the preview are left alone", async () => {
  const { undo, undoElsewhere } = await makeWorld();
  await undoElsewhere();
  expect(await undo()).toMatchObject({
    outcome: "failed",
    reply: expect.stringContaining("Send /undo again") as string,
  });
});
