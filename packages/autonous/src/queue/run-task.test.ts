import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createRuntime, ToolError } from "@autonous/runtime";
import type { Journal } from "@autonous/runtime/internal";
import { expect, onTestFinished, test } from "vitest";
import { modelFailed } from "../model/failures/model-failure.ts";
import type { FailureReason } from "../model/failures/model-failure.ts";
import type { Message, ModelProvider } from "../model/provider.ts";
import { openStore } from "../store/open-store.ts";
import type { Finish, Lease, Store } from "../store/store.ts";
import { runTask } from "./run-task.ts";

interface World {
  readonly store: Store;
  /** The store's. */
  readonly file: string;
  /** Queues this message and claims its task. */
  begin(text: string): Promise<Lease>;
  /** Runs the leased task and returns how to finish it. */
  run(lease: Lease, provider: ModelProvider): Promise<Finish>;
  /** Both. */
  ask(text: string, provider: ModelProvider): Promise<{ readonly lease: Lease; readonly finish: Finish }>;
}

async function makeWorld(): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), "autonous-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const root = join(folder, "root");
  const state_dir = join(folder, "state");
  mkdirSync(root);
  const file = join(state_dir, "autonous.db");
  const store = await openStore({ file, clock: Date.now, busyMs: 200 });
  onTestFinished(() => store.close());
  const begin = async (text: string): Promise<Lease> => {
    await store.inbox.ingest({ source: "test", lane: "chat", text });
    const [lease] = await store.inbox.claim("w", 1);
    if (lease === undefined) throw new Error("nothing to claim");
    return lease;
  };
  const run = (lease: Lease, provider: ModelProvider): Promise<Finish> => {
    const { run_id } = lease.task;
    const openJournal = (): Promise<Journal> => Promise.resolve(store.journal(run_id, lease));
    return runTask(lease, new AbortController().signal, {
      store,
      openRuntime: () => createRuntime({ roots: [root], state_dir, run_id, openJournal }),
      provider,
      limits: { max_turns: 3, max_attempts: 3, retry_base_ms: 10 },
      inbox: { cwd: root, folder: "inbox" },
      clock: Date.now,
    });
  };
  const ask: World["ask"] = async (text, provider) => {
    const lease = await begin(text);
    return { lease, finish: await run(lease, provider) };
  };
  return { store, file, begin, run, ask };
}

/** Returns how a task is finished if its model fails like this. */
async function finishAfter(failure: Error): Promise<Finish> {
  const { ask } = await makeWorld();
  const { finish } = await ask("hello", { name: "failing", complete: () => Promise.reject(failure) });
  return finish;
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

test.each(REASONS)("if the model fails with %s, the outcome of the task is %s", async (reason, outcome) => {
  const finish = await finishAfter(modelFailed("it said no", { reason, attempts: 1 }));
  expect(finish).toMatchObject({ outcome, error: expect.stringContaining("it said no") as string });
});

test("a failure without a reason is retried", async () => {
  expect(await finishAfter(new ToolError("ModelFailed", "who knows"))).toMatchObject({ outcome: "retry" });
});

test("the model gets the earlier messages of the chat, alternating question and answer", async () => {
  const { store, ask } = await makeWorld();
  const told: (readonly Message[])[] = [];
  const provider: ModelProvider = {
    name: "listening",
    protocol: "native",
    complete: ({ messages, rounds }) => {
      expect(rounds).toBe(0);
      told.push([...messages]);
      return Promise.resolve({ kind: "native", text: `answer ${told.length}`, calls: [], finish: "stop" });
    },
  };
  const first = await ask("one", provider);
  await store.inbox.finish(first.lease, first.finish);
  const second = await ask("two", provider);
  await store.inbox.finish(second.lease, { outcome: "cancelled", error: "Cancelled: by a person" });
  await ask("three", provider);

  expect(told.at(-1)?.map(({ role, text }) => `${role}: ${text}`)).toEqual([
    "user: one",
    "assistant: answer 1",
    "user: two",
    "assistant: (This ended without an answer.)",
    "user: three",
  ]);
});

test("the model gets the end of a long chat, starting with a question", async () => {
  const { store, ask } = await makeWorld();
  let told: readonly Message[] = [];
  const provider: ModelProvider = {
    name: "listening",
    protocol: "native",
    complete: ({ messages }) => {
      told = [...messages];
      return Promise.resolve({ kind: "native", text: "yes", calls: [], finish: "stop" });
    },
  };
  for (let index = 0; index < 25; index++) {
    const { lease, finish } = await ask(`question ${index}`, provider);
    await store.inbox.finish(lease, finish);
  }
  expect(told[0]).toMatchObject({ role: "user", text: "question 4" });
  expect(told).toHaveLength(41);
});

test("a task that could not record because of a lock resumes under the same lease", async () => {
  const { store, file, begin, run } = await makeWorld();
  const other = new DatabaseSync(file);
  onTestFinished(() => other.close());
  let asked = 0;
  const provider: ModelProvider = {
    name: "slow",
    protocol: "native",
    complete: () => {
      if (asked++ === 0) other.exec("begin immediate"); // before its reply is recorded
      return Promise.resolve({ kind: "native", text: "yes", calls: [], finish: "stop" });
    },
  };
  const lease = await begin("hello");

  await expect(run(lease, provider)).rejects.toMatchObject({ code: "Busy" });
  expect((await store.tasks.get(lease.task.task_id))?.task.state).toBe("model_round");
  other.exec("rollback");

  expect(await run(lease, provider)).toEqual({ outcome: "done", reply: "yes" });
  expect(asked).toBe(2);
});

test("a task with a damaged log fails with a message, and its worker continues", async () => {
  const { file, store, begin, run } = await makeWorld();
  const lease = await begin("hello");
  const database = new DatabaseSync(file);
  database.exec("update events set payload = 'nonsense' where seq = 1");
  database.close();
  const provider: ModelProvider = { name: "never", complete: () => Promise.reject(new Error("It is not asked")) };
  const finish = await run(lease, provider);
  expect(finish).toMatchObject({
    outcome: "failed",
    error: expect.stringMatching(
      /row 1 of the table "events" is not valid JSON; run "autonous audit verify"/,
    ) as string,
  });
  await store.inbox.finish(lease, finish);
  expect((await store.tasks.get(lease.task.task_id))?.task.state).toBe("failed");
});
