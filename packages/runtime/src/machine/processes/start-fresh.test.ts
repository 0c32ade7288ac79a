import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { keepPrinted } from "../../../../../test/support/printed.ts";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { openSandbox } from "../sandbox/sandbox.ts";
import type { Launch } from "./launch.ts";
import { findProgram, PROGRAMS } from "./programs.ts";
import { runCommand } from "./run.ts";

const hasBwrap = (await findProgram("bwrap", { roots: [] })) !== undefined;
const needs = hasBwrap ? "" : ` (skipped: needs bwrap, ${PROGRAMS.bwrap.install})`;
const limits = { memory_bytes: 4e9, processes: 256, file_bytes: 1e9, open_files: 1024 };

async function sandbox() {
  const { path, make } = await scratchFolder();
  await make({ "root/": "", "state/": "" });
  const at = (name: string): string => join(path, name);
  const workspace = { roots: [at("root")], home: at("home"), state_dirs: [at("state")] };
  const opened = await openSandbox({ mode: "required", workspace, state_dir: at("state"), limits });
  onTestFinished(() => opened.close());
  let launches = 0;
  /** In the first launches the writable folder does not exist, so the sandbox does not start. */
  const failing = (times: number) => (): Launch => {
    const writable = launches++ < times ? [at("not-there")] : [];
    return opened.launch({ run: "echo ran >> runs; echo complained >&2", cwd: at("root"), writable });
  };
  const options = { timeout_ms: 20_000, signal: new AbortController().signal, call_id: "call", limits };
  return { at, failing, options, launches: () => launches };
}

test.skipIf(!hasBwrap)(`a sandbox that did not start is set up again, and the command runs once${needs}`, async () => {
  const { at, failing, options } = await sandbox();
  const { onOutput, stderr } = keepPrinted();
  const end = await runCommand(failing(2), { ...options, onOutput });

  expect(end).toMatchObject({ exit_code: 0, sandbox: "bwrap" });
  expect(readFileSync(at("root/runs"), "utf8")).toBe("ran\n");
  expect(stderr()).toBe("complained\n");
});

test.skipIf(!hasBwrap)(`a sandbox that never starts is given up on, and nothing runs${needs}`, async () => {
  const { at, failing, options, launches } = await sandbox();

  await expect(runCommand(failing(100), options)).rejects.toMatchObject({ code: "SandboxUnavailable" });
  expect(launches()).toBe(3);
  expect(existsSync(at("root/runs"))).toBe(false);
});
