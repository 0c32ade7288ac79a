import { defineTool } from "@autonous/runtime";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { makeWorld, openJournal, startRuntime } from "../../../../../test/support/agent-world.ts";
import type { Death, World } from "../../../../../test/support/agent-world.ts";
import { startFakeModel } from "../../../../../emulators/fake-model/server.ts";
import type { FakeModel, FakeModelOptions } from "../../../../../emulators/fake-model/server.ts";
import { createAiSdkProvider } from "../../model/ai-sdk-provider.ts";
import { CircuitBreaker } from "../../model/failures/circuit-breaker.ts";
import { modelFailed } from "../../model/failures/model-failure.ts";
import type { CompleteOptions, ModelProvider, ModelReply, ModelRequest, SpentUsage } from "../../model/provider.ts";
import { RETRY } from "../../model/failures/retry.ts";
import { runAgent } from "../loop.ts";
import { createReverseThinker } from "../reverse-thinking.ts";
import type { AgentOptions, AgentOutcome } from "../agent-run.ts";
import { compactHistory } from "../window/summary.ts";

/** An attempt. `billed`: input tokens of a failed one. */
type Attempt = { readonly failed: number | SpentUsage | undefined } | { readonly reply: Partial<ModelReply> };

interface Ledger {
  input: number;
  attempts: number;
}

const USAGE = { input_tokens: 100, output_tokens: 10 };
const look = (mark: string): Attempt => ({
  reply: { kind: "native", calls: [{ id: mark, name: "look", input: JSON.stringify({ mark }) }] },
});
const answer: Attempt = { reply: { text: "done" } };
const failing = (failed: number | SpentUsage | undefined): Attempt => ({ failed });

/** A provider that tries as the real ones do: what an attempt was billed is told, and waited for, before the next one. */
function trying(rounds: readonly (readonly Attempt[])[], ledger: Ledger = { input: 0, attempts: 0 }): ModelProvider {
  async function complete(request: ModelRequest, { onSpent, onRetry, signal }: CompleteOptions): Promise<ModelReply> {
    const attempts = rounds[Math.min(request.rounds, rounds.length - 1)] ?? [];
    for (const [index, attempt] of attempts.entries()) {
      signal.throwIfAborted();
      ledger.attempts += 1;
      if ("reply" in attempt) {
        ledger.input += USAGE.input_tokens;
        return { kind: "native", text: "", calls: [], finish: "stop", usage: USAGE, ...attempt.reply };
      }
      const { failed } = attempt;
      const spent = typeof failed === "number" ? { input_tokens: failed, output_tokens: 0 } : failed;
      ledger.input += spent?.input_tokens ?? 0;
      if (spent !== undefined) await onSpent?.(spent);
      if (index === attempts.length - 1) break;
      onRetry?.({ attempt: index + 2, wait_ms: 0, reason: "it broke off" });
    }
    throw modelFailed("it broke off", { reason: "cut_off", attempts: attempts.length });
  }
  return { name: "test:m", protocol: "native", complete };
}

async function start(
  provider: ModelProvider,
  options: Partial<AgentOptions> = {},
): Promise<{ world: World; outcome: AgentOutcome; tokens: number }> {
  const world = await makeWorld();
  const runtime = await startRuntime(world);
  let tokens = 0;
  const charge: typeof runtime.charge = async (counts, holder) => {
    tokens += counts.tokens ?? 0;
    await runtime.charge(counts, holder);
  };
  const about = { provider, task: { text: "Do it" }, limits: { max_turns: 9 } };
  const outcome = await runAgent({ runtime: { ...runtime, charge }, ...about, ...options });
  return { world, outcome, tokens };
}

const billed = (world: World) =>
  world.events.filter(({ type }) => type === "model.billed").map(({ payload }) => payload);
const costOf: AgentOptions["costOf"] = ({ input_tokens, output_tokens }) => (input_tokens + output_tokens) / 10_000;

test("failed attempts count in totals, cost and quotas, and are recorded", async () => {
  const provider = trying([[failing(100), failing(undefined), failing(90), look("1")], [answer]]);
  const { world, outcome, tokens } = await start(provider, { costOf });
  expect(outcome).toMatchObject({ outcome: "completed", usage: { input_tokens: 390, output_tokens: 20 } });
  expect(outcome.usage.cost).toBeCloseTo(0.041, 12);
  expect(tokens).toBe(410);
  const about = { purpose: "round", outcome: "failed", provider: "test:m" };
  expect(billed(world)).toEqual([
    { ...about, usage: { input_tokens: 100, output_tokens: 0 }, cost: 0.01 },
    { ...about, usage: { input_tokens: 90, output_tokens: 0 }, cost: 0.009 },
  ]);
});

test("the attempts of a failed round stay in the totals", async () => {
  const { outcome } = await start(trying([[failing(100), failing(100), failing(100)]]));
  expect(outcome).toMatchObject({ error: { code: "ModelFailed", reason: "cut_off" }, usage: { input_tokens: 300 } });
});

// oxfmt-ignore
const LIMITED: readonly { readonly title: string; readonly limits: AgentOptions["limits"]; readonly attempts: readonly Attempt[]; readonly begun: number; readonly input: number; readonly says: RegExp }[] = [
  { title: "tokens, where the next attempt would go over", limits: { max_turns: 9, max_tokens: 250 },   attempts: [failing(100), failing(100), failing(100), answer], begun: 2, input: 200, says: /max_tokens .* is 250, and 200 are used; .* about 100 more\. No call was made/ },
  { title: "tokens, to the last one",                      limits: { max_turns: 9, max_tokens: 200 },   attempts: [failing(100), failing(100), failing(100), answer], begun: 2, input: 200, says: /max_tokens .* is 200, and 200 are used\. No call/ },
  { title: "tokens, by one attempt",                       limits: { max_turns: 9, max_tokens: 50 },    attempts: [failing(100), answer],                             begun: 1, input: 100, says: /is 50, and 100 are used\. No call/ },
  { title: "cost",                                         limits: { max_turns: 9, max_cost_cents: 2 }, attempts: [failing(150), failing(10), answer],                begun: 1, input: 150, says: /max_cost_cents .* is 2, and 1\.5 are used; .* about 1\.5 more/ },
  { title: "what a failed attempt wrote into the cache costs less to send again", limits: { max_turns: 9, max_tokens: 230 }, attempts: [failing({ input_tokens: 110, output_tokens: 0, cache_write_tokens: 110 }), answer], begun: 2, input: 210, says: /^$/ },
];

for (const { title, limits, attempts, begun, input, says } of LIMITED) {
  test(`retries do not overrun a limit: ${title}`, async () => {
    const ledger = { input: 0, attempts: 0 };
    const { outcome, world } = await start(trying([attempts], ledger), { limits, costOf });
    expect(ledger.attempts).toBe(begun);
    expect(outcome.usage.input_tokens).toBe(input);
    expect(ledger.input).toBe(input);
    expect(outcome.error?.message ?? "").toMatch(says);
    if (outcome.outcome === "completed") return;
    expect(outcome.error?.code).toBe("LimitReached");
    expect(world.events.find(({ type }) => type === "model.failed")?.payload).toMatchObject({ code: "LimitReached" });
  });
}

test("a provider that ignores the error of a reached limit is stopped anyway", async () => {
  const stubborn: ModelProvider = {
    name: "test:m",
    complete: async (_, { onSpent, signal }) => {
      await onSpent?.({ input_tokens: 1000, output_tokens: 0 }).catch(() => undefined);
      signal.throwIfAborted();
      throw new Error("It was not stopped");
    },
  };
  const { outcome } = await start(stubborn, { limits: { max_turns: 9, max_tokens: 500 } });
  expect(outcome.error).toMatchObject({ code: "LimitReached", message: /1000 are used/ });
});

test("input from the cache counts by its share of the price, and the message says so", async () => {
  const cached = { input_tokens: 1000, output_tokens: 0, cached_input_tokens: 900 };
  const rounds = ["1", "2", "3", "4", "5", "6"].map((mark): Attempt[] => [
    { reply: { ...(look(mark) as { reply: object }).reply, usage: cached } },
  ]);
  const limits = { max_turns: 9, max_tokens: 700 };
  const { outcome, tokens } = await start(trying(rounds), { limits });
  expect(outcome).toMatchObject({ turns: 4, usage: { input_tokens: 4000, cached_input_tokens: 3600 } });
  expect(outcome.error?.message).toMatch(
    /is 700, and 760 are used \(cache reads count by their price: 3240 tokens fewer\)/,
  );
  expect(tokens).toBe(760);
});

test("a reply that was stopped because it repeated itself is charged once, as the provider bills it", async () => {
  let isFirst = true;
  const repeating: ModelProvider = {
    name: "test:m",
    protocol: "native",
    complete: async (_, { onDelta, onSpent, signal }) => {
      if (!isFirst) return { kind: "native", text: "done", calls: [], finish: "stop", usage: USAGE };
      isFirst = false;
      while (!signal.aborted) onDelta?.({ kind: "text", text: "over and over " });
      await onSpent?.({ input_tokens: 77, output_tokens: 5 });
      throw new Error("aborted");
    },
  };
  const { outcome, world } = await start(repeating);
  expect(outcome).toMatchObject({ outcome: "completed", usage: { input_tokens: 177, output_tokens: 15 } });
  expect(billed(world)).toEqual([]);
});

const ROUNDS = [[failing(100), failing(50), look("1")], [look("2")], [failing(30), answer]];

async function live(world: World, ledger: Ledger, death?: Death): Promise<AgentOutcome | undefined> {
  const journal = openJournal(world, death);
  const runtime = await startRuntime(world, journal);
  const task = { text: "Do it", task_id: "task_1" };
  const running = runAgent({ runtime, provider: trying(ROUNDS, ledger), task, limits: { max_turns: 9 } });
  return await Promise.race([running, journal.died.then(() => undefined)]);
}

test("killed after each event, a task counts every attempt exactly once when it is resumed", async () => {
  const whole = await makeWorld();
  const once = await live(whole, { input: 0, attempts: 0 });
  expect(once?.usage.input_tokens).toBe(480);
  for (let event = 1; event < whole.events.length; event++) {
    const world = await makeWorld();
    const ledger = { input: 0, attempts: 0 };
    expect(await live(world, ledger, { event, when: "after" })).toBeUndefined();
    const outcome = await live(world, ledger);
    expect([event, outcome?.outcome, outcome?.usage.input_tokens]).toEqual([event, "completed", ledger.input]);
    const onRecord = world.events.flatMap(({ payload }) =>
      payload["provider"] === "test:m" && payload["usage"] ? [payload["usage"] as SpentUsage] : [],
    );
    expect(onRecord.reduce((sum, { input_tokens }) => sum + input_tokens, 0)).toBe(ledger.input);
  }
});

test("a requested summary charges its failed attempts, and a limit ends it", async () => {
  const world = await makeWorld();
  const runtime = await startRuntime(world);
  const history = [
    { role: "user", text: "Do it" },
    { role: "assistant", text: "Done" },
  ] as const;
  const provider = trying([[failing(100), { reply: { text: "It was done." } }]]);
  const asked = { runtime, provider, task: { text: "", history } };
  expect(await compactHistory({ ...asked, limits: { max_turns: 9 } })).toMatchObject({ summary: "It was done." });
  expect(billed(world)).toMatchObject([{ purpose: "summary", outcome: "failed", usage: { input_tokens: 100 } }]);
  await expect(compactHistory({ ...asked, limits: { max_turns: 9, max_tokens: 150 } })).rejects.toMatchObject({
    code: "LimitReached",
    message: /^Cannot summarise the conversation: Stopped: the limit max_tokens/,
  });
});

test("a verdict on a call is charged to the run, with its failed attempts", async () => {
  const verdict = { hidden_assumptions: ["a"], failure_scenarios: ["b"], verdict: "proceed", verdict_reason: "sound" };
  const dropping: Attempt = { reply: { kind: "native", calls: [{ id: "a", name: "drop", input: "{}" }] } };
  const task = trying([[dropping], [answer]]);
  const judge = trying([[failing(40), { reply: { text: JSON.stringify(verdict) } }]]);
  const provider: ModelProvider = {
    ...task,
    complete: (request, options) => (request.purpose === "reverse_thinking" ? judge : task).complete(request, options),
  };
  const world = await makeWorld();
  const thinker = createReverseThinker({
    provider,
    redactValue: (value) => runtime.redactValue(value),
    signal: new AbortController().signal,
  });
  const runtime = await startRuntime(world, undefined, { onReverseThinking: thinker });
  const args = z.strictObject({});
  const about = { version: "1.0.0", description: "Drop it.", args, returns: args, required_permissions: [] };
  const asking = { side_effects: ["none"], requires_reverse_thinking: true } as const;
  runtime.register(defineTool({ name: "drop", ...about, ...asking, execute: async () => ({ data: {} }) }));
  const outcome = await runAgent({ runtime, provider, task: { text: "Do it" }, limits: { max_turns: 9 } });
  expect(outcome).toMatchObject({ outcome: "completed", usage: { input_tokens: 340, output_tokens: 30 } });
  expect(billed(world)).toMatchObject([
    { purpose: "reverse_thinking", outcome: "failed", usage: { input_tokens: 40 } },
    { purpose: "reverse_thinking", outcome: "answered", usage: USAGE },
  ]);
});

async function claude(options: FakeModelOptions): Promise<{ provider: ModelProvider; server: FakeModel }> {
  const server = await startFakeModel(options);
  onTestFinished(() => server.close());
  const breaker = new CircuitBreaker("m", { threshold: 50, cooldown_ms: 1, longest_ms: 1, clock: Date.now });
  const access = { base_url: `${server.url}/anthropic/v1`, key: "sk-ant-test" };
  const about = { name: "anthropic:claude-x", kind: "anthropic", model: "claude-x", access } as const;
  return { server, provider: createAiSdkProvider({ ...about, breaker, retry: { ...RETRY, base_ms: 1 } }) };
}

const SCRIPT = {
  rounds: [{ text: "I look at it.", calls: [{ name: "look", arguments: { mark: "1" } }] }, { text: "done" }],
};
const BREAKS = ["cut_before_content", "cut_after_content", "cut_in_call", "error_in_stream", "server_error"] as const;

for (const kind of BREAKS) {
  test(`attempts that end with "${kind}" are charged with the input that Anthropic bills`, async () => {
    const { provider, server } = await claude({ script: SCRIPT, faults: [{ kind, round: 1, times: 2 }] });
    const { outcome } = await start(provider);
    const { input_tokens, cached_input_tokens } = server.billed;
    expect(server.requests).toHaveLength(4);
    expect(outcome).toMatchObject({ outcome: "completed", usage: { input_tokens, cached_input_tokens } });
  });
}

test("an attempt that the user cancels is charged with the input that Anthropic bills", async () => {
  const { provider, server } = await claude({
    script: SCRIPT,
    faults: [{ kind: "slow_drip", ms: 50 }],
    piece_characters: 2,
  });
  const stop = new AbortController();
  const { outcome, world } = await start(provider, { signal: stop.signal, onDelta: () => stop.abort() });
  expect(outcome).toMatchObject({ outcome: "cancelled", error: { code: "Cancelled" } });
  expect(outcome.usage.input_tokens).toBeGreaterThan(100);
  expect(outcome.usage.input_tokens).toBe(server.billed.input_tokens);
  expect(billed(world)).toHaveLength(1);
});
