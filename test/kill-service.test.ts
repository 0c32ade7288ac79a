import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { verifyAudit } from "@autonous/runtime";
import type { RuntimeEvent } from "@autonous/runtime";
import { expect, onTestFinished, test } from "vitest";
import { openStore } from "../packages/autonous/src/store/open-store.ts";
import type { Store } from "../packages/autonous/src/store/store.ts";
import { seeded } from "./support/seeded.ts";
import { isAlive, scratchPlace, startService, until, workerOf, writeScript } from "./support/service.ts";
import type { Place, Served } from "./support/service.ts";

/** kill -9 of the real program's processes while tasks flow: none is lost, none is done twice. */

async function openRecord({ database }: Place): Promise<Store> {
  const store = await openStore({ file: database, clock: Date.now });
  onTestFinished(() => store.close());
  return store;
}

/** Waits until `more` further events are on record. */
async function untilRecorded(store: Store, more: number): Promise<void> {
  const position = async (): Promise<number> => (await store.events.last({ limit: 1 }))[0]?.position ?? 0;
  const goal = (await position()) + more;
  await until(async () => (await position()) >= goal, `${more} more events`);
}

const CHATS = ["a", "b", "c", "d"];

/** Waits until a task of every chat was done: whatever was cut off before is over then, and not cut off again and again. */
async function untilAllWentOn(store: Store): Promise<void> {
  const done = async (): Promise<number> => (await store.tasks.list({ state: "done", limit: 1000 })).tasks.length;
  const goal = (await done()) + CHATS.length;
  await until(async () => (await done()) >= goal, "a task of every chat to be done");
}

async function postMany(service: Served, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) ids.push((await service.post({ text: "/ls .", chat: CHATS[i % 4] })).task_id);
  return ids;
}

async function checkAll(place: Place, store: Store, ids: readonly string[]): Promise<void> {
  const events = (await store.events.read({ limit: 100_000 })).map(({ event }) => event);
  for (const task_id of ids) {
    const own = events.filter((event) => event.task_id === task_id);
    const count = (type: string): number => own.filter((event) => event.type === type).length;
    for (const type of ["task.started", "agent.completed", "task.completed", "reply.sent"])
      expect([task_id, type, count(type)]).toEqual([task_id, type, 1]);
    expect(await store.tasks.get(task_id)).toMatchObject({ task: { state: "done" }, reply: "a.txt" });
    const run_id = own[0]?.run_id ?? "";
    const lines = readFileSync(join(place.state_dir, "runs", run_id, "events.jsonl"), "utf8")
      .trimEnd()
      .split("\n");
    expect(lines.map((line) => JSON.parse(line) as RuntimeEvent)).toEqual(own);
  }
  const database = new DatabaseSync(place.database, { readOnly: true });
  const twice = database.prepare("select task_id from outbox group by task_id having count(*) > 1").all();
  const inOrder = database.prepare("select lane from inbox order by lane, position").all();
  const asFinished = database.prepare("select lane from inbox order by lane, finished_at, position").all();
  database.close();
  expect(twice).toEqual([]);
  expect(asFinished).toEqual(inOrder);
  expect(await verifyAudit(place.state_dir)).toMatchObject({ ok: true, problems: [] });
}

test("a worker that is killed ten times under load loses no task and runs none twice", async () => {
  const place = scratchPlace();
  const service = await startService(place);
  const store = await openRecord(place);
  const random = seeded(20_260_131);
  const ids = await postMany(service, 20);
  for (let kill = 1; kill <= 10; kill++) {
    ids.push(...(await postMany(service, 6)));
    await untilAllWentOn(store);
    await untilRecorded(store, 1 + random(13));
    const worker = await workerOf(service);
    process.kill(worker, "SIGKILL");
    await until(() => !isAlive(worker), "the worker to be gone");
  }
  for (const task_id of ids)
    expect((await service.follow(task_id)).reply).toMatchObject({ state: "done", text: "a.txt" });
  expect(await service.stop()).toEqual({ code: 0, signal: null });
  expect(service.stderr().match(/The worker exited \(SIGKILL\)/g)).toHaveLength(10);
  await checkAll(place, store, ids);
  const resumed = (await store.events.read({ limit: 100_000 })).filter(({ event }) => event.type === "task.resumed");
  expect(resumed.length).toBeGreaterThan(0);
});

test("a service that is killed leaves no worker behind, and the next one answers every accepted message", async () => {
  const place = scratchPlace();
  const random = seeded(7);
  const ids: string[] = [];
  for (let kill = 1; kill <= 3; kill++) {
    const service = await startService(place);
    const store = await openStore({ file: place.database, clock: Date.now });
    ids.push(...(await postMany(service, 15)));
    await untilRecorded(store, random(60));
    const worker = await workerOf(service);
    await service.stop("SIGKILL");
    await until(() => !isAlive(worker), "the worker to end by itself");
    await store.close();
  }
  const service = await startService(place);
  for (const task_id of ids)
    expect((await service.follow(task_id)).reply).toMatchObject({ state: "done", text: "a.txt" });
  expect(await service.stop()).toEqual({ code: 0, signal: null });
  await checkAll(place, await openRecord(place), ids);
});

test("a client that follows a task sees it resume after its worker was killed", async () => {
  const place = scratchPlace();
  const model = writeScript(place, [
    { reply: { tool_calls: [{ name: "ls", arguments: {} }] } },
    { delay_ms: 300, reply: { final_answer: "at last" } },
  ]);
  const service = await startService(place, { environment: { AUTONOUS_MODEL: model } });
  const told = service.ask({ text: "look" });
  const store = await openRecord(place);
  await until(async () => (await store.events.last({ limit: 1 }))[0]?.event.payload["turn"] === 2, "the second turn");
  process.kill(await workerOf(service), "SIGKILL");
  const { events, ids, reply } = await told;
  expect(reply?.text).toBe("at last");
  expect(ids).toEqual(events.map((_, i) => i + 1));
  const types = events.map(({ type }) => type);
  expect(types.filter((type) => type === "task.resumed")).toHaveLength(1);
  expect(types.filter((type) => type === "tool_call.completed")).toHaveLength(1);
});

test("a worker that sleeps while its supervisor is killed is killed by the next one, and its writes are rejected", async () => {
  const place = scratchPlace();
  const environment = { AUTONOUS_MODEL: writeScript(place, [{ delay_ms: 200, reply: { final_answer: "a.txt" } }]) };
  const service = await startService(place, { environment });
  const { task_id } = await service.post({ text: "look" });
  const store = await openRecord(place);
  await until(async () => (await store.tasks.get(task_id))?.task.state === "model_round", "the task to be running");
  const worker = await workerOf(service);
  process.kill(worker, "SIGSTOP"); // it cannot notice that its supervisor is gone
  onTestFinished(() => void (isAlive(worker) && process.kill(worker, "SIGKILL")));
  await service.stop("SIGKILL");
  const next = await startService(place, { environment });
  expect((await next.follow(task_id)).reply?.text).toBe("a.txt");
  await until(() => !isAlive(worker), "the worker to be ended");
  expect((await next.ask({ text: "look" })).reply?.text).toBe("a.txt");
  await next.stop();
  await checkAll(place, store, [task_id]);
});
