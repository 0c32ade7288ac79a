import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, ToolError } from "@autonous/runtime";
import { expect, onTestFinished, test } from "vitest";
import { modelFailed } from "../model/failure.ts";
import type { FailureReason } from "../model/failure.ts";
import { openStore } from "../store/open-store.ts";
import type { Finish } from "../store/store.ts";
import { runTask } from "./run-task.ts";

/** How a task is finished whose model fails in this way. */
async function finishAfter(failure: Error): Promise<Finish> {
  const folder = mkdtempSync(join(tmpdir(), "autonous-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const store = await openStore({ file: join(folder, "state", "autonous.db"), clock: Date.now });
  onTestFinished(() => store.close());
  await store.inbox.ingest({ source: "test", lane: "chat", text: "hello" });
  const [lease] = await store.inbox.claim("w", 1);
  if (lease === undefined) throw new Error("nothing to claim");
  return await runTask(lease, new AbortController().signal, {
    store,
    openRuntime: ({ task: { run_id } }) =>
      createRuntime({
        roots: [folder],
        state_dir: join(folder, "state"),
        run_id,
        openJournal: () => Promise.resolve(store.journal(run_id, lease)),
      }),
    provider: { name: "failing", complete: () => Promise.reject(failure) },
    limits: { max_turns: 3, max_attempts: 3, retry_base_ms: 10 },
    clock: Date.now,
  });
}

// oxfmt-ignore
const REASONS: readonly (readonly [FailureReason, Finish["outcome"]])[] = [
  ["server_error", "retry"],
  ["connection",   "retry"],
  ["rate_limited", "retry"],
  ["breaker_open", "retry"],
  ["key_refused",  "failed"],
  ["quota",        "failed"],
  ["not_found",    "failed"],
  ["bad_request",  "failed"],
];

test.each(REASONS)("a task whose model fails by %s is to %s", async (reason, outcome) => {
  const finish = await finishAfter(modelFailed("it said no", { reason, attempts: 1 }));
  expect(finish).toMatchObject({ outcome, error: expect.stringContaining("it said no") as string });
});

test("a failure that nobody explains is tried again", async () => {
  expect(await finishAfter(new ToolError("ModelFailed", "who knows"))).toMatchObject({ outcome: "retry" });
});
