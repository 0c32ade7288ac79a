import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Supervisor } from "./supervisor.ts";
import type { SupervisorOptions } from "./supervisor.ts";

interface Watched {
  readonly supervisor: Supervisor;
  readonly lines: string[];
  /** Workers that have ended. */
  readonly ended: string[];
  readonly recorded: () => number;
}

/** A supervisor whose worker is this program. */
function watch(program: string, options: Partial<SupervisorOptions> = {}): Watched {
  const folder = mkdtempSync(join(tmpdir(), "autonous-supervisor-"));
  const path = join(folder, "worker.mjs");
  writeFileSync(path, program);
  const lines: string[] = [];
  const ended: string[] = [];
  let recorded = 0;
  const supervisor = new Supervisor({
    program: path,
    words: [],
    flags: [],
    environment: process.env,
    onRecorded: () => recorded++,
    onWorkerEnd: async (worker) => void ended.push(worker),
    log: (line) => lines.push(line),
    checkMs: 40,
    ...options,
  });
  onTestFinished(async () => {
    await supervisor.stop(0);
    rmSync(folder, { recursive: true });
  });
  supervisor.start();
  return { supervisor, lines, ended, recorded: () => recorded };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

const ALIVE = "setInterval(() => process.send({ type: 'alive' }), 20); process.on('disconnect', () => process.exit());";

test("a worker that ends at once is started again, with growing waits", async () => {
  const { lines, ended } = watch("process.exit(3)");
  await until(() => lines.length === 3);
  expect(lines).toEqual([
    "The worker ended (exit code 3); the next one starts in 100 ms",
    "The worker ended (exit code 3); the next one starts in 200 ms",
    "The worker ended (exit code 3); the next one starts in 400 ms",
  ]);
  expect(new Set(ended).size).toBe(3);
});

test("a worker that ends after it has done a task is followed soon, however often", async () => {
  const { lines, recorded } = watch("process.send({ type: 'finished' }, () => process.exit(3))");
  await until(() => lines.length === 4);
  expect(lines).toEqual(lines.map(() => "The worker ended (exit code 3); the next one starts in 100 ms"));
  expect(recorded()).toBe(4);
});

test("a worker that hangs is ended and replaced", async () => {
  const { lines } = watch("process.send({ type: 'alive' }); for (;;);");
  await until(() => lines.length === 2);
  expect(lines[0]).toContain("The worker hangs");
  expect(lines[1]).toBe("The worker ended (SIGKILL); the next one starts in 100 ms");
});

test("a supervisor that was asleep itself does not take its worker for hung", async () => {
  const { lines, recorded } = watch(`${ALIVE} setInterval(() => process.send({ type: 'recorded' }), 100)`);
  await until(() => recorded() > 0);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500); // more than fifteen checks
  const before = recorded();
  await until(() => recorded() > before + 5);
  expect(lines).toEqual([]);
});

test("a worker that cannot be started is tried again", async () => {
  // No argument of a program may be so long.
  const { lines, ended } = watch(ALIVE, { words: ["x".repeat(1_000_000)] });
  await until(() => lines.length === 2);
  expect(lines[0]).toMatch(/^The worker ended \(it could not be started: .*E2BIG.*\); the next one starts in 100 ms$/);
  expect(lines[1]).toContain("200 ms");
  expect(ended).toHaveLength(2);
});

test("what goes wrong when a worker is seen off is told, and keeps nobody from starting the next", async () => {
  const { lines } = watch("process.exit(3)", { onWorkerEnd: () => Promise.reject(new Error("the store is locked")) });
  await until(() => lines.length === 4);
  expect(lines[0]).toBe("What the ended worker held could not be freed: the store is locked");
  expect(lines[3]).toContain("200 ms");
});

test("a supervisor that is stopped asks its worker to end, and starts no other", async () => {
  const drained = "process.on('message', ({ type }) => type === 'drain' && process.exit(0));";
  const { supervisor, lines, ended, recorded } = watch(`${ALIVE} ${drained} process.send({ type: 'recorded' })`);
  await until(() => recorded() === 1);
  await supervisor.stop(60_000);
  expect(ended).toHaveLength(1);
  expect(lines).toEqual([]);
});

test("a worker that does not end when it is asked to is ended by force", async () => {
  const { supervisor, ended, recorded } = watch(`${ALIVE} process.send({ type: 'recorded' })`);
  await until(() => recorded() === 1);
  await supervisor.stop(50);
  expect(ended).toHaveLength(1);
});

test("a supervisor that is stopped while it waits for the next start does not start it", async () => {
  const { supervisor, lines, ended } = watch("process.exit(3)");
  await until(() => lines.length === 1);
  await supervisor.stop(60_000);
  expect(ended).toHaveLength(1);
});
