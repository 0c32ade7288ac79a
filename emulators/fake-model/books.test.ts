import { expect, onTestFinished, test } from "vitest";
import { NOT_BILLED } from "./books.ts";
import type { FaultInput } from "./script.ts";
import { startFakeModel } from "./server.ts";
import type { FakeModel } from "./server.ts";

type Body = Record<string, unknown>;

const HEADERS = { authorization: "Bearer k", "x-api-key": "k", "anthropic-version": "2023-06-01" };
const TEXT = "a text of some length that the model reads and remembers. ".repeat(200);
const MARK = { cache_control: { type: "ephemeral" } };
const ROUND = { text: "An answer that comes in several pieces, one after the other, until it is all said." };
const USAGE = { input_tokens: 1000, output_tokens: 100 };

async function open(faults: readonly FaultInput[] = [], usage: object = USAGE): Promise<FakeModel> {
  const model = await startFakeModel({ script: { rounds: [{ ...ROUND, usage }], repeat: true }, faults });
  onTestFinished(() => model.close());
  return model;
}

async function post(url: string, body: Body): Promise<void> {
  try {
    const response = await fetch(url, { method: "POST", headers: HEADERS, body: JSON.stringify(body) });
    await response.text();
  } catch {
    // Torn, as the fault has it.
  }
}

const chat = (model: FakeModel): Promise<void> =>
  post(`${model.url}/deepseek/v1/chat/completions`, {
    model: "m",
    stream: true,
    messages: [{ role: "user", content: "hi" }],
  });
const anthropic = (model: FakeModel): Promise<void> =>
  post(`${model.url}/anthropic/v1/messages`, {
    model: "m",
    stream: true,
    max_tokens: 9,
    messages: [{ role: "user", content: "hi" }],
  });

// oxfmt-ignore
const BILLS: readonly { title: string; kind: FaultInput["kind"]; chat: readonly [number, number, number]; anthropic: readonly [number, number, number] }[] = [
  { title: "a reply costs its usage",                       kind: "duplicated_chunks",  chat: [1000, 100, 100], anthropic: [1000, 100, 100] },
  { title: "a refusal costs nothing",                       kind: "rate_limited",       chat: [0, 0, 0],        anthropic: [0, 0, 0] },
  { title: "a reset before the answer costs nothing",       kind: "reset",              chat: [0, 0, 0],        anthropic: [0, 0, 0] },
  { title: "an error in a 200 costs nothing",               kind: "error_in_200",       chat: [0, 0, 0],        anthropic: [0, 0, 0] },
  { title: "a stream cut before its content costs its input", kind: "cut_before_content", chat: [1000, 0, 0],   anthropic: [1000, 1, 1] },
  { title: "a stream cut in the middle costs what was said", kind: "error_in_stream",   chat: [1000, 1, 99],    anthropic: [1000, 1, 99] },
  { title: "a stream cut after its content costs all of it", kind: "cut_after_content", chat: [1000, 100, 100], anthropic: [1000, 100, 100] },
];

for (const { title, kind, ...expected } of BILLS) {
  test.each([
    { format: "chat", ask: chat },
    { format: "anthropic", ask: anthropic },
  ] as const)(`$format: ${title}`, async ({ format, ask }) => {
    const model = await open([{ kind }]);
    await ask(model);
    const [input, least, most] = expected[format];
    const { input_tokens, output_tokens } = model.billed;
    expect(input_tokens).toBe(input);
    expect(output_tokens).toBeGreaterThanOrEqual(least);
    expect(output_tokens).toBeLessThanOrEqual(most);
    expect(model.requests[0]?.billed).toEqual(model.billed);
  });
}

test("a request that breaks a rule costs nothing", async () => {
  const model = await open();
  await post(`${model.url}/anthropic/v1/messages`, { model: "m", max_tokens: 9, messages: [] });
  expect(model.billed).toEqual(NOT_BILLED);
});

/** The bills of two requests, the second of which goes on where the first ended. */
async function twoBills(path: string, begin: Body, next: Body): Promise<readonly [Body, Body]> {
  const model = await open([], {});
  await post(model.url + path, begin);
  await post(model.url + path, next);
  const [first, second] = model.requests;
  expect([first?.status, second?.status]).toEqual([200, 200]);
  return [{ ...first?.billed }, { ...second?.billed }];
}

const part = (text: string, mark: object = {}): Body => ({ type: "text", text, ...mark });
const ANSWER = { role: "assistant", content: "ok" };

// oxfmt-ignore
const CACHED = [
  { title: "Anthropic by marks", path: "/anthropic/v1/messages", fields: { max_tokens: 9 }, message: { role: "user", content: [part(TEXT, MARK)] }, writes: true },
  { title: "OpenRouter's Claude by marks", path: "/openrouter/v1/chat/completions", fields: {}, message: { role: "user", content: [part(TEXT, MARK)] }, writes: true },
  { title: "OpenAI by the prefix", path: "/openai/v1/chat/completions", fields: {}, message: { role: "user", content: TEXT }, writes: false },
  { title: "DeepSeek by the prefix", path: "/deepseek/v1/chat/completions", fields: {}, message: { role: "user", content: TEXT }, writes: false },
] as const;

for (const { title, path, fields, message, writes } of CACHED) {
  test(`${title}: what was said before is read from the cache`, async () => {
    const model = path.startsWith("/openrouter") ? "anthropic/claude-sonnet-4.5" : "m";
    const body = { model, messages: [message], ...fields };
    const [first, second] = await twoBills(path, body, {
      ...body,
      messages: [message, ANSWER, { role: "user", content: "go on" }],
    });
    expect(first["cached_input_tokens"]).toBe(0);
    if (writes) expect(first["cache_write_tokens"]).toBeGreaterThan(2500);
    else expect(first["cache_write_tokens"]).toBe(0);
    if (writes) expect(second["cached_input_tokens"]).toBeGreaterThan(2500);
    else expect(second["cached_input_tokens"]).toBeGreaterThan(2000);
  });
}

test("a server that bills by marks reads nothing without them", async () => {
  const body = { model: "m", max_tokens: 9, messages: [{ role: "user", content: TEXT }] };
  const [, second] = await twoBills("/anthropic/v1/messages", body, body);
  expect(second).toMatchObject({ cached_input_tokens: 0, cache_write_tokens: 0 });
});

test("Ollama reads what fits, and bills no more", async () => {
  const model = await startFakeModel({ context_tokens: 1000 });
  onTestFinished(() => model.close());
  await post(`${model.url}/ollama/v1/chat/completions`, { model: "m", messages: [{ role: "user", content: TEXT }] });
  expect(model.requests[0]).toMatchObject({ status: 200, billed: { input_tokens: 1000 } });
});
