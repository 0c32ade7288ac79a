import { spawn } from "node:child_process";
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { lockStateFolder } from "../../store/sqlite/state-lock.ts";
import { WORKER_NAME } from "../../supervisor/messages.ts";

/** A process that looks like a worker whose supervisor is gone: so does one of a supervisor in another container. */
async function startLookalike(state_dir: string): Promise<ChildProcessWithoutNullStreams> {
  const program = "process.stdout.write('here'); setInterval(() => {}, 1000)";
  const child = spawn(process.execPath, ["-e", program, "--", "worker", "--state-dir", state_dir], {
    env: { ...process.env, [WORKER_NAME]: `${process.ppid}-1-1` },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout, "data");
  return child;
}

test("a start that is refused because a service runs does not touch that service's worker", async () => {
  const { path } = await scratchFolder();
  const [root, state_dir] = [join(path, "root"), join(path, "state")];
  for (const folder of [root, state_dir]) mkdirSync(folder);
  const unlock = lockStateFolder(state_dir);
  onTestFinished(() => unlock?.());
  const worker = await startLookalike(state_dir);

  const bin = join(import.meta.dirname, "../bin.ts");
  const serve = spawn(process.execPath, ["--conditions=@autonous/source", bin, "serve", "--root", root], {
    env: { PATH: process.env["PATH"], HOME: path, AUTONOUS_STATE_DIR: state_dir, AUTONOUS_HTTP_PORT: "0" },
  });
  onTestFinished(() => void serve.kill("SIGKILL"));
  const [said, [code]] = await Promise.all([text(serve.stderr), once(serve, "exit")]);

  expect(said).toContain(`Cannot serve from "${state_dir}": the process ${process.pid} already serves from it`);
  expect(code).not.toBe(0);
  expect(worker).toMatchObject({ exitCode: null, signalCode: null });
});
