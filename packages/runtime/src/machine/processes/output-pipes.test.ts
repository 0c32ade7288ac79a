import { spawn } from "node:child_process";
import { closeSync, existsSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { expect, onTestFinished, test, vi } from "vitest";
import { keepPrinted } from "../../../../../test/support/printed.ts";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { openSandbox } from "../sandbox/sandbox.ts";
import { openHandle } from "../system/handle.ts";
import { PipePool } from "./output-pipes.ts";
import { runCommand } from "./run.ts";

async function pool(): Promise<PipePool> {
  const { path } = await scratchFolder();
  const pipes = new PipePool(join(path, "handover"));
  onTestFinished(() => pipes.close());
  return pipes;
}

async function readAll(output: Readable): Promise<string> {
  let said = "";
  for await (const piece of output) said += String(piece);
  return said;
}

test("a pipe is never reused, whatever handles of it remain", async () => {
  const pipes = await pool();
  const first = pipes.take();
  if (first === undefined) return; // this machine has no mkfifo, and no pipe is shared there
  const kept = openHandle(`/proc/self/fd/${first.writer}`);
  onTestFinished(() => closeSync(kept));
  closeSync(first.writer);
  expect(await readAll(first.output)).toBe("");
  first.release();

  for (let each = 0; each < 100; each++) {
    const next = pipes.take();
    if (next === undefined) throw new Error("no pipe available");
    // The kept pipe has no reader, so opening it for writing without blocking fails.
    expect(() => openSync(`/proc/self/fd/${kept}`, 0o4001)).toThrow(/ENXIO/);
    writeSync(next.writer, "truth");
    closeSync(next.writer);
    expect(await readAll(next.output)).toBe("truth");
    next.release();
  }
});

test("a process that kept its command's output open cannot write to the output of a later one", async () => {
  const { path, make } = await scratchFolder();
  await make({ "root/": "", "state/": "" });
  const at = (name: string): string => join(path, name);
  const limits = { memory_bytes: 4e9, processes: 256, file_bytes: 1e9, open_files: 1024 };
  const workspace = { roots: [at("root")], home: at("home"), state_dirs: [at("state")] };
  const sandbox = await openSandbox({ mode: "off", workspace, state_dir: at("state"), limits });
  onTestFinished(() => sandbox.close());
  const run = async (text: string): Promise<string> => {
    const { onOutput, stdout, stderr } = keepPrinted();
    const signal = new AbortController().signal;
    const launch = (): ReturnType<typeof sandbox.launch> => sandbox.launch({ run: text, cwd: at("root") });
    await runCommand(launch, { timeout_ms: 30_000, signal, call_id: "call", limits, onOutput });
    return stdout() + stderr();
  };
  // It keeps read ends, which go unnoticed, and clears its environment, so that it is not found as the command's.
  const liar = `exec 8</proc/self/fd/1 9</proc/self/fd/2 >/dev/null 2>&1; touch ready
    until [ -e go ]; do sleep 0.02; done
    for each in {1..20}; do echo LIE 1<>/proc/self/fd/8; echo LIE 1<>/proc/self/fd/9; sleep 0.02; done; touch done`;
  await make({ "root/liar": liar });
  expect(await run("env -i PATH=$PATH setsid bash ./liar & until [ -e ready ]; do sleep 0.02; done; echo one")).toBe(
    "one\n",
  );
  onTestFinished(async () => {
    await new Promise((resolve) => spawn("/bin/touch", [at("root/go")]).once("exit", resolve));
    await vi.waitFor(() => expect(existsSync(at("root/done"))).toBe(true), { timeout: 20_000 });
  });

  expect(await run("touch go; until [ -e done ]; do sleep 0.02; done; echo two")).toBe("two\n");
});
