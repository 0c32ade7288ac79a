import { expect, test } from "vitest";
import { askOnce, connectTo, raw } from "../../../../test/support/model-asking.ts";
import { FORMATS, KEY } from "../../../../test/support/model-events.ts";
import { cut, refuse, startModelServer, stream } from "../../../../test/support/model-server.ts";
import type { AiSdkOptions } from "./ai-sdk-provider.ts";
import { CircuitBreaker } from "./failures/circuit-breaker.ts";

type Kind = AiSdkOptions["kind"];

const json = (body: unknown): ReturnType<typeof raw> => raw(JSON.stringify(body), { type: "application/json" });
const chunk = (delta: unknown, finish_reason: unknown = null): object => ({
  choices: [{ index: 0, delta, finish_reason }],
});
const chatUsage = { choices: [], usage: { prompt_tokens: 40, completion_tokens: 7 } };
const USAGE = { input_tokens: 40, output_tokens: 7 };
const item = { type: "message", id: "m" };
const NO = "I can't help with that.";

function strictBreaker(): CircuitBreaker {
  return new CircuitBreaker("test", { threshold: 1, cooldown_ms: 60_000, longest_ms: 60_000, clock: Date.now });
}

// oxfmt-ignore
const REFUSALS: readonly { kind: Kind; title: string; answer: ReturnType<typeof raw>; shown?: string; said?: string }[] = [
  { kind: "compatible",  title: "in pieces",           answer: stream([chunk({ role: "assistant", content: null, refusal: "" }), chunk({ refusal: "I can't " }), chunk({ refusal: "help with that." }), chunk({}, "stop"), chatUsage, "[DONE]"]) },
  { kind: "openai-chat", title: "in pieces",           answer: stream([chunk({ refusal: NO }), chunk({}, "stop"), chatUsage, "[DONE]"]) },
  { kind: "openai-chat", title: "one JSON",            answer: json({ choices: [{ message: { content: null, refusal: NO }, finish_reason: "stop" }], usage: chatUsage.usage }) },
  { kind: "compatible",  title: "as a part",           answer: json({ choices: [{ message: { content: [{ type: "refusal", refusal: NO }] }, finish_reason: "stop" }], usage: chatUsage.usage }) },
  { kind: "compatible",  title: "as a finish reason",  answer: stream([chunk({ content: NO }), chunk({}, "refusal"), chatUsage, "[DONE]"]) },
  { kind: "openai",      title: "as events",           answer: stream([{ type: "response.output_item.added", output_index: 0, item }, { type: "response.refusal.delta", item_id: "m", output_index: 0, delta: "I can't " }, { type: "response.refusal.delta", item_id: "m", output_index: 0, delta: "help with that." }, { type: "response.refusal.done", item_id: "m", output_index: 0, refusal: NO }, { type: "response.output_item.done", output_index: 0, item: { ...item, content: [{ type: "refusal", refusal: NO }] } }, { type: "response.completed", response: { usage: USAGE } }]) },
  { kind: "openai",      title: "in the last event",   answer: stream([{ type: "response.refusal.done", item_id: "m", output_index: 0, refusal: NO }, { type: "response.completed", response: { usage: USAGE } }]) },
  { kind: "openai",      title: "one JSON",            answer: json({ object: "response", status: "completed", output: [{ ...item, content: [{ type: "refusal", refusal: NO }] }], usage: USAGE }) },
  { kind: "anthropic",   title: "as a stop reason",    answer: json({ type: "message", content: [{ type: "text", text: NO }], stop_reason: "refusal", usage: USAGE }) },
  { kind: "anthropic",   title: "without words",       answer: json({ type: "message", content: [], stop_reason: "refusal", usage: USAGE }), shown: "", said: "it refused" },
];

for (const { kind, title, answer, shown = NO, said = `it refused: ${NO}` } of REFUSALS) {
  test(`${kind}: a refusal ${title} is reported once as a refusal, with its usage`, async () => {
    const server = await startModelServer([answer]);
    const breaker = strictBreaker();
    const outcome = await askOnce(server, connectTo(server, kind, { breaker }));
    expect(outcome.error?.message).toBe(said);
    expect(outcome.error?.details).toMatchObject({ reason: "refused" });
    expect(outcome.spent).toEqual([expect.objectContaining(USAGE)]);
    expect([outcome.asked, outcome.shown, breaker.state.state]).toEqual([1, shown, "closed"]);
  });
}

test("the words of a refusal are redacted and bounded", async () => {
  const server = await startModelServer([stream([chunk({ refusal: `No ${KEY} ${"no ".repeat(10_000)}` }), "[DONE]"])]);
  const { error } = await askOnce(server, connectTo(server, "compatible"));
  expect(error?.message).not.toContain(KEY);
  expect(error?.message.length).toBeLessThan(520);
});

// oxfmt-ignore
const UNUSABLE: readonly { kind: Kind; title: string; answer: ReturnType<typeof raw>; says: RegExp; usage?: object }[] = [
  { kind: "google",     title: "MALFORMED_FUNCTION_CALL",          answer: stream([{ candidates: [{ content: {}, finishReason: "MALFORMED_FUNCTION_CALL", finishMessage: "Malformed function call: print(default_api.read())" }], usageMetadata: { promptTokenCount: 40, candidatesTokenCount: 7 } }]), says: /MALFORMED_FUNCTION_CALL: Malformed function call: print/, usage: USAGE },
  { kind: "google",     title: "UNEXPECTED_TOOL_CALL",             answer: stream([{ candidates: [{ finishReason: "UNEXPECTED_TOOL_CALL" }], usageMetadata: { promptTokenCount: 40, candidatesTokenCount: 7 } }]), says: /UNEXPECTED_TOOL_CALL/, usage: USAGE },
  { kind: "compatible", title: "a finish reason of that kind",     answer: stream([chunk({ content: "x" }), chunk({}, "malformed_function_call"), chatUsage, "[DONE]"]), says: /malformed_function_call/, usage: USAGE },
  { kind: "compatible", title: "Groq's tool_use_failed",           answer: refuse(400, { error: { message: "Failed to call a function. Please adjust your prompt.", type: "invalid_request_error", code: "tool_use_failed", failed_generation: "<function=read{}" } }), says: /Failed to call a function/ },
  { kind: "compatible", title: "Ollama's parser",                  answer: refuse(500, { error: { message: "error parsing tool call: raw='{\"a\"' err=unexpected end of JSON input", type: "api_error" } }), says: /error parsing tool call/ },
  { kind: "compatible", title: "vLLM's parser",                    answer: refuse(400, { object: "error", message: "Failed to parse tool call: no JSON", code: 400 }), says: /Failed to parse tool call/ },
  { kind: "compatible", title: "such an error in a stream",        answer: stream([chunk({ content: "x" }), { error: { message: "error parsing tool call: raw='x'" } }]), says: /error parsing tool call/ },
];

for (const { kind, title, answer, says, usage } of UNUSABLE) {
  test(`${kind}: ${title} is an unusable reply: not retried, and not counted against the server`, async () => {
    const server = await startModelServer([answer]);
    const breaker = strictBreaker();
    const { reply, error, asked } = await askOnce(server, connectTo(server, kind, { breaker }));
    expect(error?.message).toBeUndefined();
    expect(reply).toMatchObject({ kind: "native", calls: [], problem: expect.stringMatching(says) as string });
    if (usage !== undefined) expect(reply?.usage).toMatchObject(usage);
    expect([asked, breaker.state.failures_in_a_row]).toEqual([1, 0]);
  });
}

// oxfmt-ignore
const WANTS = [
  { kind: "compatible", answer: stream([chunk({ content: "<tool_call>" }), chunk({}, "tool_calls"), "[DONE]"]), wants: true },
  { kind: "compatible", answer: stream([chunk({ content: "Hi" }), chunk({}, "stop"), "[DONE]"]), wants: undefined },
  { kind: "anthropic",  answer: json({ type: "message", content: [{ type: "text", text: "x" }], stop_reason: "tool_use", usage: USAGE }), wants: true },
] as const;

for (const { kind, answer, wants } of WANTS) {
  test(`${kind}: a reply ${wants === true ? "announces calls" : "does not announce calls"}, like its finish reason`, async () => {
    const server = await startModelServer([answer]);
    expect((await askOnce(server, connectTo(server, kind))).reply?.wants_calls).toBe(wants);
  });
}

const anthropicBegun = FORMATS["anthropic"]?.calls.slice(0, -3) ?? [];
const geminiBegun = FORMATS["google"]?.calls.slice(0, 2) ?? [];
const chatBegun = FORMATS["compatible"]?.calls.slice(0, 2) ?? [];
const responsesBegun = FORMATS["openai"]?.calls.slice(0, 8) ?? [];

// oxfmt-ignore
const SPENT = [
  { kind: "anthropic",  title: "what message_start said, its output counted",  broken: cut(anthropicBegun), spent: [{ input_tokens: 45, cached_input_tokens: 30, cache_write_tokens: 5, estimated: true }] },
  { kind: "google",     title: "what its last chunk said",                     broken: cut(geminiBegun),    spent: [{ input_tokens: 45, output_tokens: 9, cached_input_tokens: 30 }] },
  { kind: "compatible", title: "usage that came before it broke",              broken: cut([chunk({ content: "x" }), { choices: [], usage: { prompt_tokens: 40, completion_tokens: 7 } }]), spent: [USAGE] },
  { kind: "compatible", title: "an estimate without reported usage",            broken: cut(chatBegun),      spent: [{ output_tokens: 4, estimated: true }] },
  { kind: "openai",     title: "an estimate without reported usage",            broken: cut(responsesBegun), spent: [{ output_tokens: 4, estimated: true }] },
  { kind: "openai",     title: "the usage of a response that failed",          broken: stream([{ type: "response.failed", response: { error: { code: "server_error", message: "x" }, usage: USAGE } }]), spent: [USAGE] },
  { kind: "compatible", title: "nothing for a refused request",                broken: refuse(503, {}),     spent: [] },
  { kind: "anthropic",  title: "nothing for an error before anything came",    broken: stream([{ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }]), spent: [] },
  { kind: "compatible", title: "nothing for a reset",                          broken: cut(),               spent: [] },
] as const;

for (const { kind, title, broken, spent } of SPENT) {
  test(`${kind}: a failed attempt is reported with ${title}, before the next one`, async () => {
    const server = await startModelServer([broken, stream(FORMATS[kind]?.answer("All.") ?? [])]);
    const before: number[] = [];
    const seen: unknown[] = [];
    const { reply } = await askOnce(server, connectTo(server, kind), {
      onSpent: async (usage) => {
        seen.push(usage);
        before.push(server.asked.length);
      },
    });
    expect(reply?.text).toBe("All.");
    expect(seen).toEqual(spent.map((each) => expect.objectContaining(each) as object));
    expect(before).toEqual(spent.map(() => 1));
  });
}

test("the estimate of the input uses the bytes of the request", async () => {
  const server = await startModelServer([cut(chatBegun), stream(FORMATS["compatible"]?.answer("All.") ?? [])]);
  const { spent } = await askOnce(server, connectTo(server, "compatible"));
  const bytes = Buffer.byteLength(JSON.stringify(server.asked[0]?.body));
  expect(spent[0]?.input_tokens).toBe(Math.ceil(bytes / 4));
});

test("an error thrown by onSpent ends the attempts", async () => {
  const server = await startModelServer([cut(chatBegun)]);
  const enough = new Error("the limit is reached");
  const asking = askOnce(server, connectTo(server, "compatible"), {
    onSpent: async () => await Promise.reject(enough),
  });
  await expect(asking).rejects.toBe(enough);
  expect(server.asked).toHaveLength(1);
});

for (const kind of ["compatible", "anthropic", "openai", "google"] as const) {
  test(`${kind}: an oversized answer is read only up to a limit, counted, and not retried`, async () => {
    const [first, ...rest] = FORMATS[kind]?.answer("y".repeat(65_536)).slice(0, 3) ?? [];
    const text = [first, ...rest].find((each) => JSON.stringify(each).includes("yyy"));
    let written = 0;
    const server = await startModelServer([
      (response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        const write = (event: unknown): boolean => response.write(`data: ${JSON.stringify(event)}\n\n`);
        if (first !== text) write(first);
        const more = (): void => {
          while (!response.destroyed && written++ < 1000) if (!write(text)) return;
        };
        response.on("drain", more);
        more();
      },
    ]);
    const { reply, asked, spent, error } = await askOnce(server, connectTo(server, kind));
    expect(error?.message).toBeUndefined();
    expect(reply).toMatchObject({
      calls: [],
      problem: expect.stringContaining("longer than 1048576 characters") as string,
    });
    expect(reply?.text.length).toBeLessThan(10_000);
    expect(reply?.usage?.output_tokens).toBeGreaterThan(0);
    expect([asked, spent]).toEqual([1, []]);
    expect(written).toBeLessThan(900);
  });
}
