/** Processes that nothing ties to their runtime, and runtimes that are killed. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { halfLaunch } from "../../../../../test/support/half-launch.ts";
import { childrenOf, isAlive, marker, processesWith, wordsOf } from "../../../../../test/support/processes.ts";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { startChild } from "./child.ts";
import type { Child } from "./child.ts";
import { findProgram } from "./programs.ts";

const limits = { memory_bytes: 4e9, processes: 256, file_bytes: 1e9, open_files: 1024 };
const bash = (await findProgram("bash", { roots: [] })) ?? "";
const SOON = { timeout: 60_000 };

/** Two processes that leave the session of the one that started them. */
const half = (word: string): string => `setsid sleep ${word} & setsid setsid sleep ${word} & wait`;

/** A program that starts these commands, one after the other, and waits for their ends. */
async function program(commands: readonly string[]): Promise<ChildProcess> {
  const { path } = await scratchFolder();
  const url = (name: string): string => JSON.stringify(pathToFileURL(join(import.meta.dirname, name)).href);
  const source = `
    import { startChild } from ${url("child.ts")};
    import { halfLaunch } from ${url("../../../../../test/support/half-launch.ts")};
    const options = { call_id: "call", limits: ${JSON.stringify(limits)}, onOutput() {} };
    for (const run of ${JSON.stringify(commands)})
      startChild(halfLaunch(run, ${JSON.stringify({ bash, folder: path })}), options).ended.catch(() => {});
  `;
  const child = spawn(process.execPath, ["--input-type=module", "-e", source], { stdio: "inherit" });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

async function start(run: string): Promise<Child> {
  const { path } = await scratchFolder();
  return startChild(halfLaunch(run, { bash, folder: path }), { call_id: "call", limits, onOutput() {} });
}

const keepersOf = (pid = 0): number[] =>
  childrenOf(pid).filter((each) => isAlive(each) && wordsOf(each).includes("autonous-keeper"));

test("a killed runtime leaves no process, even where the kernel kills none with it", async () => {
  const [word, other] = [marker(), marker()];
  const killed = await program([half(word), half(word)]);
  const untouched = await program([half(other)]);
  await vi.waitFor(() => expect(processesWith(`sleep\0${word}`).length).toBe(4), SOON);
  await vi.waitFor(() => expect(processesWith(`sleep\0${other}`).length).toBe(2), SOON);
  const [keeper = 0] = keepersOf(killed.pid);
  process.kill(keeper, "SIGTERM");
  process.kill(keeper, "SIGHUP");

  killed.kill("SIGKILL");

  await vi.waitFor(() => expect(processesWith(word)).toEqual([]), SOON);
  await vi.waitFor(() => expect(isAlive(keeper)).toBe(false), SOON);
  expect(processesWith(`sleep\0${other}`).length).toBe(2);
  untouched.kill("SIGKILL");
  await vi.waitFor(() => expect(processesWith(other)).toEqual([]), SOON);
});

test("a program that is done exits, and its keeper with it", async () => {
  const { path } = await scratchFolder();
  const seen = join(path, "seen");
  const ending = await program([`until [ -e ${seen} ]; do sleep 0.01; done`]);
  const code = new Promise((resolve) => ending.once("exit", resolve));
  let keepers: number[] = [];
  await vi.waitFor(() => expect((keepers = keepersOf(ending.pid))).toHaveLength(1), SOON);

  writeFileSync(seen, "");

  expect(await code).toBe(0);
  await vi.waitFor(() => expect(keepers.filter(isAlive)).toEqual([]), SOON);
});

test("a killed keeper is replaced at the next command, and there is only one", async () => {
  const run = async (): Promise<void> => {
    await expect((await start("true")).ended).rejects.toMatchObject({ code: "SandboxUnavailable" });
  };
  await run();
  await run();
  const [first = 0, ...more] = keepersOf(process.pid);
  expect(first).toBeGreaterThan(0);
  expect(more).toEqual([]);

  process.kill(first, "SIGKILL");
  await vi.waitFor(async () => {
    await run();
    expect(keepersOf(process.pid)).toHaveLength(1);
  }, SOON);
  expect(keepersOf(process.pid)).not.toContain(first);
});

test("a sandbox that is killed before it reports its first process leaves nothing", async () => {
  const word = marker();
  const child = await start(half(word));
  await vi.waitFor(() => expect(processesWith(`sleep\0${word}`).length).toBe(2), SOON);

  child.stop();
  await child.ended;

  expect(processesWith(word).filter((pid) => isAlive(Number(pid)))).toEqual([]);
});

test("a runtime without a running command has no keeper", async () => {
  await expect((await start("true")).ended).rejects.toMatchObject({ code: "SandboxUnavailable" });

  await vi.waitFor(() => expect(keepersOf(process.pid)).toEqual([]), SOON);
});
