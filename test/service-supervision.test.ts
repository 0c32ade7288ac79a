import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { migrate, MIGRATIONS } from "../packages/autonous/src/store/sqlite/migrate.ts";
import { openSqlite } from "../packages/autonous/src/store/sqlite/sqlite.ts";
import { marker, processesWith } from "./support/processes.ts";
import {
  isAlive,
  scratchPlace,
  serveWords,
  startProgram,
  startService,
  until,
  workerOf,
  writeScript,
} from "./support/service.ts";
import type { Place, Served } from "./support/service.ts";

/** What the supervisor does for people who run the service: drains, restarts, gives up in words, keeps a log. */

interface LogLine {
  readonly ts: string;
  readonly level: string;
  readonly part: string;
  readonly message: string;
}

function logOf({ state_dir }: Place): readonly LogLine[] {
  const text = readFileSync(join(state_dir, "logs/service.jsonl"), "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as LogLine);
}

async function untilRunning(service: Served): Promise<void> {
  await until(
    async () => /model_round|tool_round/.test(await (await service.request("/api/tasks")).text()),
    "a running task",
  );
}

async function taskOf(service: Served, task_id: string): Promise<{ state: string; crashes: number }> {
  const { task } = (await (await service.request(`/api/tasks/${task_id}`)).json()) as {
    task: { state: string; crashes: number };
  };
  return task;
}

test.concurrent("a task that is not done when the time to drain is over goes on at the next start, and no crash is counted", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  const hanging = { AUTONOUS_MODEL: writeScript(place, [{ fault: "hang" }]), AUTONOUS_DRAIN_SECONDS: "1" };
  const service = await startService(place, { environment: hanging });
  const { task_id } = await service.post({ text: "wait" });
  await untilRunning(service);
  const worker = await workerOf(service);
  expect(await service.stop("SIGTERM")).toEqual({ code: 0, signal: null });
  expect(service.stderr()).toContain("Shutting down: up to 1 s for running tasks. Repeat to force.");
  expect(isAlive(worker)).toBe(false);

  const answering = { AUTONOUS_MODEL: writeScript(place, [{ reply: { final_answer: "at last" } }]) };
  const again = await startService(place, { environment: answering });
  expect((await again.follow(task_id)).reply?.text).toBe("at last");
  expect(await taskOf(again, task_id)).toMatchObject({ state: "done", crashes: 0 });
});

test.concurrent("SIGHUP drains the worker and starts another, which reads the configuration again", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  const model = writeScript(place, [{ delay_ms: 300, reply: { final_answer: "first" } }]);
  const service = await startService(place, { environment: { AUTONOUS_MODEL: model } });
  const told = service.ask({ text: "look" });
  await untilRunning(service);
  const worker = await workerOf(service);
  writeScript(place, [{ reply: { final_answer: "second" } }]);
  service.child.kill("SIGHUP");
  await until(() => !isAlive(worker), "the worker to be replaced");
  expect((await told).reply?.text).toBe("first");
  expect((await service.ask({ text: "look" })).reply?.text).toBe("second");
  expect(service.stderr()).toBe("");
  expect(await service.stop()).toEqual({ code: 0, signal: null });
});

test.concurrent("a worker that cannot work is given up with the reason, tasks are still taken in, and all is done once it can", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  const model = writeScript(place, [{ reply: { final_answer: "done" } }]);
  const service = await startService(place, { environment: { AUTONOUS_MODEL: model } });
  expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
  writeFileSync(join(place.path, "script.json"), "no script"); // the next worker cannot make sense of it
  process.kill(await workerOf(service), "SIGKILL");
  for (const wait of [200, 800, 3200])
    await until(() => service.stderr().includes(`restarting in ${wait} ms`), "the waits to grow");
  const longest = (): number => service.stderr().match(/restarting in 5000 ms/g)?.length ?? 0;
  for (const ends of [1, 2, 3]) await until(() => longest() >= ends, "the next one to end");
  await until(() => service.stderr().includes("No tasks are running:"), "the worker to be given up");
  const health = await fetch(`${service.url}/healthz`);
  expect(health.status).toBe(503);
  expect(await health.json()).toMatchObject({ ok: false, why: expect.stringContaining("keeps exiting") as string });
  expect(service.stderr()).toMatch(
    /No tasks are running: the worker exited 11 times in a row .*script.json.*SIGHUP to process \d+/,
  );
  expect(service.stderr().split("\n").length).toBeLessThan(60);
  const { task_id } = await service.post({ text: "look" });
  expect((await taskOf(service, task_id)).state).toBe("queued");

  writeScript(place, [{ reply: { final_answer: "done" } }]);
  service.child.kill("SIGHUP");
  expect((await service.follow(task_id)).reply?.text).toBe("done");
  expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
  expect(await taskOf(service, task_id)).toMatchObject({ state: "done", crashes: 0 });
  expect(await service.stop()).toEqual({ code: 0, signal: null });
  const levels = logOf(place).map(({ level, part, message }) => [level, part, message.slice(0, 21)].join(" "));
  expect(levels).toContain("error service No tasks are running:");
  expect(levels).toContain("warn service The worker recovered;");
}, 240_000);

// oxfmt-ignore
const WAYS = [
  { where: "in the sandbox",      environment: { AUTONOUS_SANDBOX: "auto" } },
  { where: "without a sandbox",   environment: { AUTONOUS_SANDBOX: "off", AUTONOUS_PROFILE: "autonomous" } },
] as const;

for (const { where, environment } of WAYS) {
  for (const victim of ["supervisor", "worker"] as const) {
    test.concurrent(`a ${victim} that is killed while a command runs ${where} leaves nothing of it`, async ({
      onTestFinished,
    }) => {
      const place = scratchPlace(onTestFinished);
      const word = marker();
      const cmd = `setsid sleep ${word} & sleep ${word}`;
      const model = writeScript(place, [
        { reply: { tool_calls: [{ name: "bash", arguments: { cmd } }] } },
        { reply: { final_answer: "over" } },
      ]);
      const service = await startService(place, { environment: { ...environment, AUTONOUS_MODEL: model } });
      await service.post({ text: "go" });
      await until(() => processesWith(`sleep\0${word}`).length >= 2, "the command to run");
      const worker = await workerOf(service);
      if (victim === "worker") process.kill(worker, "SIGKILL");
      else await service.stop("SIGKILL");
      await until(() => !isAlive(worker) && processesWith(word).length === 0, "everything to be gone");
    });
  }
}

test.concurrent("the log has what happened, in order, and no secret", async ({ onTestFinished }) => {
  const place = scratchPlace(onTestFinished);
  const secret = "canary-8f3Kq0Zt7Lw2Xv5N";
  const service = await startService(place, { environment: { X_TOKEN: secret } });
  await service.ask({ text: "/ls ." });
  process.kill(await workerOf(service), "SIGKILL");
  await service.ask({ text: "/ls ." });
  await service.stop();
  const lines = logOf(place);
  expect(lines.map(({ level, part, message }) => `${level} ${part} ${message}`)).toEqual([
    expect.stringMatching(/^info service Service started$/),
    "info service Worker started",
    "warn service The worker exited (SIGKILL); restarting at once",
    "info service Worker started",
    "info service Service stopping",
    "info service Service stopped",
  ]);
  for (const { ts } of lines) expect(new Date(ts).toISOString()).toBe(ts);
  expect(JSON.stringify(lines)).not.toContain(secret);
});

test.concurrent("a log that cannot be written stops nothing, and is reported once", async ({ onTestFinished }) => {
  const place = scratchPlace(onTestFinished);
  const first = await startService(place);
  await first.stop();
  const logs = join(place.state_dir, "logs");
  rmSync(logs, { recursive: true });
  writeFileSync(logs, "in the way");
  const service = await startService(place);
  process.kill(await workerOf(service), "SIGKILL");
  expect((await service.ask({ text: "/ls ." })).reply?.text).toBe("a.txt");
  expect(await service.stop()).toEqual({ code: 0, signal: null });
  expect(service.stderr().match(/Cannot write the log/g)).toHaveLength(1);
});

test.concurrent("a database of a newer version stops the check and the start, and is left as it is", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  const first = await startService(place);
  const { task_id } = await first.ask({ text: "/ls ." }).then(({ events }) => ({ task_id: events[0]?.task_id ?? "" }));
  await first.stop();
  const newer = new DatabaseSync(place.database);
  newer.exec("insert into migrations values (999, 'next', 'x', 1)");
  newer.close();
  const check = startProgram(place, serveWords(place, "--check"));
  expect((await check.ended).code).toBe(1);
  expect(check.stdout()).toMatch(/failed +store .*has migration 999 \("next"\)/);
  const refused = startProgram(place, serveWords(place), { environment: { AUTONOUS_HTTP_PORT: "0" } });
  expect((await refused.ended).code).toBe(1);
  expect(refused.stderr()).toMatch(/^Cannot serve:\n {2}store: .*run the newer version that wrote it/);
  const repaired = new DatabaseSync(place.database);
  repaired.exec("delete from migrations where version = 999");
  repaired.close();
  const again = await startService(place);
  expect((await again.follow(task_id)).reply?.text).toBe("a.txt");
});

test.concurrent("a database of an older version is brought up to date at the start, and kept as it was beside it", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  const old = await openSqlite({ file: place.database });
  await migrate(old, { migrations: MIGRATIONS.slice(0, 2), clock: Date.now });
  await old.transaction("write", (queries) => queries.run("insert into kv values ('a', 'b', 1)"));
  await old.close();
  const check = startProgram(place, serveWords(place, "--check"));
  expect((await check.ended).code).toBe(0);
  const steps = MIGRATIONS.slice(2).map(({ version, name }) => `${version} (${name})`);
  expect(check.stdout()).toContain(`migration ${steps.join(", ")} runs when it is opened, which keeps a copy`);
  expect(readdirSync(place.state_dir).filter((name) => name.includes(".before-"))).toEqual([]);

  const service = await startService(place);
  expect((await service.ask({ text: "/ls ." })).reply?.text).toBe("a.txt");
  await service.stop();
  const copy = readdirSync(place.state_dir).find((name) => name.includes(".before-")) ?? "";
  expect(copy).toMatch(/^autonous\.db\.before-3-/);
  expect(service.stderr()).toContain(copy);
  expect(logOf(place)[0]).toMatchObject({ level: "warn", copy: join(place.state_dir, copy) });
  const kept = new DatabaseSync(join(place.state_dir, copy), { readOnly: true });
  expect(kept.prepare("select max(version) as version from migrations").get()).toEqual({ version: 2 });
  expect(kept.prepare("select value from kv where key = 'a'").get()).toEqual({ value: "b" });
  kept.close();
});

test.concurrent("serve tells all that keeps it from starting at once", async ({ onTestFinished }) => {
  const place = scratchPlace(onTestFinished);
  const taken = await startService(place);
  const other = scratchPlace(onTestFinished);
  const port = new URL(taken.url).port;
  const environment = { AUTONOUS_HTTP_PORT: port, AUTONOUS_MODEL: "script:/not/there" };
  const program = startProgram(other, serveWords(other), { environment });
  expect((await program.ended).code).toBe(1);
  expect(program.stderr()).toMatch(
    /^Cannot serve:\n {2}model: .*\/not\/there.*\n {2}port: 127\.0\.0\.1:\d+: in use by another program/,
  );
  // Checking the configuration of a running service is not a problem.
  const check = startProgram(place, serveWords(place, "--check"), { environment: { AUTONOUS_HTTP_PORT: port } });
  expect((await check.ended).code).toBe(0);
  expect(check.stdout()).toMatch(/warning +service +the process \d+ is already running on this state folder/);
  expect(check.stdout()).toMatch(/warning +port +.* is in use by the running service/);
});
