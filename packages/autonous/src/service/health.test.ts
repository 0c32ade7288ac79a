import { expect, test } from "vitest";
import type { WorkerStatus } from "../supervisor/supervisor.ts";
import { createHealth } from "./http.ts";

function status(state: WorkerStatus["state"]): WorkerStatus {
  return { state, pid: 1, ends: 0, why: "SECRET" };
}

const kv = { get: () => Promise.resolve(undefined), set: () => Promise.resolve() };

// oxfmt-ignore
const STATES = [
  { state: "starting", says: undefined },
  { state: "working",  says: undefined },
  { state: "waiting",  says: /is restarting$/ },
  { state: "given_up", says: /keeps exiting/ },
  { state: "stopped",  says: /stopping$/ },
] as const;

for (const { state, says } of STATES) {
  test(`a service whose worker is "${state}" is ${says === undefined ? "healthy" : "unhealthy"}, and its health reveals no details`, async () => {
    const health = await createHealth({ store: { kv }, workerStatus: () => status(state), clock: () => 0 })();
    expect(health).toEqual(
      says === undefined ? { ok: true } : { ok: false, why: expect.stringMatching(says) as string },
    );
  });
}

test("a store that cannot be written makes the service unhealthy; it is checked again, but rarely", async () => {
  let now = 0;
  let writes = 0;
  let problem: Error | undefined = new Error("SECRET: no space left");
  const set = async (): Promise<void> => {
    writes++;
    await Promise.resolve();
    if (problem !== undefined) throw problem;
  };
  const health = createHealth({
    store: { kv: { ...kv, set } },
    workerStatus: () => status("working"),
    clock: () => now,
  });
  for (let i = 0; i < 10; i++) expect(await health()).toEqual({ ok: false, why: "cannot write to the store" });
  expect(writes).toBe(1);
  problem = undefined;
  now = 6000;
  expect(await health()).toEqual({ ok: true });
  now = -100_000; // a clock that was set back
  expect(await health()).toEqual({ ok: true });
  expect(writes).toBe(3);
});
