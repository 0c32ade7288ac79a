import { ToolError } from "@autonous/runtime";
import type { RuntimeEvent, ToolCallResult } from "@autonous/runtime";
import fc from "fast-check";
import { expect, test } from "vitest";
import { makeWorld, openJournal, recording, startRuntime } from "../../../../../test/support/agent-world.ts";
import type { Death, World } from "../../../../../test/support/agent-world.ts";
import type { Message, ModelProvider, ModelReply, ModelRequest } from "../../model/provider.ts";
import { nextStride, showWindow, squeezeWindow, withSummary } from "./context-window.ts";
import type { WindowState } from "./context-window.ts";
import { runAgent } from "../loop.ts";
import type { AgentOptions, AgentOutcome } from "../agent-run.ts";
import { estimateTokens, sumTokens } from "./tokens.ts";

const RESULT = { payload: null, error: null } as unknown as ToolCallResult;

function toolMessage(id: string, text: string, storage_ref?: string): Message {
  const result = { ...RESULT, payload: { storage_ref } } as unknown as ToolCallResult;
  return { role: "tool", tool_call_id: id, name: "read", text, result };
}

/** A history of rounds, each with as many results as are given, of these lengths. */
function history(rounds: readonly (readonly number[])[]): Message[] {
  const messages: Message[] = [{ role: "user", text: "The task" }];
  for (const [round, lengths] of rounds.entries()) {
    const ids = lengths.map((_, index) => `${round}.${index}`);
    const calls = ids.map((tool_call_id) => ({ tool_call_id, name: "read", arguments: {} }));
    messages.push({ role: "assistant", text: "", calls });
    for (const [index, length] of lengths.entries()) messages.push(toolMessage(ids[index] ?? "", "x".repeat(length)));
  }
  return messages;
}

const BEGIN: WindowState = { task: 0, from: 0, whole_from: 0 };

/** What the loop does before each request, with a model that sums up in these words. */
function advance(state: WindowState, messages: readonly Message[], budget: number): WindowState {
  const stride = nextStride(state, messages, budget);
  if (stride === undefined) return state;
  const { state: moved, summarise_to } = stride;
  const summed = summarise_to === undefined ? moved : withSummary(moved, summarise_to, "In short");
  return squeezeWindow(summed, messages, budget);
}

test("while everything fits, the model sees the complete history", () => {
  const messages = history([[5_000], [5_000], [5_000], [5_000], [5_000]]);
  expect(nextStride(BEGIN, messages, 10_000)).toBeUndefined();
  expect(showWindow(BEGIN, messages)).toEqual(messages);
});

test("when the window is full, old large results become excerpts and the last rounds stay unchanged", () => {
  const messages = history([[60_000], [100], [60_000], [30_000], [9_000]]);
  const stride = nextStride(BEGIN, messages, 50_000);
  expect(stride?.summarise_to).toBeUndefined();
  const shown = showWindow(stride?.state ?? BEGIN, messages);
  expect(shown.map(({ text }) => text.length > 5_000)).toEqual(messages.map((_, at) => [8, 10].includes(at)));
  expect(shown[2]?.text).toMatch(/characters omitted; repeat the call/);
  expect(shown[4]).toBe(messages[4]);
  expect(messages[2]?.text.length).toBe(60_000);
});

test("an excerpt says where the full output is stored", () => {
  const messages = [...history([[1]]), ...history([[9]]).slice(1)];
  messages[2] = toolMessage("0.0", "y".repeat(90_000), "observations/call_1.txt");
  const [, , shown] = showWindow({ ...BEGIN, whole_from: 4 }, messages);
  expect(shown?.text).toMatch(/full output: observations\/call_1\.txt/);
});

const anyRounds = fc.array(fc.array(fc.integer({ min: 0, max: 40_000 }), { minLength: 1, maxLength: 4 }), {
  minLength: 1,
  maxLength: 12,
});
const anyBudget = fc.integer({ min: 500, max: 60_000 });

test("a summary ends between rounds, and calls keep their results", () => {
  fc.assert(
    fc.property(anyRounds, anyBudget, (rounds, budget) => {
      const messages = history(rounds);
      const state = advance(BEGIN, messages, budget);
      const window = showWindow(state, messages);
      const asked = window.flatMap((each) =>
        each.role === "assistant" ? (each.calls ?? []).map((call) => call.tool_call_id) : [],
      );
      const answered = window.flatMap((each) => (each.role === "tool" ? [each.tool_call_id] : []));
      expect(answered).toEqual(asked);
      expect(window[0]?.text).toMatch(/^The task/);
      expect(window.at(-1)?.role).toBe("tool");
      if (state.from > 0) expect(messages[state.from]?.role).toBe("assistant");
    }),
  );
});

test("in every turn the window fits, it only grows between strides, and its positions never move back", () => {
  fc.assert(
    fc.property(anyRounds, fc.integer({ min: 4_000, max: 60_000 }), (rounds, budget) => {
      const messages = history(rounds);
      const ends = messages.flatMap((message, at) =>
        messages[at + 1]?.role === "tool" || message.role === "assistant" ? [] : [at + 1],
      );
      let state = BEGIN;
      let before: readonly Message[] = [];
      for (const end of ends) {
        const said = messages.slice(0, end);
        const next = advance(state, said, budget);
        const window = showWindow(next, said);
        expect(sumTokens(window)).toBeLessThanOrEqual(budget);
        expect(next.from).toBeGreaterThanOrEqual(state.from);
        expect(next.whole_from).toBeGreaterThanOrEqual(state.whole_from);
        expect(advance(next, said, budget)).toBe(next);
        if (next.moved_at !== end) expect(window.slice(0, before.length)).toEqual(before);
        expect(window[0]?.text).toMatch(/^The task/);
        state = next;
        before = window;
      }
    }),
  );
});

test("an oversized task is truncated, so that the request fits", () => {
  const messages: Message[] = [{ role: "user", text: "t".repeat(500_000) }];
  const window = showWindow(squeezeWindow(BEGIN, messages, 10_000), messages);
  expect(sumTokens(window)).toBeLessThanOrEqual(10_000);
  expect(window[0]?.text).toMatch(/^t+\n\[\d+ characters omitted\]\nt+$/);
});

test("tokens are overestimated rather than underestimated", () => {
  expect(estimateTokens("The quick brown fox jumps over the lazy dog")).toBeGreaterThanOrEqual(10);
  expect(estimateTokens("日本語のテキスト")).toBeGreaterThanOrEqual(8);
});

// ---- In a run

const LINES = 700;
/** Reads a long file again and again, in other parts, then answers. */
function reading(rounds: number, refuse?: (request: ModelRequest) => void): ModelProvider {
  const complete: ModelProvider["complete"] = async (request): Promise<ModelReply> => {
    refuse?.(request);
    if (request.purpose === "summary")
      return { kind: "native", text: "Parts were read; nothing was found", calls: [], finish: "stop" };
    if (request.rounds >= rounds) return { kind: "native", text: "done", calls: [], finish: "stop" };
    const input = JSON.stringify({ path: "long.txt", offset: request.rounds + 1, limit: LINES });
    return { kind: "native", text: "", calls: [{ id: `c${request.rounds}`, name: "read", input }], finish: "stop" };
  };
  return { name: "test:reader", protocol: "native", complete };
}

async function longWorld(): Promise<World> {
  const { writeFile } = await import("node:fs/promises");
  const world = await makeWorld();
  const text = Array.from({ length: 2_000 }, (_, at) => `line ${at} of a long file\n`).join("");
  await writeFile(`${world.folder}/workspace/long.txt`, text);
  return world;
}

interface Life {
  readonly world: World;
  readonly provider: ModelProvider;
  readonly death?: Death;
  readonly options?: Partial<AgentOptions>;
}

async function live({
  world,
  provider,
  death,
  options,
}: Life): Promise<{ outcome: AgentOutcome | undefined; requests: ModelRequest[] }> {
  const journal = openJournal(world, death);
  const asked = recording(provider);
  const runtime = await startRuntime(world, journal);
  const task = { text: "Read it", task_id: "task_1" };
  const storedResult = async (id: string) => world.results.get(id);
  const running = runAgent({ runtime, provider: asked, task, limits: { max_turns: 40 }, storedResult, ...options });
  const outcome = await Promise.race([running, journal.died.then(() => undefined)]);
  if (outcome === undefined) await new Promise(setImmediate);
  return { outcome, requests: asked.requests };
}

function summaries({ events }: World): RuntimeEvent[] {
  return events.filter(({ payload }) => payload["kind"] === "summary");
}

test("a long run always fits the window, first by excerpts and then by a recorded summary", async () => {
  const world = await longWorld();
  const { outcome, requests } = await live({ world, provider: reading(20), options: { context_tokens: 30_000 } });
  expect(outcome).toMatchObject({ outcome: "completed", turns: 21 });
  expect(Math.max(...requests.map(({ messages }) => sumTokens(messages)))).toBeLessThan(30_000 * 0.85);
  expect(summaries(world).length).toBeGreaterThan(0);
  expect(summaries(world)[0]?.payload).toMatchObject({
    text: "Parts were read; nothing was found",
    usage: { estimated: true },
  });
  expect(requests.at(-1)?.messages[0]?.text).toMatch(
    /^Read it\n\nSummary of the conversation so far:\nParts were read/,
  );
  expect(outcome?.messages).toHaveLength(42);
});

test("killed at any time, a run with a summary does not request it again and continues with the same window", async () => {
  const unharmed = await longWorld();
  const options = { context_tokens: 20_000 };
  const whole = await live({ world: unharmed, provider: reading(8), options });
  expect(summaries(unharmed).length).toBeGreaterThan(0);
  const plain = (text: string): string => text.replaceAll(/[\w.-]{100,}/g, "<cursor>"); // of another file in each world
  const texts = (requests: readonly ModelRequest[]): unknown =>
    requests.map(({ purpose, messages }) => [purpose, messages.map(({ role, text }) => [role, plain(text)])]);
  for (let event = 2; event < unharmed.events.length; event += 3) {
    const world = await longWorld();
    await live({ world, provider: reading(8), options, death: { event, when: "after" } });
    const asked = world.events.filter(({ type }) => type === "model.completed").length;
    const { outcome, requests } = await live({ world, provider: reading(8), options });
    expect(outcome).toMatchObject({ outcome: "completed", turns: 9 });
    expect(texts(requests)).toEqual(texts(whole.requests.slice(asked)));
    expect(summaries(world).length).toBe(summaries(unharmed).length);
  }
}, 60_000);

test("a conversation is summarised when it has grown, not with every message, and a killed task sees the same", async () => {
  const options = { context_tokens: 20_000 };
  const provider: ModelProvider = {
    name: "test:talking",
    protocol: "native",
    complete: async ({ purpose }) => ({
      kind: "native",
      text: purpose === "summary" ? "Much was said" : "An answer. ".repeat(300),
      calls: [],
      finish: "stop",
    }),
  };
  const world = await makeWorld();
  let said: Pick<AgentOutcome, "messages" | "window"> = {};
  let asked = 0;
  for (let number = 1; number <= 30; number++) {
    const { messages: history = [], window } = said;
    const task = { text: `Question ${number}. `.repeat(200), task_id: `task_${number}`, history };
    const shown = { ...task, ...(window === undefined ? {} : { window }) };
    // The process that resumes a killed task does not know the window.
    const isKilled = number === 25;
    if (isKilled)
      await live({ world, provider, options: { ...options, task: shown }, death: { event: 2, when: "after" } });
    const { outcome, requests } = await live({
      world,
      provider,
      options: { ...options, task: isKilled ? task : shown },
    });
    expect(outcome).toMatchObject({ outcome: "completed" });
    const last = requests.at(-1)?.messages ?? [];
    expect(sumTokens(last)).toBeLessThan(20_000 * 0.85);
    if (number >= 20) expect(last[0]?.text).toContain("Much was said");
    asked += requests.filter(({ purpose }) => purpose === "summary").length;
    said = outcome ?? {};
  }
  expect(asked).toBeGreaterThan(1);
  expect(asked).toBeLessThan(8);
});

test("without a summary from the model, the run continues with a list of its calls", async () => {
  const world = await longWorld();
  const provider = reading(8, ({ purpose }) => {
    if (purpose === "summary") throw new ToolError("ModelFailed", "overloaded");
  });
  const { outcome } = await live({ world, provider, options: { context_tokens: 20_000 } });
  expect(outcome).toMatchObject({ outcome: "completed" });
  expect(summaries(world)[0]?.payload).toMatchObject({ text: /calls were made[^]*read ok/, problem: "overloaded" });
});

for (const { limit, times } of [
  { limit: 15_000, times: 1 },
  { limit: 4000, times: 3 },
])
  test(`a request that is too long for a model of ${limit} tokens is reduced, and stays reduced`, async () => {
    const world = await longWorld();
    const sizes: number[] = [];
    const provider = reading(6, ({ purpose, messages }) => {
      const size = sumTokens(messages);
      if (size > limit) throw new ToolError("ModelFailed", "prompt is too long", { context_length: true });
      if (purpose === undefined) sizes.push(size);
    });
    const { outcome, requests } = await live({ world, provider });
    expect(outcome).toMatchObject({ outcome: "completed", turns: 7 });
    expect(requests.filter(({ messages }) => sumTokens(messages) > limit).length).toBeLessThanOrEqual(times);
    expect(sizes.length).toBe(7);
  });

test("a request that cannot be reduced is sent once, and the run ends with the numbers", async () => {
  const world = await longWorld();
  const provider = reading(3, () => {
    throw new ToolError("ModelFailed", "prompt is too long", { context_length: true });
  });
  const { outcome, requests } = await live({ world, provider });
  const message = /prompt is too long \(the system text and the tools alone take about [\d,]+ tokens, more than the/;
  expect(outcome).toMatchObject({ outcome: "failed", error: { code: "ModelFailed", message } });
  expect(requests).toHaveLength(1);
});
