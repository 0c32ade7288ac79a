import { ToolError } from "@autonous/runtime";
import type { RuntimeEvent } from "@autonous/runtime";
import { expect, test } from "vitest";
import { makeWorld, openJournal, recording, startRuntime } from "../../../../../test/support/agent-world.ts";
import type { Death, World } from "../../../../../test/support/agent-world.ts";
import type { Message, ModelProvider, ModelReply, ModelRequest } from "../../model/provider.ts";
import { runAgent } from "../loop.ts";
import type { AgentOptions, AgentOutcome } from "../agent-run.ts";
import { requestTokens } from "./tokens.ts";

type Native = Extract<ModelReply, { readonly kind: "native" }>;

interface Server {
  /** What it takes, as it counts. */
  readonly limit: number;
  /** Tokens that it counts for each one estimated. */
  readonly ratio?: number;
  /** The details of its refusals. */
  readonly says?: (counted: number) => object;
  /** Characters of what the model writes with each call. */
  readonly argument?: number;
  readonly countsUsage?: boolean;
  readonly name?: string;
}

/** A model that makes calls for as many rounds, behind a server that counts. */
function counting(rounds: number, server: Server): ModelProvider & { readonly refused: number[] } {
  const { limit, ratio = 1, says = () => ({}), argument = 1_000, countsUsage = true } = server;
  const refused: number[] = [];
  const complete: ModelProvider["complete"] = async (request): Promise<Native> => {
    const counted = Math.ceil(requestTokens(request, "native") * ratio);
    if (counted > limit) {
      refused.push(counted);
      throw new ToolError("ModelFailed", "it does not fit", { context_length: true, ...says(counted) });
    }
    const usage = countsUsage ? { usage: { input_tokens: counted, output_tokens: 10 } } : {};
    const about = { kind: "native", finish: "stop", ...usage } as const;
    if (request.purpose === "summary") return { ...about, text: "Much was looked at", calls: [] };
    if (request.rounds % rounds === rounds - 1) return { ...about, text: "done", calls: [] };
    const input = JSON.stringify({ mark: `${request.rounds} ${"look ".repeat(argument / 5)}` });
    return { ...about, text: "", calls: [{ id: `c${request.rounds}`, name: "look", input }] };
  };
  return { name: server.name ?? "test:counting", protocol: "native", complete, refused };
}

interface Life {
  readonly provider: ModelProvider;
  readonly world?: World;
  readonly death?: Death;
  readonly options?: Partial<AgentOptions>;
}

interface LifeOutcome {
  readonly outcome: AgentOutcome | undefined;
  readonly requests: readonly ModelRequest[];
  readonly world: World;
}

async function live({ provider, world: given, death, options }: Life): Promise<LifeOutcome> {
  const world = given ?? (await makeWorld());
  const journal = openJournal(world, death);
  const asked = recording(provider);
  const runtime = await startRuntime(world, journal);
  const task = { text: "Look at it", task_id: "task_1" };
  const storedResult = async (id: string) => world.results.get(id);
  const running = runAgent({ runtime, provider: asked, task, limits: { max_turns: 400 }, storedResult, ...options });
  const outcome = await Promise.race([running, journal.died.then(() => undefined)]);
  if (outcome === undefined) await new Promise(setImmediate);
  return { outcome, requests: asked.requests, world };
}

function rounds({ requests }: Pick<LifeOutcome, "requests">): readonly ModelRequest[] {
  return requests.filter(({ purpose }) => purpose !== "summary");
}

function summaries({ world }: LifeOutcome): readonly RuntimeEvent[] {
  return world.events.filter(({ payload }) => payload["kind"] === "summary");
}

/** How often a request does not begin with all of the one before it. */
function strides(requests: readonly ModelRequest[]): number {
  return requests.filter(({ messages }, at) => {
    const before = requests[at - 1]?.messages ?? [];
    return JSON.stringify(messages.slice(0, before.length)) !== JSON.stringify(before);
  }).length;
}

const LIMIT = 60_000;
const ROUNDS = 150;

// oxfmt-ignore
const SERVERS: readonly (Server & { readonly title: string; readonly refusals: number; readonly fill: number })[] = [
  { title: "names what fits and what was sent",     limit: LIMIT, says: (sent) => ({ limit_tokens: LIMIT, sent_tokens: sent }), refusals: 1, fill: 0.8 },
  { title: "counts what is kept for the reply",     limit: LIMIT, says: (sent) => ({ limit_tokens: LIMIT + 3_000, sent_tokens: sent + 3_000, reply_tokens: 3_000 }), refusals: 1, fill: 0.85 },
  { title: "names only what fits",                  limit: LIMIT, says: () => ({ limit_tokens: LIMIT }), refusals: 1, fill: 0.8 },
  { title: "names only what was sent",              limit: LIMIT, says: (sent) => ({ sent_tokens: sent }), refusals: 2, fill: 0.8 },
  { title: "names no numbers",                      limit: LIMIT, refusals: 2, fill: 0.8 },
  { title: "names no numbers and counts no usage",  limit: LIMIT, countsUsage: false, refusals: 2, fill: 0.8 },
  { title: "counts a dense script",                 limit: LIMIT, ratio: 1.9, says: (sent) => ({ limit_tokens: LIMIT, sent_tokens: sent }), refusals: 1, fill: 0.8 },
  { title: "counts a sparse one",                   limit: LIMIT, ratio: 0.65, says: (sent) => ({ limit_tokens: LIMIT, sent_tokens: sent }), refusals: 1, fill: 0.8 },
  { title: "names numbers that make no sense",      limit: LIMIT, says: () => ({ limit_tokens: 9e15, sent_tokens: -1, reply_tokens: 0.5 }), refusals: 2, fill: 0.8 },
  { title: "names another limit than it has",       limit: LIMIT, says: (sent) => ({ limit_tokens: sent - 1, sent_tokens: sent }), refusals: 3, fill: 0.8 },
];

for (const { title, refusals, fill, ...server } of SERVERS)
  test(`after an overflow nearly all of the real window is used, and summaries are rare: a server that ${title}`, async () => {
    const provider = counting(ROUNDS, { argument: 2_500, ...server });
    const lived = await live({ provider });
    expect(lived.outcome).toMatchObject({ outcome: "completed", turns: ROUNDS });
    expect(provider.refused.length).toBeGreaterThan(0);
    expect(provider.refused.length).toBeLessThanOrEqual(refusals);
    const sizes = rounds(lived).map((request) => requestTokens(request, "native") * (server.ratio ?? 1));
    const taken = sizes.filter((size) => size <= LIMIT);
    const peaks = taken.filter((size, at) => size > (taken[at + 1] ?? Number.POSITIVE_INFINITY));
    expect(peaks.length).toBeGreaterThan(1);
    expect(Math.min(...peaks.slice(1)) / LIMIT).toBeGreaterThanOrEqual(fill);
    expect(summaries(lived).length).toBeLessThanOrEqual(ROUNDS / 12);
    expect(strides(rounds(lived))).toBeLessThanOrEqual(summaries(lived).length + refusals + 1);
  });

test("a run that was killed after an overflow keeps what it learned, and sends the same request", async () => {
  const server: Server = { limit: 9_000, ratio: 1.4, says: (sent) => ({ limit_tokens: 9_000, sent_tokens: sent }) };
  const unharmed = await live({ provider: counting(30, server) });
  expect(summaries(unharmed).length).toBeGreaterThan(1);
  const texts = (requests: readonly ModelRequest[]): unknown =>
    requests.map(({ messages, stable_until }) => [messages.map(({ role, text }) => [role, text]), stable_until]);
  for (let event = 5; event < unharmed.world.events.length; event += 9) {
    const first = await live({ provider: counting(30, server), death: { event, when: "after" } });
    const answered = first.world.events.filter(({ type }) => type === "model.completed").length;
    const provider = counting(30, server);
    const second = await live({ provider, world: first.world });
    expect(second.outcome).toMatchObject({ outcome: "completed", turns: 30 });
    // A request that was refused is not on record: it may come again.
    const asked = second.requests.slice(provider.refused.length);
    expect(texts(asked)).toEqual(texts(unharmed.requests.slice(unharmed.requests.length - asked.length)));
    expect(asked.length).toBe(unharmed.world.events.filter(({ type }) => type === "model.completed").length - answered);
    expect(summaries(second).length).toBe(summaries(unharmed).length);
  }
}, 60_000);

test("a conversation keeps the window of its last task: each request starts with the previous one", async () => {
  const world = await makeWorld();
  const all: ModelRequest[] = [];
  let said: Pick<AgentOutcome, "messages" | "window"> = {};
  let summed = 0;
  for (let number = 1; number <= 8; number++) {
    const { messages: history = [], window } = said;
    const task = { text: `Message ${number}`, task_id: `task_${number}`, history };
    const lived = await live({
      world,
      provider: counting(12, { limit: 1e9 }),
      options: {
        task: { ...task, ...(window === undefined ? {} : { window }), rounds_before: (number - 1) * 12 },
        context_tokens: 20_000,
      },
    });
    expect(lived.outcome).toMatchObject({ outcome: "completed" });
    all.push(...rounds(lived));
    summed = summaries(lived).length;
    said = lived.outcome ?? {};
    const shown = JSON.stringify(all.at(-1)?.messages);
    expect(shown).toContain(`Message ${number}`);
  }
  expect(summed).toBeGreaterThan(1);
  expect(summed).toBeLessThan(8);
  expect(strides(all)).toBeLessThanOrEqual(summed);
});

test("a system text with tools that exceeds the server's limit ends the run with the numbers, after one request", async () => {
  const says = (sent: number): object => ({ limit_tokens: 1_024, sent_tokens: sent });
  const provider = counting(3, { limit: 1_024, says });
  const { outcome, requests } = await live({ provider });
  const message =
    /it does not fit \(the system text and the tools alone take about \d,\d{3} tokens, more than the \d{3} that fit and \d{3} of its 1,024 are kept for the reply; use a larger context window, or offer fewer tools\)/;
  expect(outcome).toMatchObject({ outcome: "failed", error: { code: "ModelFailed", message } });
  expect(requests).toHaveLength(1);
});

test("a summary request that is too long for the model is reduced, and skipped if nothing helps", async () => {
  for (const fits of [true, false]) {
    const sizes: number[] = [];
    const inner = counting(40, { limit: 1e9 });
    const provider: ModelProvider = {
      ...inner,
      complete: async (request, options) => {
        const size = requestTokens(request, "native");
        if (request.purpose === "summary") sizes.push(size);
        if (request.purpose === "summary" && (!fits || size > 2_500))
          throw new ToolError("ModelFailed", "too long", { context_length: true });
        return await inner.complete(request, options);
      },
    };
    const lived = await live({ provider, options: { context_tokens: 20_000 } });
    expect(lived.outcome).toMatchObject({ outcome: "completed", turns: 40 });
    expect(sizes[1]).toBeLessThan((sizes[0] ?? 0) * 0.7);
    const [first] = summaries(lived);
    if (fits) expect(first?.payload).toMatchObject({ text: "Much was looked at" });
    else expect(first?.payload).toMatchObject({ text: /calls were made/, problem: "too long" });
  }
});

test("a summary is limited in length, whatever the model writes", async () => {
  const inner = counting(60, { limit: 1e9 });
  const provider: ModelProvider = {
    ...inner,
    complete: async (request, options) => {
      const reply = await inner.complete(request, options);
      return request.purpose === "summary" ? { ...reply, text: `In short: ${"much ".repeat(100_000)}` } : reply;
    },
  };
  const lived = await live({ provider, options: { context_tokens: 20_000 } });
  expect(lived.outcome).toMatchObject({ outcome: "completed", turns: 60 });
  for (const { payload } of summaries(lived)) expect(String(payload["text"]).length).toBeLessThan(20_000 * 0.2 * 3);
  expect(summaries(lived).length).toBeLessThan(8);
  for (const request of rounds(lived)) expect(requestTokens(request, "native")).toBeLessThan(20_000);
});

test("in a window that is too small for summaries none is requested", async () => {
  const lived = await live({ provider: counting(20, { limit: 1e9 }), options: { context_tokens: 5_000 } });
  expect(lived.outcome).toMatchObject({ outcome: "completed", turns: 20 });
  expect(lived.requests.filter(({ purpose }) => purpose === "summary")).toEqual([]);
  expect(summaries(lived)[0]?.payload).toMatchObject({ usage: null, problem: /too few for a summary/ });
  for (const { messages } of rounds(lived)) expect(messages[0]?.text).toMatch(/^Look at it/);
});

test("a task that continues with a smaller model fits its window, and provider data of the larger one is not sent to it", async () => {
  const large = counting(30, {
    argument: 3_000,
    limit: 30_000,
    name: "test:large",
    says: (sent) => ({ limit_tokens: 30_000, sent_tokens: sent }),
  });
  const { outcome: first, world } = await live({ provider: large, options: { context_tokens: 60_000 } });
  expect(first?.window?.models?.["test:large"]).toMatchObject({ context_tokens: 30_000 });
  const small = { ...counting(2, { limit: 12_000, name: "test:small" }), context_tokens: 12_000 };
  const { messages: history = [], window } = first ?? {};
  const task = { text: "Go on", task_id: "task_2", history, ...(window === undefined ? {} : { window }) };
  const lived = await live({ world, provider: small, options: { task } });
  expect(lived.outcome).toMatchObject({ outcome: "completed" });
  expect(small.refused).toEqual([]);
  expect(lived.outcome?.window?.models).toMatchObject({
    "test:large": { context_tokens: 30_000 },
    "test:small": { ratio: 1 },
  });
});

test("the recorded window of an earlier version is understood", async () => {
  const history: Message[] = [
    { role: "user", text: "An old task" },
    { role: "assistant", text: "An old answer" },
  ];
  const window = { from: 2, whole_from: 2, summary: "It was answered", context_tokens: 15_000 };
  const task = { text: "Look at it", task_id: "task_1", history, window };
  const { outcome, requests } = await live({ provider: counting(3, { limit: 1e9 }), options: { task } });
  expect(outcome).toMatchObject({ outcome: "completed", context: { limit: 15_000 } });
  expect(requests[0]?.messages.map(({ text }) => text)).toEqual([
    "Summary of the conversation so far:\nIt was answered",
    "Look at it",
  ]);
});
