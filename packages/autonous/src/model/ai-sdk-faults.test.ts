import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { ToolError } from "@autonous/runtime";
import { expect, test } from "vitest";
import { FORMATS, KEY } from "../../../../test/support/model-events.ts";
import { cut, refuse, silence, startModelServer, stream } from "../../../../test/support/model-server.ts";
import type { Answer, ModelServer } from "../../../../test/support/model-server.ts";
import { createAiSdkProvider } from "./ai-sdk-provider.ts";
import type { AiSdkOptions } from "./ai-sdk-provider.ts";
import { createProvider } from "./choose.ts";
import { CircuitBreaker } from "./failures/circuit-breaker.ts";
import { failureReason } from "./failures/model-failure.ts";
import type { CompleteOptions, ModelProvider, ModelReply } from "./provider.ts";

const QUICK = { max_attempts: 3, base_ms: 1, longest_ms: 2, total_ms: 10_000 };
const LONG = 60_000;
const REQUEST = {
  system: "Be brief.",
  messages: [{ role: "user", text: "Hi." }],
  rounds: 0,
  tools: [{ name: "read", description: "Read.", args_schema: { type: "object", properties: {} } }],
} as const;

const ANSWERS = Object.fromEntries(
  Object.entries(FORMATS).map(([kind, format]) => [kind, stream(format.answer("Hello."))]),
) as Readonly<Record<AiSdkOptions["kind"], Answer>>;

function breaker(): CircuitBreaker {
  return new CircuitBreaker("test", { threshold: 100, cooldown_ms: 1000, longest_ms: 1000, clock: Date.now });
}

function connect(server: ModelServer, options: Partial<AiSdkOptions> = {}): ModelProvider {
  const { kind = "compatible" } = options;
  return createAiSdkProvider({
    name: `${kind}:test`,
    kind,
    model: "m",
    access: { base_url: `${server.url}${kind === "google" ? "/v1beta" : "/v1"}`, key: KEY },
    retry: QUICK,
    breaker: breaker(),
    times: { first_byte_ms: LONG, idle_ms: LONG, whole_ms: LONG },
    ...options,
  });
}

async function ask(provider: ModelProvider, options: Partial<CompleteOptions> = {}): Promise<ModelReply> {
  return await provider.complete(REQUEST, { signal: new AbortController().signal, ...options });
}

async function failureOf(asking: Promise<unknown>): Promise<ToolError> {
  const error: unknown = await asking.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof ToolError) return error;
  throw new Error("It did not fail with a ToolError", { cause: error });
}

const KINDS = Object.keys(ANSWERS) as AiSdkOptions["kind"][];

// oxfmt-ignore
const RETRIED: readonly { title: string; fault: (kind: AiSdkOptions["kind"]) => Answer }[] = [
  { title: "429 with a wait",               fault: () => refuse(429, { error: { message: "slow down" } }, { "retry-after-ms": "3" }) },
  { title: "429 without one",               fault: () => refuse(429, { error: { message: "slow down" } }) },
  { title: "408",                           fault: () => refuse(408) },
  { title: "500",                           fault: () => refuse(500, "<html>") },
  { title: "503",                           fault: () => refuse(503) },
  { title: "529",                           fault: () => refuse(529, { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }) },
  { title: "a reset before anything came",  fault: () => cut() },
  { title: "a stream torn in the middle",   fault: (kind) => cut(FORMATS[kind]?.calls.slice(0, -3)) },
  { title: "a stream that ends too early",  fault: (kind) => stream(FORMATS[kind]?.calls.slice(0, -3) ?? []) },
  { title: "an empty stream",               fault: () => stream([]) },
  { title: "a chunk that is not JSON",       fault: (kind) => stream([...(FORMATS[kind]?.calls.slice(0, 2) ?? []), '{"id":', ...(FORMATS[kind]?.calls.slice(2) ?? [])]) },
];

for (const kind of KINDS) {
  for (const { title, fault } of RETRIED) {
    test(`${kind}: after ${title} the round is retried, and no part of the first attempt is used`, async () => {
      const server = await startModelServer([fault(kind), ANSWERS[kind]]);
      const retries: number[] = [];
      const reply = await ask(connect(server, { kind }), { onRetry: ({ attempt }) => retries.push(attempt) });
      expect(reply).toMatchObject({ text: "Hello.", calls: [], finish: "stop" });
      expect(server.asked).toHaveLength(2);
      expect(retries).toEqual([2]);
    });
  }
}

// oxfmt-ignore
const LASTING = [
  { title: "400",                       answer: refuse(400, { error: { message: "no such field" } }),                                reason: "bad_request",    says: /no such field/ },
  { title: "401",                       answer: refuse(401, { error: { message: `Incorrect API key provided: ${KEY}` } }),           reason: "key_refused",    says: /Incorrect API key/ },
  { title: "403",                       answer: refuse(403, { error: { message: "not yours" } }),                                    reason: "key_refused",    says: /not yours/ },
  { title: "404",                       answer: refuse(404, { error: { message: "no model m" } }),                                   reason: "not_found",      says: /no model m/ },
  { title: "a conversation too long",   answer: refuse(400, { error: { message: "This model's maximum context length is 8 tokens", code: "context_length_exceeded" } }), reason: "context_length", says: /maximum context/ },
  { title: "an account without money",  answer: refuse(429, { error: { message: "You exceeded it", code: "insufficient_quota" } }),   reason: "quota",          says: /You exceeded it/ },
] as const;

for (const { title, answer, reason, says } of LASTING) {
  test(`${title} is not retried, and the error contains the server's message without the key`, async () => {
    const server = await startModelServer([answer]);
    const error = await failureOf(ask(connect(server)));
    expect(server.asked).toHaveLength(1);
    expect(error.code).toBe("ModelFailed");
    expect(failureReason(error)).toBe(reason);
    expect(error.details?.["context_length"]).toBe(reason === "context_length" ? true : undefined);
    expect(error.message).toMatch(says);
    expect(JSON.stringify([error.message, error.details, error.cause])).not.toContain(KEY);
  });
}

test("a server that keeps failing is abandoned after the last attempt, with its message", async () => {
  const server = await startModelServer([refuse(500, { error: { message: "out of order" } })]);
  const error = await failureOf(ask(connect(server)));
  expect(server.asked).toHaveLength(3);
  expect(error.message).toBe("500 out of order, after 3 attempts");
  expect(error.details).toMatchObject({ reason: "server_error", status: 500, attempts: 3 });
});

test("a requested wait that exceeds the remaining time ends the attempts", async () => {
  const server = await startModelServer([refuse(429, {}, { "retry-after": "3600" })]);
  const error = await failureOf(ask(connect(server, { clock: () => 1000 })));
  expect(server.asked).toHaveLength(1);
  expect(error.message).toMatch(/asks to wait 3600 s/);
  expect(error.details).toMatchObject({ reason: "rate_limited", retry_at: 3_601_000 });
});

test("aborting ends the wait for another attempt at once", async () => {
  const server = await startModelServer([refuse(503)]);
  const controller = new AbortController();
  const slow = { ...QUICK, base_ms: LONG, longest_ms: LONG, total_ms: 10 * LONG };
  const asking = ask(connect(server, { retry: slow }), {
    signal: controller.signal,
    onRetry: () => controller.abort(new Error("enough")),
  });
  await expect(asking).rejects.toThrow("enough");
  expect(server.asked).toHaveLength(1);
});

test("aborting during a reply ends it at once, and does not count against the server", async () => {
  const server = await startModelServer([stream(FORMATS["compatible"]?.calls.slice(0, 2) ?? [], { end: false })]);
  const controller = new AbortController();
  const one = new CircuitBreaker("test", { threshold: 1, cooldown_ms: LONG, longest_ms: LONG, clock: Date.now });
  const asking = ask(connect(server, { breaker: one }), {
    signal: controller.signal,
    onDelta: () => controller.abort(new Error("enough")),
  });
  await expect(asking).rejects.toThrow("enough");
  expect(one.state).toMatchObject({ state: "closed", failures_in_a_row: 0 });
});

// oxfmt-ignore
const STUCK = [
  { title: "says nothing",            answer: silence,                                                                             times: { first_byte_ms: 500, idle_ms: LONG, whole_ms: LONG }, says: /no response within 0.5 s/ },
  { title: "stops in the middle",     answer: stream(FORMATS["compatible"]?.calls.slice(0, 2) ?? [], { end: false }),             times: { first_byte_ms: LONG, idle_ms: 20, whole_ms: LONG }, says: /no more data within 0.02 s/ },
  { title: "never completes",          answer: stream(FORMATS["compatible"]?.calls.slice(0, 2) ?? [], { end: false }),             times: { first_byte_ms: LONG, idle_ms: LONG, whole_ms: 500 }, says: /not complete after 0.5 s/ },
] as const;

for (const { title, answer, times, says } of STUCK) {
  test(`a server that ${title} times out`, async () => {
    const server = await startModelServer([answer]);
    const error = await failureOf(ask(connect(server, { times, retry: { ...QUICK, max_attempts: 2 } })));
    expect(server.asked).toHaveLength(2);
    expect(error.message).toMatch(says);
    expect(failureReason(error)).toBe("timeout");
  });
}

test("a redirect to another host is not followed, so that the key is not sent there", async () => {
  for (const kind of KINDS) {
    const other = await startModelServer([ANSWERS[kind]]);
    const server = await startModelServer([refuse(307, {}, { location: `${other.url}/v1/elsewhere` })]);
    const error = await failureOf(ask(connect(server, { kind })));
    expect(error.message).toContain(`redirects to ${other.url}, where the key is not sent`);
    expect(other.asked).toHaveLength(0);
    expect(server.asked).toHaveLength(1);
  }
});

test("a redirect on the same host is followed with the same request, but not in a loop", async () => {
  const server = await startModelServer([refuse(308, {}, { location: "/v2/chat/completions" }), ANSWERS.compatible]);
  expect(await ask(connect(server))).toMatchObject({ text: "Hello." });
  expect(server.asked.map(({ path }) => path)).toEqual(["/v1/chat/completions", "/v2/chat/completions"]);
  expect(server.asked[1]?.body).toEqual(server.asked[0]?.body);

  const circle = await startModelServer([refuse(307, {}, { location: "/again" })]);
  expect(failureReason(await failureOf(ask(connect(circle))))).toBe("redirected");
  expect(circle.asked).toHaveLength(4);
});

test("an open breaker refuses at once and names the time of the next attempt", async () => {
  const server = await startModelServer([refuse(500)]);
  let now = 1_000_000;
  const one = new CircuitBreaker("test", { threshold: 3, cooldown_ms: 5000, longest_ms: 9000, clock: () => now });
  const provider = connect(server, { breaker: one, clock: () => now });
  await failureOf(ask(provider));
  expect(one.state).toMatchObject({ state: "open", retry_at: 1_005_000 });

  const refused = await failureOf(ask(provider));
  expect(refused.message).toContain("the next attempt is allowed at 1970-01-01T00:16:45.000Z (in 5 s)");
  expect(refused.details).toMatchObject({ reason: "breaker_open", retry_at: 1_005_000 });
  expect(server.asked).toHaveLength(3);

  now = 1_005_000;
  await failureOf(ask(provider));
  expect(server.asked).toHaveLength(4);
  expect(one.state).toMatchObject({ state: "open", retry_at: 1_014_000 });
});

test("a server that rejects requests is healthy, and no breaker opens", async () => {
  const server = await startModelServer([refuse(401)]);
  const one = new CircuitBreaker("test", { threshold: 1, cooldown_ms: LONG, longest_ms: LONG, clock: Date.now });
  await failureOf(ask(connect(server, { breaker: one })));
  expect(one.state.state).toBe("closed");
});

test("a kept-alive connection that the server closed meanwhile is not a failure", async () => {
  const server = await startModelServer([ANSWERS.compatible, cut(), ANSWERS.compatible]);
  const provider = connect(server, { retry: { ...QUICK, max_attempts: 1 } });
  await ask(provider);
  expect(await ask(provider)).toMatchObject({ text: "Hello." });
  expect(server.asked).toHaveLength(3);
});

test("an unreachable server is reported as such", async () => {
  const gone = createServer();
  await new Promise<void>((done) => void gone.listen(0, "127.0.0.1", done));
  const { port } = gone.address() as AddressInfo;
  await new Promise((done) => gone.close(done));
  const provider = createAiSdkProvider({
    name: "compatible:m",
    kind: "compatible",
    model: "m",
    access: { base_url: `http://127.0.0.1:${port}/v1` },
    retry: QUICK,
    breaker: breaker(),
  });
  const error = await failureOf(ask(provider));
  expect(error.message).toBe(`the connection to 127.0.0.1:${port} failed (ECONNREFUSED), after 3 attempts`);
});

test("an endless error body is read only up to a limit", async () => {
  const endless: Answer = (response) => {
    response.writeHead(400, { "content-type": "text/plain" });
    const more = (): void => {
      while (!response.destroyed && response.write("x".repeat(65_536)));
    };
    response.on("drain", more);
    more();
  };
  const server = await startModelServer([endless]);
  expect(failureReason(await failureOf(ask(connect(server))))).toBe("bad_request");
});

test("a reply stopped by a content filter is an error, and is not retried", async () => {
  const server = await startModelServer([
    stream([
      {
        id: "c",
        created: 1,
        model: "m",
        choices: [{ index: 0, delta: { content: "I" }, finish_reason: "content_filter" }],
      },
    ]),
  ]);
  expect(failureReason(await failureOf(ask(connect(server))))).toBe("content_filter");
  expect(server.asked).toHaveLength(1);
});

test("a process has one breaker per host and model", async () => {
  const { breakerState } = await import("./failures/circuit-breaker.ts");
  const server = await startModelServer([ANSWERS.compatible]);
  const provider = await createProvider(`compatible:some/model@${server.url}/v1`, {});
  await ask(provider);
  const { host } = new URL(server.url);
  expect(breakerState()).toContainEqual({ provider: `${host} some/model`, state: "closed", failures_in_a_row: 0 });
  expect(server.asked[0]?.headers.authorization).toBeUndefined();
});
