import { expect, test } from "vitest";
import { playRounds, replies, result, sentMessages } from "../../../../../test/support/chat-rounds.ts";
import type { Json } from "../../../../../test/support/chat-rounds.ts";
import type { Message } from "../provider.ts";

/** Where marks stand: the role of each marked message; `!` where one stands beside the content. */
function marksIn(messages: readonly Json[]): readonly string[] {
  return messages.flatMap(({ role, content, ...beside }) => {
    const marked = Array.isArray(content) && JSON.stringify((content as unknown[]).at(-1)).includes("cache_control");
    return ["cache_control" in beside ? `${String(role)}!` : "", marked ? String(role) : ""].filter(
      (each) => each !== "",
    );
  });
}

// oxfmt-ignore
const MARKED = [
  { title: "OpenRouter's Claude",                path: "openrouter/api/v1", model: "anthropic/claude-sonnet-4.5", marks: ["system", "user", "tool"] },
  { title: "LiteLLM's Claude",                   path: "litellm/v1",        model: "claude-sonnet-4-5",           marks: ["system", "user", "tool"] },
  { title: "a gateway's Claude, by its name",    path: "v1",                model: "anthropic/claude-opus-5",     marks: ["system", "user", "tool"] },
  { title: "another model of OpenRouter",        path: "openrouter/api/v1", model: "openai/gpt-5",                marks: [] },
  { title: "a server that may refuse marks",     path: "v1",                model: "my-claude-like",              marks: [] },
  { title: "another vendor",                     path: "deepseek/v1",       model: "deepseek-chat",               marks: [] },
];

for (const { title, path, model, marks } of MARKED) {
  test(`marks for the cache in chat format: ${title}`, async () => {
    const { asked } = await playRounds([replies([], ["toolu_1", "toolu_2"]), replies([{ content: "." }])], {
      path,
      model,
    });
    const sent = sentMessages(asked[1]);
    expect(marksIn(sent)).toEqual(marks);
    const shapes = sent.filter(({ role }) => role !== "assistant").map(({ content }) => Array.isArray(content));
    expect(new Set(shapes)).toEqual(new Set([marks.length > 0]));
  });
}

// oxfmt-ignore
const USAGE: readonly { title: string; usage: Json; gives: Json }[] = [
  { title: "OpenAI's details",            usage: { prompt_tokens: 100, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 60 } },                            gives: { input_tokens: 100, output_tokens: 9, cached_input_tokens: 60 } },
  { title: "OpenRouter, with what went in", usage: { prompt_tokens: 100, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 } },  gives: { input_tokens: 100, output_tokens: 9, cached_input_tokens: 60, cache_write_tokens: 30 } },
  { title: "DeepSeek's hits and misses",  usage: { prompt_tokens: 100, completion_tokens: 9, prompt_cache_hit_tokens: 64, prompt_cache_miss_tokens: 36 },               gives: { input_tokens: 100, output_tokens: 9, cached_input_tokens: 64 } },
  { title: "both, one of them filled",    usage: { prompt_tokens: 100, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 0 }, prompt_cache_hit_tokens: 64 }, gives: { input_tokens: 100, output_tokens: 9, cached_input_tokens: 64 } },
  { title: "Moonshot's member",           usage: { prompt_tokens: 100, completion_tokens: 9, cached_tokens: 70 },                                                       gives: { input_tokens: 100, output_tokens: 9, cached_input_tokens: 70 } },
  { title: "LiteLLM's members",           usage: { prompt_tokens: 100, completion_tokens: 9, cache_read_input_tokens: 50, cache_creation_input_tokens: 20 },            gives: { input_tokens: 100, output_tokens: 9, cached_input_tokens: 50, cache_write_tokens: 20 } },
  { title: "xAI's thoughts beside it",    usage: { prompt_tokens: 100, completion_tokens: 9, total_tokens: 159, completion_tokens_details: { reasoning_tokens: 50 } },  gives: { input_tokens: 100, output_tokens: 59 } },
  { title: "no cache",                    usage: { prompt_tokens: 100, completion_tokens: 9 },                                                                          gives: { input_tokens: 100, output_tokens: 9 } },
  { title: "null where there is none",    usage: { prompt_tokens: 100, completion_tokens: 9, prompt_tokens_details: null, completion_tokens_details: null },            gives: { input_tokens: 100, output_tokens: 9 } },
  { title: "numbers that cannot be",      usage: { prompt_tokens: 100, completion_tokens: 9, cached_tokens: -5 },                                                       gives: { input_tokens: 100, output_tokens: 9 } },
];

for (const { title, usage, gives } of USAGE) {
  test(`usage in chat format: ${title}`, async () => {
    const { replies: got } = await playRounds([replies([{ content: "." }], [], usage)], { path: "v1" });
    expect(got[0]?.usage).toEqual(gives);
  });
}

const correction: readonly Message[] = [
  { role: "user", text: "a" },
  { role: "assistant", text: "", calls: [{ tool_call_id: "call_1", name: "read", arguments: {} }] },
  result("call_1"),
  { role: "user", text: "No progress." },
];

// oxfmt-ignore
const ROLES = [
  { title: "Mistral wants the model to speak before the user", path: "mistral/v1", model: "mistral-large", roles: "system user assistant tool assistant user" },
  { title: "a model of Mistral elsewhere",                     path: "ollama/v1",  model: "devstral:24b",  roles: "system user assistant tool assistant user" },
  { title: "others take both after one another",               path: "v1",         model: "m",             roles: "system user assistant tool user" },
];

for (const { title, path, model, roles } of ROLES) {
  test(`user messages after results: ${title}`, async () => {
    const { asked } = await playRounds([replies([{ content: "." }])], { path, model, before: correction });
    expect(
      sentMessages(asked[0])
        .map(({ role }) => role)
        .join(" "),
    ).toBe(roles);
  });
}
