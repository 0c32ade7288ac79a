import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { ScratchStore, STORE_KINDS } from "../../../../test/support/store-places.ts";
import { openStore } from "../store/open-store.ts";
import type { Finish, Lease, Store } from "../store/store.ts";
import { StoreError } from "../store/store-error.ts";
import { Worker } from "./task-worker.ts";
import type { WorkerOptions } from "./task-worker.ts";

interface RunningWorker {
  readonly worker: Worker;
  readonly drain: AbortController;
  readonly ended: Promise<void>;
}

async function openScratch(): Promise<Store> {
  const [kind] = STORE_KINDS;
  if (kind === undefined) throw new Error("no store kind is defined");
  const at = new ScratchStore(kind);
  at.now = Date.now(); // a worker uses the real time
  const clock = setInterval(() => (at.now = Date.now()), 1);
  onTestFinished(async () => {
    clearInterval(clock);
    await at.close();
  });
  return await at.open();
}

function start(store: Store, runTask: WorkerOptions["runTask"], more: Partial<WorkerOptions> = {}): RunningWorker {
  const drain = new AbortController();
  const nothing = (): void => undefined;
  const over = Promise.withResolvers<Finish>(); // for tasks still running when the test ends
  const worker = new Worker({
    store,
    worker: "w",
    runTask: (lease, signal) => Promise.race([runTask(lease, signal), over.promise]),
    onRecorded: nothing,
    onFinished: nothing,
    onProblem: nothing,
    drain: drain.signal,
    ...more,
  });
  const ended = worker.run();
  onTestFinished(async () => {
    drain.abort();
    over.resolve(DONE);
    await ended.catch(nothing);
  });
  return { worker, drain, ended };
}

async function put(store: Store, lane: string, text = lane): Promise<string> {
  const { task_id } = await store.inbox.ingest({ source: "test", lane, text });
  return task_id;
}

async function stateOf(store: Store, task_id: string): Promise<string | undefined> {
  return (await store.tasks.get(task_id))?.task.state;
}

const DONE: Finish = { outcome: "done", reply: "yes" };

/** A task that runs until it is released or its signal is aborted. */
class Gate {
  readonly begun: string[] = [];
  readonly aborted: string[] = [];
  readonly #open = new Map<string, (finish: Finish) => void>();

  readonly run = async ({ task }: Lease, signal: AbortSignal): Promise<Finish> => {
    const { promise, resolve } = Promise.withResolvers<Finish>();
    this.#open.set(task.text, resolve);
    this.begun.push(task.text);
    signal.addEventListener("abort", () => {
      this.aborted.push(`${task.text}: ${(signal.reason as Error).message}`);
      resolve(DONE);
    });
    return await promise;
  };

  letGo(text: string, finish: Finish = DONE): void {
    this.#open.get(text)?.(finish);
  }
}

test("chats are processed in parallel, at most one per slot, and each chat in order", async () => {
  const store = await openScratch();
  for (const text of ["a1", "a2", "b1", "c1", "d1"]) await put(store, text.slice(0, 1), text);
  const gate = new Gate();
  start(store, gate.run, { slots: 3 });

  await expect.poll(() => gate.begun).toEqual(["a1", "b1", "c1"]);
  gate.letGo("a1");
  await expect.poll(() => gate.begun).toEqual(["a1", "b1", "c1", "d1"]);
  gate.letGo("b1");
  await expect.poll(() => gate.begun).toEqual(["a1", "b1", "c1", "d1", "a2"]);
});

test("a task that arrives while the worker is idle starts at the wake-up, not at the next poll", async () => {
  const store = await openScratch();
  let looks = 0;
  const inbox = {
    ...store.inbox,
    claim: (...words: Parameters<Store["inbox"]["claim"]>) => (looks++, store.inbox.claim(...words)),
  };
  const gate = new Gate();
  const { worker } = start({ ...store, inbox }, gate.run);
  await expect.poll(() => looks).toBe(1);

  await put(store, "a");
  worker.wake();

  await expect.poll(() => gate.begun).toEqual(["a"]);
  expect(looks).toBe(2);
});

test("a scheduled task starts at its time", async () => {
  const store = await openScratch();
  const run_at = Date.now() + 120;
  await store.inbox.ingest({ source: "test", lane: "a", text: "later", run_at });
  const begun: number[] = [];
  start(store, async () => {
    begun.push(Date.now());
    return DONE;
  });

  await expect.poll(() => begun.length).toBe(1);
  expect(begun[0]).toBeGreaterThanOrEqual(run_at);
});

test("a draining worker finishes its running tasks and starts no new one", async () => {
  const store = await openScratch();
  const ids = [await put(store, "a"), await put(store, "b"), await put(store, "c")];
  const gate = new Gate();
  const { drain, ended } = start(store, gate.run, { slots: 2 });
  await expect.poll(() => gate.begun).toEqual(["a", "b"]);

  drain.abort();
  gate.letGo("b");
  await expect.poll(() => stateOf(store, ids[1] ?? "")).toBe("done");
  gate.letGo("a");
  await ended;

  expect(await Promise.all(ids.map((id) => stateOf(store, id)))).toEqual(["done", "done", "queued"]);
  expect(await store.inbox.releaseWorker("w")).toBe(0);
});

test("a task that a person stops is aborted at once, and ends as cancelled whatever it returns", async () => {
  const store = await openScratch();
  const task_id = await put(store, "a");
  const neighbour = await put(store, "b");
  const gate = new Gate();
  const { worker } = start(store, gate.run, { slots: 2 });
  await expect.poll(() => gate.begun).toEqual(["a", "b"]);

  expect(await store.tasks.cancel(task_id, "ada")).toMatchObject({ outcome: "stopping", task: { cancel_by: "ada" } });
  worker.wake();

  await expect.poll(() => stateOf(store, task_id)).toBe("cancelled");
  expect(gate.aborted).toEqual(["a: Stopped by ada"]);
  expect(await stateOf(store, neighbour)).toBe("in_progress");
});

test("a lost lease ends only its task, and the result is discarded", async () => {
  const store = await openScratch();
  const [lost, kept] = [await put(store, "a"), await put(store, "b")];
  const gate = new Gate();
  start(store, gate.run, { slots: 2 });
  await expect.poll(() => gate.begun).toEqual(["a", "b"]);

  // Released as after a lost answer, and claimed by another worker.
  const taken = async (): Promise<string | undefined> => {
    await store.inbox.heartbeat("w", [{ lane: "b", token: 1 }]);
    return (await store.inbox.claim("other", 1))[0]?.task.task_id;
  };
  await expect.poll(taken).toBe(lost);

  await expect.poll(() => gate.aborted).toEqual(["a: The lease was lost"]);
  gate.letGo("b");
  await expect.poll(() => stateOf(store, kept)).toBe("done");
  expect(await stateOf(store, lost)).toBe("in_progress");
});

test("while another process keeps the store locked, a worker reports that and then resumes", async () => {
  const store = await openScratch();
  const task_id = await put(store, "a");
  const told: string[] = [];
  const faults = new Map([
    ["claim", 1],
    ["run", 1],
    ["finish", 2],
  ]);
  const fail = (where: string): void => {
    const left = faults.get(where) ?? 0;
    faults.set(where, left - 1);
    if (left > 0) throw new StoreError("Busy", { doing: where, why: "it is locked" });
  };
  const inbox: Store["inbox"] = {
    ...store.inbox,
    claim: async (...words) => (fail("claim"), await store.inbox.claim(...words)),
    finish: async (...words) => (fail("finish"), await store.inbox.finish(...words)),
  };
  let runs = 0;
  start({ ...store, inbox }, async () => (runs++, fail("run"), DONE), {
    onProblem: ({ message }) => told.push(message),
  });

  await expect.poll(() => stateOf(store, task_id), { timeout: 5000 }).toBe("done");
  expect(runs).toBe(2);
  expect(told.map((message) => message.split(":")[0])).toEqual([
    "Cannot claim",
    "Cannot run",
    "Cannot finish",
    "Cannot finish",
  ]);
});

const LOCKED = new StoreError("Busy", { doing: "use the store", why: "it is locked" });

test("a worker reports that it is alive while it waits for a lock, after each store call", async () => {
  const store = await openScratch();
  await put(store, "a");
  const gate = new Gate();
  let beats = 0;
  const locked = { heartbeat: false, recovers: 0 };
  const unlocked = Promise.withResolvers<number>();
  const inbox: Store["inbox"] = {
    ...store.inbox,
    heartbeat: (...words) => (locked.heartbeat ? Promise.reject(LOCKED) : store.inbox.heartbeat(...words)),
    recover: () => (locked.recovers++, unlocked.promise),
  };
  const { worker } = start({ ...store, inbox }, gate.run, { onBeat: () => beats++ });
  await expect.poll(() => gate.begun).toEqual(["a"]);
  const before = beats;

  locked.heartbeat = true;
  worker.wake();
  await expect.poll(() => locked.recovers).toBe(1);
  expect(beats).toBeGreaterThan(before);
  const between = beats;
  unlocked.reject(LOCKED);
  await expect.poll(() => beats).toBeGreaterThan(between);
});

test("a worker whose store call finds a lock reports that it is alive: the next heartbeat is queued behind it", async () => {
  const store = await openScratch();
  let beats = 0;
  const told: Error[] = [];
  const inbox: Store["inbox"] = { ...store.inbox, claim: () => Promise.reject(LOCKED) };
  start({ ...store, inbox }, () => Promise.resolve(DONE), {
    onBeat: () => beats++,
    onProblem: (problem) => told.push(problem),
  });
  await expect.poll(() => told[0]).toBe(LOCKED);
  expect(beats).toBe(1 + told.length); // the first heartbeat, and these
});

/** A store that another process has locked. */
async function openLocked(): Promise<{ readonly store: Store; readonly task_id: string; unlock(): void }> {
  const folder = mkdtempSync(join(tmpdir(), "autonous-worker-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "autonous.db");
  const store = await openStore({ file, clock: Date.now, busyMs: 20 });
  onTestFinished(() => store.close());
  const task_id = await put(store, "a");
  const other = new DatabaseSync(file);
  onTestFinished(() => other.close());
  other.exec("begin immediate");
  return { store, task_id, unlock: () => other.exec("rollback") };
}

test("a worker that starts while the store is locked reports that, waits, and then runs its tasks", async () => {
  const { store, task_id, unlock } = await openLocked();
  const told: string[] = [];
  let beats = 0;
  start(store, () => Promise.resolve(DONE), {
    onBeat: () => beats++,
    onProblem: ({ message }) => told.push(message),
  });
  await expect.poll(() => told[0]).toMatch(/^Cannot record a heartbeat: another process /);
  expect(beats).toBe(told.length);
  unlock();
  await expect.poll(() => stateOf(store, task_id), { timeout: 5000 }).toBe("done");
});

test("a worker that drains while the store is still locked ends without starting a task", async () => {
  const { store, task_id } = await openLocked();
  const told: string[] = [];
  const { drain, ended } = start(store, () => Promise.resolve(DONE), {
    onProblem: ({ message }) => told.push(message),
  });
  await expect.poll(() => told.length).toBeGreaterThan(0);
  drain.abort();
  await ended;
  expect(await stateOf(store, task_id)).toBe("queued");
});

test.each(["claim", "finish"] as const)(
  "a %s that was stored but whose answer was lost loses no task",
  async (where) => {
    const store = await openScratch();
    const ids = await Promise.all(["a", "a", "b"].map((lane, index) => put(store, lane, `${lane}${index}`)));
    let faults = 1;
    const lose = async <Answer>(answer: Promise<Answer>): Promise<Answer> => {
      await answer;
      if (faults-- > 0) throw new StoreError("Busy", { doing: where, why: "the answer got lost" });
      return await answer;
    };
    const inbox: Store["inbox"] = {
      ...store.inbox,
      claim: (...words) => (where === "claim" ? lose(store.inbox.claim(...words)) : store.inbox.claim(...words)),
      finish: (...words) => (where === "finish" ? lose(store.inbox.finish(...words)) : store.inbox.finish(...words)),
    };
    start({ ...store, inbox }, () => Promise.resolve(DONE), { slots: 1 });

    for (const id of ids) await expect.poll(() => stateOf(store, id), { timeout: 8000 }).toBe("done");
  },
);

test("an unusable store ends the worker with the reason", async () => {
  const store = await openScratch();
  await put(store, "a");
  const full = new StoreError("Full", { doing: "record events", why: "no space left" });
  const { ended } = start(store, () => Promise.reject(full));
  await expect(ended).rejects.toBe(full);
});
