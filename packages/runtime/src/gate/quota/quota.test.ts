import { expect, test } from "vitest";
import { z } from "zod";
import { scratch } from "../../../../../test/support/scratch.ts";
import { defineTool } from "../../contract/tool.ts";
import type { Quota } from "../../protocol/configuration.ts";
import type { RuntimeOptions } from "../../options/runtime-options.ts";
import { createMemoryQuotas } from "./memory-quotas.ts";

const START = Date.parse("2026-01-01T00:00:00.000Z");
const HOUR = 3_600_000;

async function limited(quotas: readonly Quota[], more: Partial<RuntimeOptions> = {}) {
  const time = { now: START };
  const made = await scratch({ config: { quotas: [...quotas] }, clock: () => time.now, ...more });
  return { ...made, time };
}

const who = { chat: "c1", user: "ada" };

test("a quota in a window fills, says when to come back, and has room again then", async () => {
  const { runtime, time } = await limited([{ per: "chat", calls: 2, window_seconds: 3600 }]);
  const look = async (chat = "c1") => (await runtime.call({ name: "ls", args: {} }, { chat })).error;
  expect(await look()).toBeNull();
  time.now += 10 * 60_000;
  expect(await look()).toBeNull();
  expect(await look()).toMatchObject({
    code: "QuotaExceeded",
    message:
      'Cannot run "ls": this chat has used 2 of its 2 calls in 60 minutes; available again from 2026-01-01T01:00:00.000Z, in 50 minutes',
    details: { quota: { per: "chat" }, counted: "calls", used: 2, limit: 2, retry_at: "2026-01-01T01:00:00.000Z" },
    hint: expect.stringContaining("2026-01-01T01:00:00.000Z") as string,
  });
  expect(await look("c2")).toBeNull();
  time.now = START + HOUR;
  expect(await look()).toBeNull();
  expect((await look())?.details?.["retry_at"]).toBe("2026-01-01T01:10:00.000Z");
});

test("a name in two forms of Unicode has one account", async () => {
  const quotas: Quota[] = [{ per: "user", calls: 2, window_seconds: 3600 }];
  const { runtime } = await limited(quotas);
  const look = async (user: string) => (await runtime.call({ name: "ls", args: {} }, { user })).error?.code;
  expect([await look("Zo\u00eb"), await look("Zoe\u0308"), await look("Zo\u00eb"), await look("zo\u00eb")]).toEqual([
    undefined,
    undefined,
    "QuotaExceeded",
    undefined,
  ]);
});

test("a quota of a run does not come back, and says so", async () => {
  const { runtime, time } = await limited([{ per: "run", calls: 1 }]);
  await runtime.call({ name: "ls", args: {} });
  time.now += 1000 * HOUR;
  expect((await runtime.call({ name: "ls", args: {} })).error).toMatchObject({
    code: "QuotaExceeded",
    message: expect.stringContaining("a new run starts at zero") as string,
    details: { retry_at: null },
  });
  expect((await runtime.call({ name: "ls", args: {}, run_id: "another" })).ok).toBe(true);
});

test("calls side by side get no more through than there is room for", async () => {
  const { runtime } = await limited([{ per: "run", calls: 5 }]);
  const results = await Promise.all(Array.from({ length: 12 }, () => runtime.call({ name: "ls", args: {} })));
  expect(results.filter(({ ok }) => ok)).toHaveLength(5);
});

test("a call that is refused costs nothing, and releases its reservation", async () => {
  const { runtime } = await limited([{ per: "run", calls: 1 }], { onApproval: () => ({ answer: "deny" }) });
  runtime.register(asked());
  expect((await runtime.call({ name: "ls", args: { path: "/etc" } })).error?.code).toBe("PathTraversalBlocked");
  expect((await runtime.call({ name: "ask", args: {} })).error?.code).toBe("ApprovalDenied");
  expect((await runtime.call({ name: "ls", args: {} })).ok).toBe(true);
  expect((await runtime.call({ name: "ls", args: {} })).error?.code).toBe("QuotaExceeded");
});

test("room is held while a person is asked, so that their yes is worth something", async () => {
  const answer = Promise.withResolvers<{ answer: "grant" }>();
  const asking = Promise.withResolvers<void>();
  const { runtime } = await limited([{ per: "run", calls: 1 }], {
    onApproval: () => (asking.resolve(), answer.promise),
  });
  runtime.register(asked());
  const waiting = runtime.call({ name: "ask", args: {} });
  await asking.promise;
  expect((await runtime.call({ name: "ls", args: {} })).error?.code).toBe("QuotaExceeded");
  answer.resolve({ answer: "grant" });
  expect((await waiting).ok).toBe(true);
});

test("executions are counted apart, and hold up no call that runs nothing", async () => {
  const { runtime } = await limited([{ per: "user", executions: 1, window_seconds: 60 }], { profile: "autonomous" });
  const bash = async () => (await runtime.call({ name: "bash", args: { cmd: "true" } }, who)).error?.code;
  expect([await bash(), await bash()]).toEqual([undefined, "QuotaExceeded"]);
  expect((await runtime.call({ name: "ls", args: {} }, who)).ok).toBe(true);
});

test("bytes are counted after they were written, by the file handle or by a command, and then hold up what may write", async () => {
  const { runtime, call, path } = await limited([{ per: "run", bytes_written: 100 }], {
    profile: "autonomous",
    sandbox: "off",
  });
  expect(path).not.toBe("");
  expect((await call("write", { path: "a", content: "x".repeat(60) })).ok).toBe(true);
  expect((await call("bash", { cmd: "printf %50s > b" })).ok).toBe(true);
  expect((await call("write", { path: "c", content: "x" })).error).toMatchObject({
    code: "QuotaExceeded",
    details: { counted: "bytes_written", used: 110, limit: 100 },
  });
  expect((await call("ls")).ok).toBe(true);
  expect((await runtime.call({ name: "write", args: { path: "c", content: "x" }, run_id: "another" })).ok).toBe(true);
});

test("tokens are charged by the host, and the next call is refused when they are used up", async () => {
  const { runtime } = await limited([{ per: "chat", tokens: 1000, window_seconds: 60 }]);
  await runtime.charge({ tokens: 999 }, who);
  expect((await runtime.call({ name: "ls", args: {} }, who)).ok).toBe(true);
  await runtime.charge({ tokens: 1 }, who);
  expect((await runtime.call({ name: "ls", args: {} }, who)).error).toMatchObject({
    code: "QuotaExceeded",
    message: expect.stringContaining("used 1000 of its 1000 tokens") as string,
  });
  expect((await runtime.call({ name: "ls", args: {} }, { chat: "c2" })).ok).toBe(true);
});

test("with no quota nothing is counted", async () => {
  const keeper = createMemoryQuotas();
  const { runtime } = await limited([], { quotas: keeper });
  await runtime.call({ name: "ls", args: {} });
  await runtime.charge({ tokens: 5 });
  expect(await keeper.used({ per: "run", id: runtime.run_id }, 0)).toMatchObject({
    counts: { calls: 0, tokens: 0 },
    oldest_ms: null,
  });
});

test("a keeper in memory stays small however long it counts, and forgets nothing that is in the window", async () => {
  const keeper = createMemoryQuotas();
  const holder = { run_id: "r" };
  for (let i = 1; i <= 20_000; i++) await keeper.add(holder, { calls: 1 }, i * 2000);
  expect((await keeper.used({ per: "run", id: "r" }, 0)).counts.calls).toBe(20_000);
  const lately = await keeper.used({ per: "run", id: "r" }, 19_000 * 2000);
  expect(lately).toMatchObject({ counts: { calls: 1000 }, oldest_ms: 19_001 * 2000 });
});

function asked() {
  return defineTool({
    name: "ask",
    version: "1.0.0",
    description: "Asked about",
    args: z.strictObject({}),
    returns: z.strictObject({}),
    required_permissions: [],
    side_effects: ["none"],
    execute: async () => ({ data: {} }),
  });
}
