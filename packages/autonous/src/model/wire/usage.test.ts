import { expect, test } from "vitest";
import { askOnce, connectTo } from "../../../../../test/support/model-asking.ts";
import { startModelServer, stream } from "../../../../../test/support/model-server.ts";

const chunk = (delta: unknown, finish_reason: unknown = null, more: object = {}): object => ({
  choices: [{ index: 0, delta, finish_reason }],
  ...more,
});
const ended = (more: object): readonly unknown[] => [
  chunk({ content: "Hi" }),
  chunk({}, "stop"),
  { choices: [], ...more },
  "[DONE]",
];

const messages = (start: object, delta: object): readonly unknown[] => [
  { type: "message_start", message: { id: "m", usage: start } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hi" } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: delta },
  { type: "message_stop" },
];

// oxfmt-ignore
const CASES = [
  { kind: "compatible", title: "numbers alone",                      events: ended({ usage: { prompt_tokens: 40, completion_tokens: 7, total_tokens: 47 } }),                                                                     usage: { input_tokens: 40, output_tokens: 7 } },
  { kind: "compatible", title: "numbers as text",                    events: ended({ usage: { prompt_tokens: "40", completion_tokens: "7" } }),                                                                                  usage: { input_tokens: 40, output_tokens: 7 } },
  { kind: "compatible", title: "thinking in the completion",         events: ended({ usage: { prompt_tokens: 40, completion_tokens: 7, total_tokens: 47, completion_tokens_details: { reasoning_tokens: 5 } } }),               usage: { input_tokens: 40, output_tokens: 7 } },
  { kind: "compatible", title: "thinking beside it (xAI)",           events: ended({ usage: { prompt_tokens: 40, completion_tokens: 7, total_tokens: 52, completion_tokens_details: { reasoning_tokens: 5 } } }),               usage: { input_tokens: 40, output_tokens: 12 } },
  { kind: "compatible", title: "the cache in details",               events: ended({ usage: { prompt_tokens: 40, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 30 } } }),                                      usage: { input_tokens: 40, output_tokens: 7, cached_input_tokens: 30 } },
  { kind: "compatible", title: "the cache written to (OpenRouter)",  events: ended({ usage: { prompt_tokens: 40, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 30, cache_write_tokens: 5 } } }),               usage: { input_tokens: 40, output_tokens: 7, cached_input_tokens: 30, cache_write_tokens: 5 } },
  { kind: "compatible", title: "DeepSeek's hits",                    events: ended({ usage: { prompt_tokens: 40, completion_tokens: 7, prompt_cache_hit_tokens: 30, prompt_cache_miss_tokens: 10 } }),                         usage: { input_tokens: 40, output_tokens: 7, cached_input_tokens: 30 } },
  { kind: "compatible", title: "Kimi's cache",                       events: ended({ usage: { prompt_tokens: 40, completion_tokens: 7, cached_tokens: 30 } }),                                                                usage: { input_tokens: 40, output_tokens: 7, cached_input_tokens: 30 } },
  { kind: "compatible", title: "usage in a choice (Kimi)",           events: [chunk({ content: "Hi" }), { choices: [{ index: 0, delta: {}, finish_reason: "stop", usage: { prompt_tokens: 40, completion_tokens: 7 } }] }, "[DONE]"], usage: { input_tokens: 40, output_tokens: 7 } },
  { kind: "compatible", title: "usage in x_groq",                    events: [chunk({ content: "Hi" }), chunk({}, "stop", { x_groq: { usage: { prompt_tokens: 40, completion_tokens: 7 } } }), "[DONE]"],                         usage: { input_tokens: 40, output_tokens: 7 } },
  { kind: "compatible", title: "usage without choices",              events: [chunk({ content: "Hi" }), chunk({}, "stop"), { usage: { prompt_tokens: 40, completion_tokens: 7 } }, "[DONE]"],                                    usage: { input_tokens: 40, output_tokens: 7 } },
  { kind: "compatible", title: "timings of llama.cpp",               events: [chunk({ content: "Hi" }), chunk({}, "stop", { timings: { prompt_n: 10, cache_n: 30, predicted_n: 7 } }), "[DONE]"],                                usage: { input_tokens: 40, output_tokens: 7, cached_input_tokens: 30 } },
  { kind: "compatible", title: "usage that grows with every chunk",  events: [chunk({ content: "H" }, null, { usage: { prompt_tokens: 40, completion_tokens: 1 } }), chunk({ content: "i" }, "stop", { usage: { prompt_tokens: 40, completion_tokens: 7 } }), "[DONE]"], usage: { input_tokens: 40, output_tokens: 7 } },
  { kind: "compatible", title: "null for usage",                     events: ended({ usage: null }),                                                                                                                            usage: undefined },
  { kind: "anthropic",  title: "the cache counted apart",            events: messages({ input_tokens: 5, cache_read_input_tokens: 30, cache_creation_input_tokens: 5, output_tokens: 1 }, { output_tokens: 7 }),                usage: { input_tokens: 40, output_tokens: 7, cached_input_tokens: 30, cache_write_tokens: 5 } },
  { kind: "anthropic",  title: "the same at both ends",              events: messages({ input_tokens: 10, cache_read_input_tokens: 30, output_tokens: 1 }, { input_tokens: 10, cache_read_input_tokens: 30, output_tokens: 7 }), usage: { input_tokens: 40, output_tokens: 7, cached_input_tokens: 30 } },
  { kind: "anthropic",  title: "only at the end, with 0 before",     events: messages({ input_tokens: 0, output_tokens: 0 }, { input_tokens: 10, cache_read_input_tokens: 30, output_tokens: 7 }),                               usage: { input_tokens: 40, output_tokens: 7, cached_input_tokens: 30 } },
  { kind: "anthropic",  title: "only at the beginning, with 0 after", events: messages({ input_tokens: 10, cache_read_input_tokens: 30, output_tokens: 1 }, { input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 7 }),  usage: { input_tokens: 40, output_tokens: 7, cached_input_tokens: 30 } },
  { kind: "google",     title: "thinking and tools counted apart",   events: [{ candidates: [{ content: { parts: [{ text: "Hi" }] }, finishReason: "STOP" }], usageMetadata: { promptTokenCount: 35, toolUsePromptTokenCount: 5, candidatesTokenCount: 3, thoughtsTokenCount: 4, cachedContentTokenCount: 30 } }], usage: { input_tokens: 40, output_tokens: 7, cached_input_tokens: 30 } },
] as const;

for (const { kind, title, events, usage } of CASES) {
  test(`${kind}: ${title} is read as billed usage`, async () => {
    const server = await startModelServer([stream(events)]);
    const { reply } = await askOnce(server, connectTo(server, kind));
    expect(reply?.text).toBe("Hi");
    if (usage === undefined) expect(reply).not.toHaveProperty("usage");
    else expect(reply?.usage).toMatchObject(usage);
  });
}
