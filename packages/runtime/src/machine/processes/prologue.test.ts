import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { openSandbox } from "../sandbox/sandbox.ts";
import { suspendMovers } from "./suspend-movers.ts";
import type { Launch } from "./launch.ts";
import { stateOf, treeOf } from "./process-tree.ts";
import { findProgram, PROGRAMS } from "./programs.ts";

const hasBwrap = (await findProgram("bwrap", { roots: [] })) !== undefined;
const needs = hasBwrap ? "" : ` (skipped: needs bwrap, ${PROGRAMS.bwrap.install})`;
const limits = { memory_bytes: 4e9, processes: 256, file_bytes: 1e9, open_files: 1024 };

async function launchOf(run: string) {
  const { path, make } = await scratchFolder();
  await make({ "root/": "", "state/": "" });
  const at = (name: string): string => join(path, name);
  const workspace = { roots: [at("root")], home: at("home"), state_dirs: [at("state")] };
  const sandbox = await openSandbox({ mode: "required", workspace, state_dir: at("state"), limits });
  onTestFinished(() => sandbox.close());
  const launch = sandbox.launch({ run, cwd: at("root") });
  onTestFinished(() => launch.close());
  return { at, launch };
}

/** As the runtime starts it; a runtime that is gone has closed its end of the lifeline before bubblewrap does anything. */
async function start({ program, args, environment, descriptors }: Launch, runtime: "lives" | "is gone") {
  const stdio = ["ignore", "pipe", "ignore", ...descriptors.map((each) => (each === "lifeline" ? "pipe" : each))];
  const child = spawn(program, args, { cwd: "/", env: environment, stdio: stdio as "pipe"[] });
  const lifeline = child.stdio[3 + descriptors.indexOf("lifeline")];
  if (runtime === "is gone") lifeline?.destroy();
  let said = "";
  child.stdout?.on("data", (piece: Buffer) => (said += piece.toString()));
  const code = await new Promise((resolve) => child.stdout?.once("close", () => resolve(child.exitCode)));
  lifeline?.destroy();
  return { said, code };
}

test.skipIf(!hasBwrap)(`a command whose runtime died during sandbox setup never starts${needs}`, async () => {
  const { at, launch } = await launchOf("touch made; echo ran");

  expect((await start(launch, "is gone")).said).toBe("");
  expect(existsSync(at("root/made"))).toBe(false);
});

test.skipIf(!hasBwrap)(
  `a command whose runtime lives begins, and finds no trace of what it waited for${needs}`,
  async () => {
    const { at, launch } = await launchOf('touch made; echo "[${REPLY-none}] [$?]"; ls /proc/self/fd | wc -l');

    // The fourth is the folder that ls itself reads.
    expect((await start(launch, "lives")).said).toBe("[none] [0]\n4\n");
    expect(existsSync(at("root/made"))).toBe(true);
  },
);

test.skipIf(!hasBwrap)(`a command that is held before it starts is not stopped, and waits${needs}`, async () => {
  const { at, launch } = await launchOf("touch made; echo ran");
  const release = suspendMovers([at("root")]);
  const started = start(launch, "lives");
  const hasBegun = (): boolean => existsSync(at("root/made"));
  const shell = await vi.waitFor(() => waitingShell(launch), { timeout: 20_000 });

  expect([stateOf(shell), hasBegun()]).toEqual([expect.not.stringMatching(/T/), false]);
  release?.();
  expect((await started).said).toBe("ran\n");
  expect(hasBegun()).toBe(true);
});

test.skipIf(!hasBwrap)(`a command that is held before it starts ends with its runtime${needs}`, async () => {
  const { at, launch } = await launchOf("touch made; echo ran");
  suspendMovers([at("root")]);

  expect((await start(launch, "is gone")).said).toBe("");
  expect(existsSync(at("root/made"))).toBe(false);
});

/** The first process inside, once it has one of its own that runs. */
function waitingShell({ inner }: Launch): number {
  const [, shell] = treeOf(inner() ?? fail("no process inside yet"), 8);
  return shell ?? fail("no shell inside yet");
}

function fail(message: string): never {
  throw new Error(message);
}

test.skipIf(!hasBwrap)(`a folder with names that look like variables has no effect${needs}`, async () => {
  const { launch } = await launchOf("echo ran");
  const { launch: other } = await launchOf("touch REPLY1 REPLY; echo ran; set -f; bash -c 'echo again'");

  expect((await start(launch, "lives")).said).toBe("ran\n");
  expect((await start(other, "lives")).said).toBe("ran\nagain\n");
});
