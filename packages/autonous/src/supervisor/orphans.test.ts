import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { scratchFolder } from "../../../../test/support/scratch.ts";
import { WORKER_NAME } from "./messages.ts";
import { endOrphans } from "./orphans.ts";

/** A process that looks like a worker and is asleep. */
async function sleeping(supervisor: number, words: readonly string[]): Promise<number> {
  const program = "process.stdout.write('here'); setInterval(() => {}, 1000)";
  const child = spawn(process.execPath, ["-e", program, "--", ...words], {
    env: { ...process.env, [WORKER_NAME]: `${supervisor}-1-1` },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout, "data");
  child.kill("SIGSTOP");
  return child.pid ?? 0;
}

test("a worker whose supervisor has exited is killed, even while it sleeps; any other is left alone", async () => {
  const { path } = await scratchFolder();
  const gone = process.ppid; // any process but the parent
  const orphan = await sleeping(gone, ["worker", "--root", "/", "--state-dir", path]);
  await sleeping(process.pid, ["worker", "--state-dir", path]);
  await sleeping(gone, ["worker", "--state-dir", `${path}-of-another`]);
  await sleeping(gone, ["serve", "--state-dir", path]);
  expect(endOrphans(path)).toEqual([orphan]);
});

test("without an earlier service no process is killed", async () => {
  const { path } = await scratchFolder();
  expect(endOrphans(`${path}/none`)).toEqual([]);
});
