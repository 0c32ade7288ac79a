import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createLogger, logFile } from "./logger.ts";
import { Supervisor } from "./supervisor.ts";
import type { SupervisorOptions } from "./supervisor.ts";

interface SupervisorSetup {
  readonly supervisor: Supervisor;
  /** What people were told. */
  readonly lines: string[];
  /** Workers that have ended; those that no blame falls on are marked. */
  readonly ended: string[];
  readonly recorded: () => number;
  readonly logged: () => Record<string, unknown>[];
}

/** A supervisor whose worker is this program. */
function watch(program: string, options: Partial<SupervisorOptions> = {}): SupervisorSetup {
  const folder = mkdtempSync(join(tmpdir(), "autonous-supervisor-"));
  const path = join(folder, "worker.mjs");
  writeFileSync(path, program);
  const lines: string[] = [];
  const ended: string[] = [];
  let recorded = 0;
  const logger = createLogger({ folder, redact: (text) => text, tell: (line) => lines.push(line) });
  const supervisor = new Supervisor({
    program: path,
    words: [],
    flags: [],
    environment: process.env,
    onRecorded: () => recorded++,
    onWorkerEnd: async (worker, { blameless }) => void ended.push(blameless ? `${worker} blameless` : worker),
    logger,
    drainMs: 60_000,
    checkMs: 40,
    ...options,
  });
  onTestFinished(async () => {
    await supervisor.stop(0);
    logger.close();
    rmSync(folder, { recursive: true });
  });
  supervisor.start();
  const logged = (): Record<string, unknown>[] =>
    readFileSync(logFile(folder), "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { supervisor, lines, ended, recorded: () => recorded, logged };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

const ALIVE = "setInterval(() => process.send({ type: 'alive' }), 20); process.on('disconnect', () => process.exit());";
const DRAINED = "process.on('message', ({ type }) => type === 'drain' && process.exit(0));";

test("a worker that exits is restarted at once, and with growing waits if the next ones exit too", async () => {
  const { lines, ended } = watch("process.exit(3)");
  await until(() => lines.length === 4);
  expect(lines).toEqual([
    "The worker exited (exit code 3); restarting at once",
    "The worker exited (exit code 3); restarting in 100 ms",
    "The worker exited (exit code 3); restarting in 200 ms",
    "The worker exited (exit code 3); restarting in 400 ms",
  ]);
  expect(new Set(ended).size).toBe(4);
});

test("a worker that exits after finishing a task is restarted at once, every time", async () => {
  const { lines, recorded } = watch("process.send({ type: 'finished' }, () => process.exit(3))");
  await until(() => lines.length === 4);
  expect(lines).toEqual(lines.map(() => "The worker exited (exit code 3); restarting at once"));
  expect(recorded()).toBeGreaterThanOrEqual(4);
});

test("a worker that never stays up is reported with its last output, and retried rarely", async () => {
  const { supervisor, lines, ended, logged } = watch(
    "console.error('no disk'); console.error('no luck'); process.exit(3)",
    {
      maxEnds: 3,
      givenUpWaitMs: 200,
    },
  );
  await until(() => ended.length === 3);
  await until(() => supervisor.status().state === "given_up");
  const { why, pid } = supervisor.status();
  expect(pid).toBeNull();
  expect(why).toBe(
    "the worker exited 3 times in a row without finishing a task, the last time with exit code 3; output: no disk | no luck",
  );
  expect(lines.at(-1)).toMatch(
    /^No tasks are running: the worker exited 3 times .* every 0.2 seconds; .* SIGHUP to process \d+$/,
  );
  expect(logged().at(-1)).toMatchObject({ level: "error", part: "service", how: "exit code 3", ends_in_a_row: 3 });
  expect(logged().filter(({ part, message }) => part === "worker" && message === "no luck")).toHaveLength(3);
  await until(() => ended.length === 4);
  expect(supervisor.status().state).toBe("given_up");
});

test("a worker that recovered counts as healthy once it has finished a task", async () => {
  const script = `
    import { existsSync, writeFileSync } from "node:fs";
    const mark = process.argv[1] + ".fixed";
    if (!existsSync(mark)) process.exit(3);
    ${ALIVE} process.send({ type: 'alive' }); process.on('message', () => process.send({ type: 'finished' }));`;
  const folder = mkdtempSync(join(tmpdir(), "autonous-fixed-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const program = join(folder, "worker.mjs");
  writeFileSync(program, script);
  const { supervisor, lines } = watch("", { program, maxEnds: 2, givenUpWaitMs: 3_600_000 });
  await until(() => supervisor.status().state === "given_up");
  writeFileSync(`${program}.fixed`, "");
  supervisor.restart(); // by SIGHUP: no wait for an hour
  await until(() => supervisor.status().pid !== null);
  expect(supervisor.status().state).toBe("given_up"); // it has not shown anything yet
  await until(() => {
    supervisor.wake();
    return supervisor.status().state === "working";
  });
  expect(supervisor.status().why).toBeNull();
  expect(lines.at(-1)).toBe("The worker recovered; tasks run again");
});

// oxfmt-ignore
const HANGING = [
  { title: "hangs",                                    program: "process.send({ type: 'alive' }); for (;;);" },
  { title: "hangs before its first message",            program: "for (;;);" },
  { title: "runs, but its store does not answer", program: "setInterval(() => {}, 10)" },
];

test.each(HANGING)("a worker that $title is killed and replaced", async ({ program }) => {
  const { lines, ended } = watch(program);
  await until(() => lines.length === 2);
  expect(lines[0]).toContain("The worker hangs");
  expect(lines[1]).toBe("The worker exited (SIGKILL); restarting at once");
  expect(ended[0]).not.toContain("blameless");
});

test("a slowly starting worker does not count as hung", async () => {
  const started = join(mkdtempSync(join(tmpdir(), "autonous-slow-")), "started");
  onTestFinished(() => rmSync(dirname(started), { recursive: true }));
  const program = `import { appendFileSync } from "node:fs"; appendFileSync(${JSON.stringify(started)}, "x");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2000); ${ALIVE}`; // fifty checks
  const { supervisor, lines } = watch(program);
  await until(() => supervisor.status().state === "working");
  expect(lines).toEqual([]);
  expect(readFileSync(started, "utf8")).toBe("x");
});

test("a supervisor that was asleep itself does not report its worker as hung", async () => {
  const { lines, recorded } = watch(`${ALIVE} setInterval(() => process.send({ type: 'recorded' }), 100)`);
  await until(() => recorded() > 0);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500); // more than fifteen checks
  const before = recorded();
  await until(() => recorded() > before + 5);
  expect(lines).toEqual([]);
});

test("starting a worker is retried", async () => {
  // No argument of a program may be so long.
  const { lines, ended } = watch(ALIVE, { words: ["x".repeat(1_000_000)] });
  await until(() => lines.length === 2);
  expect(lines[0]).toMatch(/^The worker exited \(it could not be started: .*E2BIG.*\); restarting at once$/);
  expect(lines[1]).toContain("100 ms");
  expect(ended).toHaveLength(2);
});

test("an error in the worker-end handler is reported, and the next worker still starts", async () => {
  const { lines } = watch("process.exit(3)", { onWorkerEnd: () => Promise.reject(new Error("the store is locked")) });
  await until(() => lines.length === 6);
  expect(lines[0]).toBe("Cannot release the tasks of the exited worker: the store is locked");
  expect(lines[5]).toContain("200 ms");
});

test("a supervisor that is stopped asks its worker to exit, and starts no other", async () => {
  const { supervisor, lines, ended, recorded } = watch(`${ALIVE} ${DRAINED} process.send({ type: 'recorded' })`);
  await until(() => recorded() === 1);
  await supervisor.stop(60_000);
  expect(ended).toHaveLength(1);
  expect(lines).toEqual([]);
  expect(supervisor.status()).toMatchObject({ state: "stopped", pid: null, ends: 0 });
});

test("a worker that does not exit on request is killed, and its tasks count no crash", async () => {
  const { supervisor, ended, recorded } = watch(`${ALIVE} process.send({ type: 'recorded' })`);
  await until(() => recorded() === 1);
  await supervisor.stop(50);
  expect(ended).toEqual([expect.stringMatching(/ blameless$/)]);
});

test("a worker that crashes while it drains counts as a crash", async () => {
  const crash = "process.on('message', ({ type }) => type === 'drain' && process.exit(3));";
  const { supervisor, ended, recorded } = watch(`${ALIVE} ${crash} process.send({ type: 'recorded' })`);
  await until(() => recorded() === 1);
  await supervisor.stop(60_000);
  expect(ended).toEqual([expect.stringMatching(/^[\d-]+$/)]);
});

test("a worker that is killed while it drains delays nothing", async () => {
  const { supervisor, ended, recorded } = watch(`${ALIVE} process.send({ type: 'recorded' })`);
  await until(() => recorded() === 1);
  const stopped = supervisor.stop(3_600_000);
  supervisor.kill();
  await stopped;
  expect(ended).toEqual([expect.stringMatching(/ blameless$/)]);
});

test("a worker that is replaced finishes first, and the next one starts at once", async () => {
  const { supervisor, lines, ended, recorded } = watch(`${ALIVE} ${DRAINED} process.send({ type: 'recorded' })`);
  await until(() => recorded() === 1);
  const { pid } = supervisor.status();
  supervisor.restart();
  supervisor.restart(); // twice does no harm
  await until(() => recorded() === 2);
  expect(supervisor.status().pid).not.toBe(pid);
  expect(supervisor.status()).toMatchObject({ state: "working", ends: 0 });
  expect(ended).toHaveLength(1);
  expect(lines).toEqual([]);
});

/** Workers that have ended are seen off only when the test says so. */
class SlowGoodbye {
  count = 0;
  readonly #said = Promise.withResolvers<void>();

  readonly onWorkerEnd = async (): Promise<void> => {
    this.count++;
    await this.#said.promise;
  };

  say(): void {
    this.#said.resolve();
  }
}

// oxfmt-ignore
const ASKED_LATE = [
  { title: "ended",       maxEnds: 100, told: "The worker exited (exit code 3); restarting at once" },
  { title: "is given up", maxEnds: 1,   told: "No tasks are running: " },
];

test.each(ASKED_LATE)(
  "a restart while a worker that $title is seen off starts one worker",
  async ({ maxEnds, told }) => {
    const goodbye = new SlowGoodbye();
    const first = "import { existsSync, writeFileSync } from 'node:fs'; const mark = process.argv[1] + '.second';";
    const ends = "if (!existsSync(mark)) { writeFileSync(mark, ''); process.exit(3); }";
    const { supervisor, lines, logged } = watch(`${first} ${ends} ${ALIVE} process.send({ type: 'recorded' })`, {
      onWorkerEnd: goodbye.onWorkerEnd,
      maxEnds,
      givenUpWaitMs: 3_600_000,
    });
    const started = (): unknown[] => logged().filter(({ message }) => message === "Worker started");
    await until(() => goodbye.count === 1);

    supervisor.restart();
    supervisor.restart();
    const { pid } = supervisor.status();
    goodbye.say();

    expect(pid).toBeNull();
    await until(() => supervisor.status().pid !== null);
    expect(lines).toEqual([expect.stringContaining(told)]);
    await supervisor.stop(0);
    expect(goodbye.count).toBe(2);
    expect(started()).toHaveLength(2);
  },
);

test("a restart during the worker-end handler starts no worker once the supervisor is stopped", async () => {
  const goodbye = new SlowGoodbye();
  const { supervisor, logged } = watch("process.exit(3)", { onWorkerEnd: goodbye.onWorkerEnd });
  await until(() => goodbye.count === 1);
  supervisor.restart();
  const stopped = supervisor.stop(60_000);
  goodbye.say();
  await stopped;
  expect(supervisor.status()).toMatchObject({ state: "stopped", pid: null });
  expect(logged().filter(({ message }) => message === "Worker started")).toHaveLength(1);
});

test("a supervisor that is stopped while it waits for the next start starts nothing", async () => {
  const { supervisor, lines, ended } = watch("process.exit(3)");
  await until(() => lines.length === 2);
  await supervisor.stop(60_000);
  supervisor.restart();
  expect(ended).toHaveLength(2);
  expect(supervisor.status()).toMatchObject({ state: "stopped", pid: null });
});

test("a worker's output is reported line by line, from both streams", async () => {
  const { lines, logged } = watch(
    `${ALIVE} process.stdout.write("one\\n\\ntw"); console.error("three"); process.stdout.write("o")`,
  );
  await until(() => lines.length === 2);
  expect([...lines].sort()).toEqual(["one", "three"]);
  expect(logged().find(({ message }) => message === "three")).toMatchObject({ level: "warn", part: "worker" });
});
