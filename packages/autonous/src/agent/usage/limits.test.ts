import { expect, test } from "vitest";
import { makeWorld, recording, startRuntime } from "../../../../../test/support/agent-world.ts";
import type { World } from "../../../../../test/support/agent-world.ts";
import { exitCodeOf } from "../../cli/exit-codes.ts";
import type { ModelProvider, ModelReply, ModelRequest } from "../../model/provider.ts";
import { reachedLimit } from "./limits.ts";
import { runAgent } from "../loop.ts";
import type { AgentOptions, AgentOutcome } from "../agent-run.ts";

const USED = { turns: 3, worked_ms: 5000, tokens: 700, cost: 0.25 };

// oxfmt-ignore
const CASES = [
  { title: "turns",        limits: { max_turns: 3 },                                 code: "LimitReached", says: /max_turns \(AUTONOUS_MAX_TURNS\) is 3, and 3 are used/ },
  { title: "wall time",    limits: { max_turns: 9, max_wall_time_seconds: 5 },       code: "Timeout",      says: /max_wall_time_seconds \(AUTONOUS_MAX_WALL_TIME_SECONDS\) is 5, and 5 are used/ },
  { title: "tokens",       limits: { max_turns: 9, max_tokens: 700 },                code: "LimitReached", says: /max_tokens \(AUTONOUS_MAX_TOKENS\) is 700/ },
  { title: "cost",         limits: { max_turns: 9, max_cost_cents: 25 },             code: "LimitReached", says: /max_cost_cents \(AUTONOUS_MAX_COST_CENTS\) is 25, and 25 are used/ },
  { title: "no number",    limits: { max_turns: Number.NaN },                        code: "LimitReached", says: /NaN/ },
  { title: "none of them", limits: { max_turns: 4, max_wall_time_seconds: 6, max_tokens: 701, max_cost_cents: 26 }, code: undefined, says: undefined },
] as const;

for (const { title, limits, code, says } of CASES) {
  test(`usage is checked against ${title}`, () => {
    const reached = reachedLimit(limits, USED);
    expect(reached?.code).toBe(code);
    if (says !== undefined) expect(reached?.message).toMatch(says);
  });
}

test("an unknown cost exceeds every cost limit", () => {
  expect(reachedLimit({ max_turns: 9, max_cost_cents: 1_000 }, { ...USED, cost: undefined })?.message).toMatch(
    /no price/,
  );
});

type Native = Extract<ModelReply, { readonly kind: "native" }>;

function answering(replies: readonly Partial<Native>[]): ModelProvider {
  const complete = async ({ rounds }: ModelRequest): Promise<ModelReply> => {
    const reply = replies[Math.min(rounds, replies.length - 1)];
    return { kind: "native", text: "", calls: [], finish: "stop", ...reply };
  };
  return { name: "test:m", protocol: "native", complete };
}

const looking = (mark: string, usage = { input_tokens: 400, output_tokens: 100 }): Partial<Native> => ({
  kind: "native",
  calls: [{ id: mark, name: "look", input: JSON.stringify({ mark }) }],
  usage,
});

async function start(
  options: Partial<AgentOptions>,
): Promise<{ world: World; outcome: AgentOutcome; charged: unknown[] }> {
  const world = await makeWorld();
  const runtime = await startRuntime(world);
  const charged: unknown[] = [];
  const charge: typeof runtime.charge = async (counts, holder) => {
    charged.push([counts, holder]);
    await runtime.charge(counts, holder);
  };
  const provider = recording(answering([looking("1"), looking("2"), looking("3"), { text: "done" }]));
  const task = { text: "Do it", chat: "c1", user: "u1" };
  const outcome = await runAgent({
    runtime: { ...runtime, charge },
    provider,
    task,
    limits: { max_turns: 9 },
    ...options,
  });
  return { world, outcome, charged };
}

test("tokens are counted, charged to quotas and reported, and end the run with what was done", async () => {
  const told: unknown[] = [];
  const { outcome, charged } = await start({
    limits: { max_turns: 9, max_tokens: 1_000 },
    onUsage: (totals) => told.push(totals),
  });
  expect(outcome).toMatchObject({
    outcome: "failed",
    turns: 2,
    error: { code: "LimitReached", message: /max_tokens[^]*1000 are used\. Done so far: look ok, look ok/ },
    usage: { input_tokens: 800, output_tokens: 200, cost: null },
  });
  expect(charged).toEqual([1, 2].map(() => [{ tokens: 500 }, { chat: "c1", user: "u1" }]));
  expect(told).toHaveLength(2);
});

test("cost is computed from the host's price, and ends the run", async () => {
  const costOf: AgentOptions["costOf"] = ({ input_tokens, output_tokens }) => (input_tokens + output_tokens) / 100_000;
  const { outcome, world } = await start({ limits: { max_turns: 9, max_cost_cents: 1 }, costOf });
  expect(outcome).toMatchObject({
    turns: 2,
    error: { code: "LimitReached", message: /max_cost_cents/ },
    usage: { cost: 0.01 },
  });
  expect(world.events.find(({ type }) => type === "model.completed")?.payload).toMatchObject({ cost: 0.005 });
});

test("with a cost limit, a model without a price is not asked at all", async () => {
  const { outcome, charged } = await start({ limits: { max_turns: 9, max_cost_cents: 100 } });
  expect(outcome).toMatchObject({ turns: 0, error: { code: "LimitReached", message: /no price/ } });
  expect(charged).toEqual([]);
});

test("usage that a provider does not report is estimated from the texts", async () => {
  const replies = [{ text: "done" }];
  const { outcome, world } = await start({ provider: answering(replies) });
  expect(outcome.usage.input_tokens).toBeGreaterThan(1_000);
  expect(world.events.find(({ type }) => type === "model.completed")?.payload).toMatchObject({
    usage: { estimated: true },
  });
});

test("a model that takes longer than the run may work is aborted, and the exit code reports the timeout", async () => {
  const provider: ModelProvider = {
    name: "test:slow",
    complete: (_, { signal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
  };
  const { outcome } = await start({ provider, limits: { max_turns: 9, max_wall_time_seconds: 0.05 } });
  expect(outcome).toMatchObject({
    outcome: "failed",
    error: { code: "Timeout", message: /max_wall_time_seconds[^]*No call was made/ },
  });
  expect(exitCodeOf("Timeout")).toBe(124);
});

test("a command that runs longer than the run may work is stopped, and so is the run", async () => {
  const sleeping = { kind: "native", calls: [{ id: "a", name: "bash", input: '{"cmd":"sleep 300"}' }] } as const;
  const { outcome, world } = await start({
    provider: answering([sleeping, { text: "done" }]),
    limits: { max_turns: 9, max_wall_time_seconds: 0.2 },
  });
  expect(outcome).toMatchObject({ turns: 1, error: { code: "Timeout", message: /max_wall_time_seconds/ } });
  expect(world.events.find(({ type }) => type === "tool_call.failed")?.payload).toMatchObject({
    error: { code: "Cancelled" },
  });
});

test("time spent waiting for a person does not count", async () => {
  const world = await makeWorld();
  let now = Date.parse("2026-01-01T00:00:00Z");
  const clock = (): number => now;
  const halfAnHour = 1_800_000;
  const runtime = await startRuntime(world, undefined, {
    clock,
    onApproval: () => {
      now += halfAnHour;
      return { answer: "grant" };
    },
  });
  const stamping = { kind: "native", calls: [{ id: "a", name: "stamp", input: '{"mark":"1"}' }] } as const;
  const provider = answering([stamping, { text: "done" }]);
  const limits = { max_turns: 9, max_wall_time_seconds: 60 };
  const outcome = await runAgent({ runtime, provider, task: { text: "Do it" }, limits, clock });
  expect(outcome).toMatchObject({ outcome: "completed", answer: "done" });
  expect(world.effects.get("stamp 1")).toBe(1);
});
