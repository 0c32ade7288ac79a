import { spawn } from "node:child_process";
import type { ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { pathToFileURL } from "node:url";
import { chainEvents, EMPTY_TAIL } from "@autonous/runtime/internal";
import type { RuntimeEvent } from "@autonous/runtime";
import { expect, onTestFinished, test } from "vitest";
import { openStore } from "./open-store.ts";
import type { Store } from "./store.ts";

/** The store used by several real processes on one file, ended by force, as in the service. */

const MESSAGES = 150;
const LANES = 5;

function scratchFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "processes-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "a.db");
}

async function open(file: string): Promise<Store> {
  const store = await openStore({ file, clock: Date.now });
  onTestFinished(() => store.close());
  return store;
}

type Child = ChildProcessByStdio<null, Readable, null>;

/** Runs the body with `store` open on the file. If it throws, the exit code is 1. */
function start(file: string, body: string): Child {
  const script = `
    import { openStore } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, "open-store.ts")).href)};
    const store = await openStore({ file: ${JSON.stringify(file)}, clock: Date.now });
    const aMoment = () => new Promise((resolve) => setTimeout(resolve, 1));
    ${body}
    await store.close();`;
  const options = ["--conditions=@autonous/source", "--input-type=module-typescript", "--eval", script];
  const child = spawn(process.execPath, options, { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

function ingester(name: string): string {
  return `
    for (let i = 0; i < ${MESSAGES}; i++) {
      await store.inbox.ingest({ source: "test", external_id: String(i), lane: "lane " + (i % ${LANES}), text: String(i) });
    }
    await store.kv.set("all in by ${name}", "yes");`;
}

/** Fails every seventh task once, to check the order under retries. */
function worker(name: string): string {
  return `
    const end = (lease) => Number(lease.task.text) % 7 === 0 && lease.attempt === 1
      ? { outcome: "retry", error: "once", retry_at: Date.now() + 3 }
      : { outcome: "done", reply: "answer to " + lease.task.text };
    async function work(lease) {
      while (lease !== undefined) {
        await store.inbox.setState(lease, "model_round");
        const { next } = await store.inbox.finish(lease, { ...end(lease), take_next: true });
        lease = next;
      }
    }
    for (;;) {
      const allIn = (await store.kv.get("all in by a")) && (await store.kv.get("all in by b"));
      const leases = await store.inbox.claim("${name}", 2);
      await Promise.all(leases.map(work));
      const open = (await store.tasks.list({ state: "queued", limit: 1 })).tasks.length;
      if (allIn && leases.length === 0 && open === 0) break;
      await aMoment();
    }`;
}

test("several processes on one file accept every message once, run each task once and in order, and see no lock errors", async () => {
  const file = scratchFile();
  const children = [ingester("a"), ingester("b"), worker("w1"), worker("w2")].map((body) => start(file, body));
  const codes = await Promise.all(children.map(async (child) => (await once(child, "exit"))[0] as number | null));
  expect(codes).toEqual([0, 0, 0, 0]);

  const store = await open(file);
  const { tasks } = await store.tasks.list({ limit: 1000 });
  expect(tasks.map(({ text }) => Number(text)).toSorted((a, b) => a - b)).toEqual(upTo(MESSAGES));
  expect(tasks.filter(({ state }) => state !== "done")).toEqual([]);
  expect(tasks.filter(({ crashes }) => crashes > 0)).toEqual([]);

  const textOf = new Map(tasks.map(({ task_id, text }) => [task_id, Number(text)]));
  const events = await store.events.read({ limit: 10_000 });
  for (let lane = 0; lane < LANES; lane++) {
    const ended = events
      .filter(({ event }) => event.type === "task.completed")
      .map(({ event }) => textOf.get(event.task_id ?? "") ?? -1)
      .filter((text) => text % LANES === lane);
    expect(ended).toEqual(upTo(MESSAGES).filter((text) => text % LANES === lane));
  }
  const starts = events.filter(({ event }) => event.type === "task.started");
  const retried = upTo(MESSAGES).filter((text) => text % 7 === 0);
  expect(starts).toHaveLength(MESSAGES + retried.length);
  expect(await store.outbox.pending({ limit: 1000 })).toHaveLength(MESSAGES);
  for (const { run_id } of tasks) expectChain(await Array.fromAsync(store.journal(run_id).read()));
});

test("a worker ended by kill -9 loses nothing that was reported as recorded, and its task is resumed", async () => {
  const file = scratchFile();
  const store = await open(file);
  const { run_id } = await store.inbox.ingest({ source: "test", lane: "chat", text: "go" });
  for (let round = 1; round <= 4; round++) {
    const child = start(
      file,
      `const [lease] = await store.inbox.claim("w", 1);
       const { task_id, run_id, trace_id } = lease.task;
       const journal = store.journal(run_id, lease);
       for (let i = 0; ; i++) {
         const about = { ts: new Date().toISOString(), type: "progress", trace_id, task_id, run_id, parent_id: null };
         const [event] = await journal.append([{ ...about, event_id: "evt_${round}_" + i, payload: { i } }]);
         console.log(event.seq);
         await aMoment();
       }`,
    );
    let told = 0;
    for await (const line of createInterface({ input: child.stdout })) {
      told = Number(line);
      if (told % 20 === 0) child.kill("SIGKILL");
    }

    const events = await Array.fromAsync(store.journal(run_id).read());
    expect(events.length).toBeGreaterThanOrEqual(told);
    expectChain(events);
    expect(await store.inbox.releaseWorker("w")).toBe(1);
  }
  expect(await store.inbox.claim("w", 1)).toMatchObject([{ resumed: true, attempt: 1, task: { crashes: 4 } }]);
});

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i);
}

function expectChain(events: readonly RuntimeEvent[]): void {
  const drafts = events.map((event) => {
    const { hash: _, ...bare } = event;
    return bare;
  });
  expect(chainEvents(drafts, EMPTY_TAIL).map(({ event }) => event)).toEqual(events);
}
