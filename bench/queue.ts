import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Worker } from "../packages/autonous/src/queue/task-worker.ts";
import { openStore } from "../packages/autonous/src/store/open-store.ts";
import type { Lease, Store } from "../packages/autonous/src/store/store.ts";
import { fillQueue } from "./fill-queue.ts";
import { figuresOf, milliseconds } from "./measure.ts";
import { makeWorkspace } from "./place.ts";
import { benchServedQueue } from "./queue-service.ts";

const CHATS = 1000;
const SLOTS = 50;
const TASKS = 10_000;
const ROUNDS = 5;
/** `--finished N`: number of finished tasks in the file for the second measurement. */
const FINISHED = numberAfter("--finished") ?? 1_000_000;
const FEW_FINISHED = 1000;
const A_ROUND = 4000;

/** The cost of the queue itself: durable tasks that do nothing, through the real worker and store. */
export async function benchQueue(): Promise<void> {
  const folder = makeWorkspace("queue");
  const file = join(folder, "autonous.db");
  const template = await benchThroughput(join(folder, "rate.db"), file);
  await benchStart(join(folder, "start.db"));
  await benchFull(file, template);
  await benchServedQueue();
}

/** The baseline: one commit of one row, without our code. */
function commitsPerSecond(file: string): number {
  const database = new DatabaseSync(file);
  database.exec(
    "pragma journal_mode = wal; pragma synchronous = full; create table if not exists rows (a integer) strict",
  );
  const insert = database.prepare("insert into rows values (1)");
  const rounds = 300;
  const start = performance.now();
  for (let i = 0; i < rounds; i++) insert.run();
  const perSecond = (rounds / (performance.now() - start)) * 1000;
  database.close();
  return perSecond;
}

async function benchThroughput(file: string, templateFile: string): Promise<Template> {
  const rates: number[] = [];
  const puts: number[] = [];
  const floors: number[] = [];
  const store = await openStore({ file, clock: Date.now });
  for (let round = 0; round < ROUNDS; round++) {
    floors.push(commitsPerSecond(`${file}.floor`));
    puts.push(await putTasks(store, TASKS));
    rates.push(await doTasks(store, TASKS));
  }
  await store.close();
  print("durable no-op tasks, 1,000 chats, 50 slots", `${bestAndMedian(rates)} tasks a second (target 2,500)`);
  print("  put into the queue, 200 at a time", `${bestAndMedian(puts)} tasks a second`);
  print("  floor: bare commits of one row (synchronous full)", `${bestAndMedian(floors)} a second`);
  return await makeTemplate(templateFile);
}

async function putTasks(store: Store, count: number): Promise<number> {
  const atATime = 200;
  const start = performance.now();
  for (let first = 0; first < count; first += atATime) {
    const some = Array.from({ length: Math.min(atATime, count - first) }, (_, i) => first + i);
    await Promise.all(
      some.map((i) => store.inbox.ingest({ source: "bench", lane: `chat ${i % CHATS}`, text: `${i}` })),
    );
  }
  return (count / (performance.now() - start)) * 1000;
}

interface Doing {
  readonly worker: Worker;
  readonly drain: AbortController;
  readonly ended: Promise<void>;
}

function startWorker(store: Store, onBegin: (lease: Lease) => void, onFinished: () => void): Doing {
  const drain = new AbortController();
  const worker = new Worker({
    store,
    worker: "bench",
    slots: SLOTS,
    runTask: (lease) => {
      onBegin(lease);
      return Promise.resolve({ outcome: "done", reply: "done" });
    },
    onRecorded: () => undefined,
    onFinished,
    onProblem: (problem) => console.error(problem.message),
    drain: drain.signal,
  });
  return { worker, drain, ended: worker.run() };
}

async function doTasks(store: Store, count: number): Promise<number> {
  let left = count;
  const start = performance.now();
  const { drain, ended } = startWorker(
    store,
    () => undefined,
    () => {
      if (--left === 0) drain.abort();
    },
  );
  await ended;
  return (count / (performance.now() - start)) * 1000;
}

/** Wakes an idle worker, as its supervisor does when a message arrives. */
async function benchStart(file: string): Promise<void> {
  const rounds = 300;
  const store = await openStore({ file, clock: Date.now });
  let begun: () => void = () => undefined;
  const { worker, drain, ended } = startWorker(
    store,
    () => begun(),
    () => undefined,
  );
  const samples: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const { promise, resolve } = Promise.withResolvers<void>();
    begun = resolve;
    const start = performance.now();
    await store.inbox.ingest({ source: "bench", lane: `chat ${i}`, text: "?" });
    worker.wake();
    await promise;
    samples.push(performance.now() - start);
    await new Promise((resume) => setTimeout(resume, 10)); // until it is idle again
  }
  drain.abort();
  await ended;
  await store.close();
  const floor = 1000 / commitsPerSecond(`${file}.floor`);
  const { p50 } = figuresOf(samples);
  print(
    "put into the queue to begun, idle worker",
    `p50 ${milliseconds(p50)} (target 2 ms); two commits, each ${milliseconds(floor)} bare`,
  );
}

interface Template {
  readonly task_id: string;
  readonly run_id: string;
}

/** One finished task: answered, and the answer sent. */
async function makeTemplate(file: string): Promise<Template> {
  const store = await openStore({ file, clock: Date.now });
  for (let i = 1; i < CHATS; i++) await store.inbox.ingest({ source: "bench", lane: `chat ${i}`, text: `${i}` });
  const { task_id, run_id } = await store.inbox.ingest({ source: "bench", lane: "chat 0", text: "0" });
  await doTasks(store, CHATS);
  for (const { id } of await store.outbox.pending({ limit: CHATS })) await store.outbox.markSent(id);
  await store.close();
  return { task_id, run_id };
}

/** The same tasks in a file with few and with many finished tasks. */
async function benchFull(file: string, template: Template): Promise<void> {
  const costs: { readonly wall: number; readonly cpu: number }[] = [];
  let from = 0;
  for (const finished of [FEW_FINISHED, FINISHED]) {
    fillQueue(file, { ...template, from, to: finished, lanes: CHATS });
    from = finished;
    const store = await openStore({ file, clock: Date.now });
    const wall: number[] = [];
    const cpu: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const [start, used] = [performance.now(), process.cpuUsage()];
      await putTasks(store, A_ROUND);
      await doTasks(store, A_ROUND);
      wall.push(((performance.now() - start) * 1000) / A_ROUND);
      const { user, system } = process.cpuUsage(used);
      cpu.push((user + system) / A_ROUND);
    }
    await store.close();
    costs.push({ wall: Math.min(...wall), cpu: Math.min(...cpu) });
    print(
      `a task put and done with ${finished.toLocaleString("en")} finished ones in the file`,
      `best ${Math.min(...wall).toFixed(0)} µs (median ${median(wall).toFixed(0)}), of the processor ${Math.min(...cpu).toFixed(0)} µs (median ${median(cpu).toFixed(0)})`,
    );
  }
  const [few, many] = costs;
  if (few === undefined || many === undefined) return;
  print(
    "  ratio",
    `${(many.wall / few.wall).toFixed(2)}, of the processor ${(many.cpu / few.cpu).toFixed(2)} (flat is 1)`,
  );
}

function bestAndMedian(rates: readonly number[]): string {
  return `${Math.round(Math.max(...rates)).toLocaleString("en")} (median ${Math.round(median(rates)).toLocaleString("en")})`;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function print(what: string, figures: string): void {
  console.log(`${what}: ${figures}`);
}

function numberAfter(option: string): number | undefined {
  const index = process.argv.indexOf(option);
  return index === -1 ? undefined : Number(process.argv[index + 1]);
}
