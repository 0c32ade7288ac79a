import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { ToolError } from "@autonous/runtime";
import { expect, onTestFinished, test } from "vitest";
import { makeWorld, openJournal, startRuntime } from "../../../../test/support/agent-world.ts";
import type { Death, World } from "../../../../test/support/agent-world.ts";
import { startFakeModel } from "../../../../emulators/fake-model/server.ts";
import type { FakeModel, FakeModelOptions } from "../../../../emulators/fake-model/server.ts";
import { createAiSdkProvider } from "../model/ai-sdk-provider.ts";
import type { AiSdkOptions } from "../model/ai-sdk-provider.ts";
import { CircuitBreaker } from "../model/failures/circuit-breaker.ts";
import type { ModelProvider, ModelReply } from "../model/provider.ts";
import { RETRY } from "../model/failures/retry.ts";
import { runAgent } from "./loop.ts";
import type { AgentOptions, AgentOutcome } from "./agent-run.ts";
import { compactHistory } from "./window/summary.ts";

/** Two attempts, at once one after the other. */
const QUICK = { ...RETRY, max_attempts: 2, base_ms: 1 };

function ask(name: string, base_url: string, more: Partial<AiSdkOptions> = {}): ModelProvider {
  const breaker = new CircuitBreaker(name, { threshold: 5, cooldown_ms: 60_000, longest_ms: 60_000, clock: Date.now });
  const about = { name, kind: "compatible", model: "m", access: { base_url }, retry: QUICK, breaker } as const;
  return createAiSdkProvider({ ...about, ...more });
}

interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Answers every request in the same way. */
async function refuse({ status, body = {}, headers = {} }: Answer): Promise<{ url: string; count: () => number }> {
  let count = 0;
  const server = createServer((_request, response) => {
    count += 1;
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, count: () => count };
}

async function fake(options: FakeModelOptions): Promise<FakeModel> {
  const model = await startFakeModel({ key: null, ...options });
  onTestFinished(() => model.close());
  return model;
}

async function start(
  models: readonly ModelProvider[],
  options: Partial<AgentOptions> = {},
): Promise<{ world: World; outcome: AgentOutcome }> {
  const world = await makeWorld();
  const runtime = await startRuntime(world);
  const limits = { max_turns: 9 };
  return { world, outcome: await runAgent({ runtime, provider: listed(models), task: TASK, limits, ...options }) };
}

function listed([first, ...fallbacks]: readonly ModelProvider[]): ModelProvider {
  if (first === undefined) throw new Error("no model");
  return { ...first, fallbacks };
}

const TASK = { text: "Do it", task_id: "task_1" };
const switches = ({ events }: World) =>
  events.filter(({ type }) => type === "model.switched").map(({ payload }) => payload);

const error = (message: string, more: object = {}): object => ({ error: { message, ...more } });

// oxfmt-ignore
const FAILURES: readonly (Answer & { readonly title: string; readonly reason?: string })[] = [
  { title: "out of credit",                   reason: "quota",        status: 402, body: error("Insufficient Balance") },
  { title: "out of credit, with 400",         reason: "quota",        status: 400, body: error("Your credit balance is too low to access the API") },
  { title: "out of credit, with 429",         reason: "quota",        status: 429, body: error("You exceeded your current quota", { code: "insufficient_quota" }) },
  { title: "a key that was revoked",          reason: "key_refused",  status: 401, body: error("invalid api key") },
  { title: "a model that is no longer there", reason: "not_found",    status: 404, body: error("model not found") },
  { title: "overloaded",                      reason: "server_error", status: 529, body: error("Overloaded") },
  { title: "bad gateway",                     reason: "server_error", status: 502, body: "<html>" },
  { title: "rate-limited for an hour",        reason: "rate_limited", status: 429, body: error("slow down"), headers: { "retry-after": "3600" } },
  { title: "moved",                           reason: "redirected",   status: 307, headers: { location: "http://192.0.2.1/v1" } },
  { title: "a request that it rejects",                               status: 400, body: error("tools[3].name is invalid") },
  { title: "a request that is too long",                              status: 400, body: error("This model's maximum context length is 10 tokens") },
];

for (const { title, reason, ...answer } of FAILURES) {
  test(`a model that answers "${title}" ${reason === undefined ? "ends the run" : "is followed by the next one"}`, async () => {
    const down = await refuse(answer);
    const up = await fake({ script: { rounds: [{ text: "done" }] } });
    const { world, outcome } = await start([ask("test:a", down.url), ask("test:b", `${up.url}/compatible/v1`)]);
    if (reason === undefined) {
      expect(outcome).toMatchObject({ outcome: "failed", error: { code: "ModelFailed", message: /"test:a" did not/ } });
      expect(up.requests).toHaveLength(0);
      return;
    }
    expect(outcome).toMatchObject({ outcome: "completed", answer: "done", model: "test:b", turns: 1 });
    expect(switches(world)).toMatchObject([{ from: "test:a", to: "test:b", reason, message: expect.any(String) }]);
    expect(world.events.find(({ type }) => type === "model.completed")?.payload).toMatchObject({ provider: "test:b" });
  });
}

test("if a server is unreachable the next model is asked, at once if its breaker is open", async () => {
  const up = await fake({ script: { rounds: [{ text: "done" }], repeat: true } });
  const breaker = new CircuitBreaker("a", { threshold: 2, cooldown_ms: 60_000, longest_ms: 60_000, clock: Date.now });
  const models = [ask("test:a", "http://127.0.0.1:1/v1", { breaker }), ask("test:b", `${up.url}/compatible/v1`)];
  const first = await start(models);
  const second = await start(models);
  expect([first, second].map(({ world }) => switches(world)[0])).toMatchObject([
    { reason: "connection" },
    { reason: "breaker_open" },
  ]);
});

test("a run stays with the model that works; if that fails too, the list is tried once around", async () => {
  const calls = (mark: string) => ({ calls: [{ name: "look", arguments: { mark } }] });
  const [one, two, three] = await Promise.all([
    fake({ script: { rounds: [calls("1"), calls("2")] } }), // then it has nothing more to say, and refuses
    fake({
      script: { rounds: [calls("3"), calls("4")], faults: [{ kind: "server_error", round: 3, times: "always" }] },
    }),
    refuse({ status: 402, body: error("no credit") }),
  ]);
  const isOut = new Set<string>();
  const a = ask("test:a", `${one.url}/compatible/v1`);
  const outOfCredit: ModelProvider = {
    ...a,
    complete: async (request, options) => {
      if (one.requests.length === 2 && !isOut.has("a")) {
        isOut.add("a");
        throw new ToolError("ModelFailed", "no credit left", { reason: "quota" });
      }
      if (one.requests.length === 2) return { kind: "native", text: "done by a", calls: [], finish: "stop" };
      return await a.complete(request, options);
    },
  };
  const models = [outOfCredit, ask("test:c", three.url), ask("test:b", `${two.url}/compatible/v1`)];
  const { world, outcome } = await start(models);
  expect(outcome).toMatchObject({ outcome: "completed", answer: "done by a", calls: 4 });
  expect(outcome).not.toHaveProperty("model"); // it is the first again
  expect(switches(world).map(({ from, to }) => `${String(from)} ${String(to)}`)).toEqual([
    "test:a test:c",
    "test:c test:b",
    "test:b test:a",
  ]);
  const answered = world.events
    .filter(({ type }) => type === "model.completed")
    .map(({ payload }) => payload["provider"]);
  expect(answered).toEqual(["test:a", "test:a", "test:b", "test:b", "test:a"]);
});

test("if no model answers, the run fails with the message of each and a retryable reason if there is one", async () => {
  const [a, b] = await Promise.all([
    refuse({ status: 503, body: error("down for maintenance") }),
    refuse({ status: 402, body: error("no credit") }),
  ]);
  const { outcome, world } = await start([ask("test:a", a.url), ask("test:b", b.url)]);
  expect([a.count(), b.count()]).toEqual([2, 1]);
  expect(outcome.error).toMatchObject({ code: "ModelFailed", reason: "server_error" });
  expect(outcome.error?.message).toMatch(
    /^None of the 2 models answered\. "test:a": .*down for maintenance.*; "test:b": .*no credit/,
  );
  expect(switches(world)).toHaveLength(1);
});

test("after a switch of protocol the history is sent in the new protocol, with its instructions", async () => {
  const native = await fake({
    script: { rounds: [{ reasoning: "Hm.", text: "I look.", calls: [{ name: "look", arguments: { mark: "1" } }] }] },
    faults: [{ kind: "unavailable", round: 2, times: "always" }],
  });
  const plain = await fake({
    script: {
      rounds: [
        { text: '{"tool_calls":[{"name":"look","arguments":{"mark":"2"}}]}' },
        { text: '{"final_answer":"done"}' },
      ],
    },
  });
  const models = [
    ask("test:a", `${native.url}/v1`, {
      kind: "anthropic",
      model: "claude-x",
      access: { base_url: `${native.url}/v1`, key: "k" },
    }),
    ask("test:b", `${plain.url}/compatible/v1`, { protocol: "plain" }),
  ];
  const { world, outcome } = await start(models);
  expect(outcome).toMatchObject({ outcome: "completed", answer: "done", calls: 2 });
  expect([...world.effects.keys()]).toEqual(["look 1", "look 2"]);
  const [first] = plain.requests;
  expect(first?.body).not.toHaveProperty("tools");
  const sent = JSON.stringify(first?.body);
  expect(sent).toContain("final_answer");
  expect(sent).toContain("look 1 done");
});

test("a model without a price is not asked while the cost is limited", async () => {
  const [down, dear, up] = await Promise.all([
    refuse({ status: 402, body: error("no credit") }),
    fake({ script: { rounds: [{ text: "too dear" }] } }),
    fake({ script: { rounds: [{ text: "done" }] } }),
  ]);
  const models = [
    ask("test:a", down.url),
    ask("test:b", `${dear.url}/compatible/v1`),
    ask("test:c", `${up.url}/compatible/v1`),
  ];
  const costOf: AgentOptions["costOf"] = (_, model) => (model === "test:b" ? undefined : 0.001);
  const limits = { max_turns: 9, max_cost_cents: 10 };
  expect((await start(models, { costOf, limits })).outcome).toMatchObject({ answer: "done", model: "test:c" });
  expect(dear.requests).toHaveLength(0);
  const { outcome } = await start(models.slice(0, 2), { costOf, limits });
  expect(outcome.error?.message).toMatch(/"test:b": skipped, since it has no price/);
});

test("each model is charged at its own price", async () => {
  const usage = { input_tokens: 100, output_tokens: 0 };
  const [one, two] = await Promise.all([
    fake({
      script: { rounds: [{ calls: [{ name: "look", arguments: { mark: "1" } }], usage }] },
      faults: [{ kind: "server_error", round: 2, times: "always" }],
    }),
    fake({ script: { rounds: [{ text: "done", usage }] } }),
  ]);
  const models = [ask("test:a", `${one.url}/compatible/v1`), ask("test:b", `${two.url}/compatible/v1`)];
  const costOf: AgentOptions["costOf"] = ({ input_tokens }, model) => input_tokens * (model === "test:a" ? 1 : 0.001);
  const { outcome } = await start(models, { costOf });
  expect(outcome.usage.cost).toBeCloseTo(100.1, 9);
});

/** The first one is out of credit from its second round on; the other answers after its first call. */
function failingFirst(asked: string[]): ModelProvider {
  const reply = (mark: string | undefined): ModelReply => {
    const calls = mark === undefined ? [] : [{ id: mark, name: "look", input: JSON.stringify({ mark }) }];
    return { kind: "native", text: mark === undefined ? "done" : "", calls, finish: "stop" };
  };
  const complete =
    (name: string): ModelProvider["complete"] =>
    async ({ rounds }) => {
      asked.push(`${name} ${rounds}`);
      if (name === "a" && rounds > 0) throw new ToolError("ModelFailed", "no credit", { reason: "quota" });
      return reply(["1", "2", undefined][rounds]);
    };
  const model = (name: string): ModelProvider => ({
    name: `test:${name}`,
    protocol: "native",
    complete: complete(name),
  });
  return listed([model("a"), model("b")]);
}

async function live(world: World, asked: string[], death?: Death): Promise<AgentOutcome | undefined> {
  const journal = openJournal(world, death);
  const runtime = await startRuntime(world, journal);
  const running = runAgent({ runtime, provider: failingFirst(asked), task: TASK, limits: { max_turns: 9 } });
  return await Promise.race([running, journal.died.then(() => undefined)]);
}

test("killed after each event, a run resumes with the model that was in use", async () => {
  const whole = await makeWorld();
  expect(await live(whole, [])).toMatchObject({ outcome: "completed", model: "test:b" });
  const switched = whole.events.findIndex(({ type }) => type === "model.switched") + 1;
  for (let event = 1; event < whole.events.length; event++) {
    const world = await makeWorld();
    const asked: string[] = [];
    expect(await live(world, asked, { event, when: "after" })).toBeUndefined();
    const before = asked.length;
    expect([event, await live(world, asked)]).toMatchObject([
      event,
      { outcome: "completed", answer: "done", model: "test:b" },
    ]);
    expect(switches(world)).toHaveLength(1);
    if (event >= switched) expect(asked.slice(before).filter((each) => each.startsWith("a"))).toEqual([]);
  }
});

test("a new attempt after a failed one starts with the first model again", async () => {
  const world = await makeWorld();
  const runtime = await startRuntime(world);
  const down: ModelProvider = { name: "test:a", complete: () => Promise.reject(new Error("down")) };
  const first = await runAgent({
    runtime,
    provider: listed([down, { ...down, name: "test:b" }]),
    task: TASK,
    limits: { max_turns: 9 },
  });
  expect(first).toMatchObject({ outcome: "failed", model: "test:b" });
  const about = {
    event_id: "evt_retry",
    ts: new Date().toISOString(),
    trace_id: "t",
    task_id: "task_1",
    run_id: "run_1",
  };
  await runtime.journal.append([{ ...about, type: "task.retry_scheduled", parent_id: null, payload: {} }]);
  const asked: string[] = [];
  const second = await runAgent({ runtime, provider: failingFirst(asked), task: TASK, limits: { max_turns: 9 } });
  expect(second).toMatchObject({ outcome: "completed" });
  expect(asked[0]).toBe("a 1");
});

test("a requested summary is written by the next model if one is down", async () => {
  const world = await makeWorld();
  const runtime = await startRuntime(world);
  const down = await refuse({ status: 402, body: error("no credit") });
  const up = await fake({ script: { rounds: [{ text: "It was done." }] } });
  const provider = listed([ask("test:a", down.url), ask("test:b", `${up.url}/compatible/v1`)]);
  const history = [
    { role: "user", text: "Do it" },
    { role: "assistant", text: "Done" },
  ] as const;
  const { summary } = await compactHistory({
    runtime,
    provider,
    task: { text: "", history },
    limits: { max_turns: 1 },
  });
  expect(summary).toBe("It was done.");
  expect(switches(world)).toMatchObject([{ from: "test:a", to: "test:b" }]);
});

test("a model that took over for a summary and then fails is asked once, and is named in the error", async () => {
  const asked: string[] = [];
  const model = (name: string, answer: (purpose: string) => ModelReply): ModelProvider => ({
    name,
    complete: async ({ purpose = "round" }) => {
      asked.push(`${name} ${purpose}`);
      return await Promise.resolve(answer(purpose));
    },
  });
  const down = (): never => {
    throw new ToolError("ModelFailed", "down", { reason: "server_error" });
  };
  const said = (text: string): ModelReply => ({ kind: "plain", finish: "stop", text });
  const answer = said('{"tool_calls":[],"final_answer":"Done."}');
  const history = Array.from({ length: 12 }, (_, at) => ({
    role: at % 2 === 0 ? ("user" as const) : ("assistant" as const),
    text: `${at} ${"word ".repeat(1000)}`,
  }));
  const { world, outcome } = await start(
    [
      model("script:a", down),
      model("script:b", (purpose) => (purpose === "summary" ? said("In short.") : down())),
      model("script:c", () => answer),
    ],
    { task: { ...TASK, history }, context_tokens: 12_000 },
  );
  expect(outcome).toMatchObject({ outcome: "completed", answer: "Done." });
  expect(asked).toEqual(["script:a summary", "script:b summary", "script:b round", "script:c round"]);
  expect(switches(world)).toMatchObject([
    { from: "script:a", to: "script:b" },
    { from: "script:b", to: "script:c" },
  ]);
});

test("the next model's server gets neither the key nor the reasoning of the previous one", async () => {
  const keys = { first: "sk-test-first-Zx81kQmPw02Lr5Vt", next: "sk-test-next-Hd73nBcWy64Kp1Sf" };
  const [first, next] = await Promise.all([
    startFakeModel({
      key: keys.first,
      script: { rounds: [{ reasoning: "Look first.", calls: [{ name: "look", arguments: { mark: "1" } }] }] },
      faults: [{ kind: "out_of_credit", round: 2, times: "always" }],
    }),
    startFakeModel({ key: keys.next, script: { rounds: [{ text: "Done." }] } }),
  ]);
  onTestFinished(async () => void (await Promise.all([first.close(), next.close()])));
  const anthropic = {
    kind: "anthropic",
    access: { base_url: `${first.url}/anthropic/v1`, key: keys.first },
  } as const;
  const chat = { kind: "openai-chat", access: { base_url: `${next.url}/openai/v1`, key: keys.next } } as const;
  const { world, outcome } = await start([
    ask("anthropic:m", first.url, anthropic),
    ask("openai-chat:m", next.url, chat),
  ]);
  expect(outcome).toMatchObject({ outcome: "completed", answer: "Done.", calls: 1 });
  expect(next.requests.map(({ key }) => key)).toEqual([keys.next]);
  const sent = JSON.stringify(next.requests);
  const kept = JSON.stringify(world.events);
  const [, signature = ""] = /"signature":"([^"]{20,})"/.exec(kept) ?? [];
  expect(signature).not.toBe("");
  for (const secret of [keys.first, signature, "Look first."]) expect(sent).not.toContain(secret);
  expect(kept).not.toContain(keys.first);
  expect(kept).not.toContain(keys.next);
});
