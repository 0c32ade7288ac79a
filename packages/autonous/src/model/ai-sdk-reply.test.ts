import type { LanguageModelV4FinishReason, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { expect, test } from "vitest";
import { readReply } from "./ai-sdk-reply.ts";
import { AttemptFailed } from "./failures/model-failure.ts";
import type { ModelReply } from "./provider.ts";
import { mapToolNames } from "./prompt/tool-names.ts";

const NO_USAGE = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

function finish(unified: LanguageModelV4FinishReason["unified"], raw?: string): LanguageModelV4StreamPart {
  return { type: "finish", usage: NO_USAGE, finishReason: { unified, raw } };
}

function call(toolCallId: string, input: string): LanguageModelV4StreamPart {
  return { type: "tool-call", toolCallId, toolName: "read", input };
}

async function read(parts: readonly LanguageModelV4StreamPart[]): Promise<ModelReply> {
  async function* stream(): AsyncGenerator<LanguageModelV4StreamPart> {
    yield* parts;
  }
  return await readReply(stream(), { maker: "me", names: mapToolNames(["read"]) });
}

// oxfmt-ignore
const FINISHES = [
  { unified: "stop",           raw: "stop",           ends: "stop" },
  { unified: "tool-calls",     raw: "tool_calls",     ends: "stop" },
  { unified: "stop",           raw: undefined,        ends: "stop" },
  { unified: "length",         raw: "max_tokens",     ends: "length" },
  { unified: "other",          raw: "eos",            ends: "stop" },
  { unified: "other",          raw: "EOS_TOKEN",      ends: "stop" },
  { unified: "other",          raw: "abort",          ends: "cut_off" },
  { unified: "other",          raw: undefined,        ends: "cut_off" },
  { unified: "error",          raw: "MALFORMED_FUNCTION_CALL", ends: "cut_off" },
  { unified: "content-filter", raw: "SAFETY",         ends: "content_filter" },
] as const;

for (const { unified, raw, ends } of FINISHES) {
  test(`a reply that finished as ${unified} (${String(raw)}) ends as ${ends}`, async () => {
    const ended = await read([call("1", "{}"), finish(unified, raw)]).then(
      (reply) => reply.finish,
      (error: unknown) => (error instanceof AttemptFailed ? error.failure.reason : error),
    );
    expect(ended).toBe(ends);
  });
}

test("a stream that ends without a finish reason is not a reply", async () => {
  await expect(read([call("1", "{}")])).rejects.toThrow("incomplete reply: it broke off");
});

test("an error in the stream is thrown unchanged, whatever precedes or follows it", async () => {
  const error = { type: "overloaded_error", message: "Overloaded" };
  await expect(read([call("1", "{}"), { type: "error", error }, finish("stop")])).rejects.toBe(error);
});

// oxfmt-ignore
const CALLS = [
  { title: "arguments as they were written, broken ones too", parts: [call("1", '{"a":')],                     calls: [["1", '{"a":']] },
  { title: "no arguments as an empty object",                 parts: [call("1", " ")],                         calls: [["1", "{}"]] },
  { title: "one call for one that came twice",                parts: [call("1", "{}"), call("1", "{}")],       calls: [["1", "{}"]] },
  { title: "two calls where an id is given twice",            parts: [call("1", "{}"), call("1", '{"a":1}')],  calls: [["1", "{}"], ["1_2", '{"a":1}']] },
] as const;

for (const { title, parts, calls } of CALLS) {
  test(`a reply has ${title}`, async () => {
    const reply = await read([...parts, finish("tool-calls", "x")]);
    expect(reply.kind === "native" && reply.calls.map(({ id, input }) => [id, input])).toEqual(calls);
    expect(reply).not.toHaveProperty("provider_parts");
    expect(reply).not.toHaveProperty("usage");
  });
}

test("content that was signed in pieces is sent back in one piece, with the latest signature", async () => {
  const reply = await read([
    { type: "reasoning-start", id: "r", providerMetadata: { me: { item: "i", signature: null } } },
    { type: "reasoning-delta", id: "r", delta: "Hm" },
    { type: "reasoning-delta", id: "r", delta: "", providerMetadata: { me: { signature: "s" } } },
    { type: "reasoning-end", id: "r" },
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: "Hi" },
    { type: "text-end", id: "t", providerMetadata: { me: { signature: "t" } } },
    finish("stop", "x"),
  ]);
  expect(reply).toEqual({
    kind: "native",
    text: "Hi",
    calls: [],
    finish: "stop",
    provider_parts: {
      maker: "me",
      parts: [
        { type: "reasoning", text: "Hm", options: { me: { item: "i", signature: "s" } } },
        { type: "text", chars: 2, options: { me: { signature: "t" } } },
      ],
    },
  });
});
