import { readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { verifyAudit } from "@autonous/runtime";
import { expect, test } from "vitest";
import { scratchPlace, serveWords, startProgram, startService, until, workerOf } from "./support/service.ts";
import type { Place, Program, Served } from "./support/service.ts";

/** The service on a store that is locked, full or damaged: clear words, no endless loop, and it goes on where it can. */

/** A place that was served before. */
async function servedPlace(onEnd: Place["onEnd"]): Promise<Place> {
  const place = scratchPlace(onEnd);
  const service = await startService(place);
  expect((await service.ask({ text: "/ls ." })).reply?.text).toBe("a.txt");
  await service.stop();
  return place;
}

/** Keeps the database locked, as another process would. */
function lock({ database, onEnd }: Place): { letGo(): void } {
  const connection = new DatabaseSync(database, { timeout: 5000 });
  connection.exec("begin immediate");
  onEnd(() => void (connection.isOpen && connection.close()));
  return { letGo: () => connection.close() };
}

async function tryToPost(service: Served): Promise<{ status: number; text: string }> {
  const headers = { accept: "application/json" };
  const response = await service.request("/api/tasks", { method: "POST", body: '{"text":"/ls ."}', headers });
  return { status: response.status, text: await response.text() };
}

test.concurrent("a database that is locked for a while is waited for; one that stays locked is told", async ({
  onTestFinished,
}) => {
  const [shortly, forLong] = [await servedPlace(onTestFinished), await servedPlace(onTestFinished)];
  const locks = { shortly: lock(shortly), forLong: lock(forLong) };
  const environment = { AUTONOUS_HTTP_PORT: "0" };
  const refused = startProgram(forLong, serveWords(forLong), { environment });
  const waiting = startProgram(shortly, serveWords(shortly, "--json"), { environment });
  await until(() => hasOpen(waiting, shortly.database), "the database to be opened");
  locks.shortly.letGo();
  await until(() => waiting.stdout().includes("url"), "the service to start");
  expect((await refused.ended).code).toBe(1);
  expect(refused.stdout() + refused.stderr()).toMatch(/another process keeps ".*autonous.db" locked/);
  locks.forLong.letGo();
  expect((await (await startService(forLong)).ask({ text: "/ls ." })).reply?.text).toBe("a.txt");
});

function hasOpen({ pid }: Program, file: string): boolean {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).some((fd) => {
    try {
      return readlinkSync(`${folder}/${fd}`) === file;
    } catch {
      return false; // closed since
    }
  });
}

test.concurrent("a database that is locked under the service is reported, costs no worker, and work resumes when the lock is released", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  const service = await startService(place);
  expect((await service.ask({ text: "/ls ." })).reply?.text).toBe("a.txt");
  const worker = await workerOf(service);
  const held = lock(place);
  const { status, text } = await tryToPost(service);
  expect(status).toBe(503);
  expect(text).toContain("locked");
  await until(
    () => service.stderr().includes("Cannot record a heartbeat: another process keeps"),
    "the worker's words",
  );
  expect((await service.request("/api/tasks")).status).toBe(200); // reading goes on
  held.letGo();
  expect((await service.ask({ text: "/ls ." })).reply?.text).toBe("a.txt");
  expect(await workerOf(service)).toBe(worker);
  expect(await service.stop()).toEqual({ code: 0, signal: null });
});

test.concurrent("a full disk is reported at growing intervals; accepted tasks are answered once there is room", async ({
  onTestFinished,
}) => {
  const place = await servedPlace(onTestFinished);
  const service = await startService(place, { shell: "ulimit -f 300;" });
  const taken: string[] = [];
  let answer = await tryToPost(service);
  while (answer.status === 202) {
    taken.push((JSON.parse(answer.text) as { task_id: string }).task_id);
    answer = await tryToPost(service);
  }
  expect(answer.status).toBe(503);
  expect(answer.text).toMatch(/Cannot queue a message: .*autonous.db/);
  await until(() => service.stderr().includes("restarting in 800 ms"), "the waits to grow");
  const lines = service.stderr().split("\n");
  expect(
    lines.filter((line) => /Cannot .*autonous.db.*(cannot be reached|no space left)/.test(line)).length,
  ).toBeGreaterThan(3);
  expect(lines.length).toBeLessThan(30);
  expect((await service.request("/api/tasks")).status).toBe(200);
  expect((await service.stop()).signal).toBeNull();

  const roomy = await startService(place);
  expect(taken.length).toBeGreaterThan(0);
  for (const task_id of taken)
    expect((await roomy.follow(task_id)).reply).toMatchObject({ state: "done", text: "a.txt" });
  await roomy.stop();
  expect(await verifyAudit(place.state_dir)).toMatchObject({ ok: true, problems: [] });
});

test.concurrent("an invalid database stops the start with a message, and is left unchanged", async ({
  onTestFinished,
}) => {
  const place = await servedPlace(onTestFinished);
  const garbage = "this is not a database. ".repeat(1000);
  writeFileSync(place.database, garbage);
  for (const words of [[], ["--check"], ["--json"]]) {
    const program = startProgram(place, serveWords(place, ...words), { environment: { AUTONOUS_HTTP_PORT: "0" } });
    expect((await program.ended).code).toBe(1);
    expect(program.stdout() + program.stderr()).toMatch(/autonous.db\\?" is damaged or not a database/);
  }
  expect(readFileSync(place.database, "utf8")).toBe(garbage);
});

test.concurrent("a database that is damaged under the service is reported at growing intervals, and the service can still be stopped", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  const service = await startService(place);
  await service.ask({ text: "/ls ." });
  for (const suffix of ["", "-wal"]) writeFileSync(place.database + suffix, "this is not a database. ".repeat(10_000));
  rmSync(`${place.database}-shm`);
  process.kill(await workerOf(service), "SIGKILL");
  await until(() => service.stderr().includes("restarting in 400 ms"), "the waits to grow");
  expect(service.stderr()).toMatch(/autonous.db" is damaged or not a database/);
  expect(service.stderr().split("\n").length).toBeLessThan(30);
  expect((await service.stop()).signal).toBeNull();
});
