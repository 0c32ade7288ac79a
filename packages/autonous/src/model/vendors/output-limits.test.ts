import { expect, test } from "vitest";
import { playRounds, READ, replies } from "../../../../../test/support/chat-rounds.ts";
import type { Json } from "../../../../../test/support/chat-rounds.ts";
import { FORMATS } from "../../../../../test/support/model-events.ts";
import { refuse, startModelServer, stream } from "../../../../../test/support/model-server.ts";
import type { Answer, ReceivedRequest } from "../../../../../test/support/model-server.ts";
import { createProvider } from "../choose.ts";

const error = (message: string, status = 400): Answer =>
  refuse(status, { error: { message, type: "invalid_request_error" } });
const QUESTION = { system: "", messages: [{ role: "user", text: "a" }], rounds: 0, tools: [READ] } as const;
const limits = (asked: readonly ReceivedRequest[]): readonly unknown[] =>
  asked.map(({ body }) => body["max_completion_tokens"] ?? body["max_tokens"]);

/** The wording of each vendor, for a request that asked for 100,000. */
// oxfmt-ignore
const WORDS: readonly { says: string; gives: number }[] = [
  { says: "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5-20250929", gives: 64_000 },
  { says: "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.", gives: 16_384 },
  { says: "Invalid 'max_tokens': integer above maximum value. Expected a value <= 8192, but got 100000 instead.", gives: 8192 },
  { says: "<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 65536]", gives: 65_536 },
  { says: "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", gives: 8192 },
  { says: "`max_tokens` must be less than or equal to `32768`, the maximum value for `max_tokens` is less than the `context_window` for this model", gives: 32_768 },
  { says: "Unable to submit request because it has a maxOutputTokens value of 100000 but the supported range is from 1 (inclusive) to 65537 (exclusive). Update the value and try again.", gives: 65_536 },
  { says: "The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is lower than 4096.", gives: 4096 },
  { says: "too many tokens: max tokens must be less than or equal to 4,096, the maximum output length for this model - received 100000.", gives: 4096 },
  { says: "max_new_tokens cannot be greater than 8000, got 100000", gives: 8000 },
];

for (const [index, { says, gives }] of WORDS.entries()) {
  test(`a rejected reply length is replaced by the length that the server names: ${says.slice(0, 60)}`, async () => {
    const { asked, replies: got } = await playRounds([replies([{ content: "Yes." }])], {
      path: "v1",
      model: `words-${index}`,
      settings: { max_output_tokens: 100_000 },
      first: [error(says)],
    });
    expect(limits(asked)).toEqual([100_000, gives]);
    expect(got[0]?.text).toBe("Yes.");
  });
}

test("the named length is remembered for the model", async () => {
  const server = await startModelServer([
    error("supports at most 16384 completion tokens"),
    replies([{ content: "." }]),
  ]);
  const provider = await createProvider(`compatible:remembered@${server.url}`, {}, () => ({
    max_output_tokens: 50_000,
  }));
  const signal = new AbortController().signal;
  await provider.complete(QUESTION, { signal });
  await provider.complete(QUESTION, { signal });
  expect(limits(server.asked)).toEqual([50_000, 16_384, 16_384]);
});

test("a model that accepts the limit only under its newer name gets that name", async () => {
  const says =
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
  const { asked } = await playRounds([replies([{ content: "." }])], {
    path: "v1",
    model: "my-deployment",
    settings: { max_output_tokens: 9000 },
    first: [error(says)],
  });
  const sent = asked.map(({ body }) => [body["max_tokens"], body["max_completion_tokens"]]);
  expect(sent).toEqual([
    [9000, undefined],
    [undefined, 9000],
  ]);
});

// oxfmt-ignore
const BESIDE: readonly { title: string; says: string; most: number; least: number }[] = [
  { title: "Anthropic", says: "input length and `max_tokens` exceed context limit: 150000 + 64000 > 200000, decrease input length or `max_tokens` and try again", most: 50_000, least: 45_000 },
  { title: "vLLM",      says: "'max_tokens' or 'max_completion_tokens' is too large: 64000. This model's maximum context length is 32768 tokens and your request has 8000 input tokens (64000 > 32768 - 8000).", most: 24_768, least: 24_000 },
  { title: "OpenAI",    says: "This model's maximum context length is 128000 tokens. However, you requested 164000 tokens (100000 in the messages, 64000 in the completion).", most: 28_000, least: 25_000 },
];

for (const { title, says, most, least } of BESIDE) {
  test(`if input and reply do not fit together, the reply is shortened before anything is summarised: ${title}`, async () => {
    const { asked } = await playRounds([replies([{ content: "." }])], {
      path: "v1",
      model: `beside-${title}`,
      settings: { max_output_tokens: 64_000 },
      first: [error(says)],
    });
    const [first, second] = limits(asked) as number[];
    expect(first).toBe(64_000);
    expect(second).toBeLessThanOrEqual(most);
    expect(second).toBeGreaterThan(least);
    expect(asked).toHaveLength(2);
  });
}

// oxfmt-ignore
const LEFT: readonly { title: string; says: string }[] = [
  { title: "the input alone is too long",           says: "input length and `max_tokens` exceed context limit: 199000 + 64000 > 200000" },
  { title: "no number is named",                    says: "max_tokens is too large" },
  { title: "a refusal about something else",        says: "temperature must be less than 2; 500 tokens were given" },
];

for (const [index, { title, says }] of LEFT.entries()) {
  test(`a request is not retried with another length: ${title}`, async () => {
    const server = await startModelServer([error(says)]);
    const settings = { max_output_tokens: 64_000 };
    const provider = await createProvider(`compatible:left-${index}@${server.url}`, {}, () => settings);
    const asking = provider.complete(QUESTION, { signal: new AbortController().signal });
    await expect(asking).rejects.toMatchObject({ code: "ModelFailed" });
    expect(server.asked).toHaveLength(1);
  });
}

test("a server that keeps rejecting is not asked forever", async () => {
  const server = await startModelServer([
    error("max_tokens must be at most 9000"),
    error("max_tokens must be at most 800"),
    error("max_tokens must be at most 70"),
  ]);
  const provider = await createProvider(`compatible:refusing@${server.url}`, {}, () => ({ max_output_tokens: 50_000 }));
  await expect(provider.complete(QUESTION, { signal: new AbortController().signal })).rejects.toMatchObject({
    code: "ModelFailed",
  });
  expect(limits(server.asked)).toEqual([50_000, 9000, 800]);
});

test("the reply length leaves room for a long conversation if the context window is known", async () => {
  const format = FORMATS["anthropic"];
  const server = await startModelServer([stream(format?.answer(".") ?? [])]);
  const environment = format?.environment(server.url) ?? {};
  const provider = await createProvider("anthropic:claude-sonnet-4-5", environment);
  const text = "x".repeat(480_000); // 160,000 tokens, rather counted too high
  const request = { system: "", messages: [{ role: "user", text }], rounds: 0, tools: [READ] } as const;
  await provider.complete(request, { signal: new AbortController().signal });
  const [sent] = limits(server.asked) as number[];
  expect(sent).toBeGreaterThan(35_000);
  expect(sent).toBeLessThan(40_000);
});

test("a thinking budget shrinks with the reply, and thinking is off in a round whose calls were made without it", async () => {
  const format = FORMATS["anthropic"];
  const server = await startModelServer([
    refuse(400, {
      type: "error",
      error: {
        type: "invalid_request_error",
        message: "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens",
      },
    }),
    stream(format?.answer(".") ?? []),
  ]);
  const environment = format?.environment(server.url) ?? {};
  const provider = await createProvider("anthropic:claude-sonnet-4-5", environment, () => ({ thinking: 16_000 }));
  const signal = new AbortController().signal;
  const asking = { system: "", rounds: 0, tools: [READ] };
  await provider.complete({ ...asking, messages: [{ role: "user", text: "a" }] }, { signal });
  const thinking = (index: number): Json => server.asked[index]?.body["thinking"] as Json;
  expect(limits(server.asked)).toEqual([64_000, 8192]);
  expect(thinking(1)["budget_tokens"]).toBe(8192 - 1024);

  const calls = [{ tool_call_id: "call_1", provider_call_id: "call_1", name: "read", arguments: {} }];
  const result = { role: "tool", tool_call_id: "call_1", name: "read", text: "ok", result: {} } as never;
  const messages = [
    { role: "user", text: "a" },
    { role: "assistant", text: "", calls, maker: "openai:gpt-5" },
    result,
  ] as const;
  await provider.complete({ ...asking, messages }, { signal });
  expect(thinking(2)).toBeUndefined();
});
