import { expect, test } from "vitest";
import { playRounds, replies } from "../../../../../test/support/chat-rounds.ts";
import type { Json } from "../../../../../test/support/chat-rounds.ts";
import { FORMATS } from "../../../../../test/support/model-events.ts";
import { stream } from "../../../../../test/support/model-server.ts";
import { createProvider } from "../choose.ts";
import type { ModelSettings } from "./model-settings.ts";

/** What of a request's body is about the length of the reply and about thinking. */
const ABOUT = new Set(
  `max_tokens max_completion_tokens max_output_tokens reasoning reasoning_effort thinking output_config
  enable_thinking thinking_budget chat_template_kwargs generationConfig extra_body`.split(/\s+/),
);

function told(body: Json | undefined): Json {
  return Object.fromEntries(Object.entries(body ?? {}).filter(([name]) => ABOUT.has(name)));
}

interface Case {
  readonly path?: string;
  readonly model: string;
  readonly settings: ModelSettings;
  readonly body: Json;
}

const both = (type: string, values: Json): Json => ({ thinking: { type }, chat_template_kwargs: values });

// oxfmt-ignore
const CHAT: readonly Case[] = [
  { path: "v1",            model: "m",                      settings: {},                                    body: {} },
  { path: "v1",            model: "m",                      settings: { max_output_tokens: 5000 },           body: { max_tokens: 5000 } },
  { path: "v1",            model: "gpt-5",                  settings: { max_output_tokens: 5000 },           body: { max_completion_tokens: 5000 } },
  { path: "openrouter/v1", model: "openai/o4-mini",         settings: { max_output_tokens: 5000 },           body: { max_completion_tokens: 5000 } },
  { path: "deepseek/v1",   model: "deepseek-chat",          settings: {},                                    body: { max_tokens: 32_000 } },
  { path: "kimi/v1",       model: "kimi-k2",                settings: {},                                    body: { max_tokens: 32_000 } },
  { path: "deepseek/v1",   model: "deepseek-chat",          settings: { max_output_tokens: 900, thinking: "on", effort: "high" }, body: { max_tokens: 900, thinking: { type: "enabled" }, reasoning_effort: "high" } },
  { path: "deepseek/v1",   model: "deepseek-v4",            settings: { max_output_tokens: 900, thinking: "off" }, body: { max_tokens: 900, thinking: { type: "disabled" } } },
  { path: "kimi/v1",       model: "kimi-k2.5",              settings: { max_output_tokens: 900, thinking: "off" }, body: { max_tokens: 900, thinking: { type: "disabled" } } },
  { path: "zai/v1",        model: "glm-4.7",                settings: { thinking: "on" },                    body: { thinking: { type: "enabled", clear_thinking: false } } },
  { path: "qwen/v1",       model: "qwen3-max",              settings: { thinking: 4000 },                    body: { enable_thinking: true, thinking_budget: 4000 } },
  { path: "qwen/v1",       model: "qwen3-max",              settings: { thinking: "off" },                   body: { enable_thinking: false } },
  { path: "minimax/v1",    model: "MiniMax-M3",             settings: { thinking: "on" },                    body: { thinking: { type: "adaptive" } } },
  { path: "openrouter/v1", model: "anthropic/claude-sonnet-4.5", settings: { thinking: 4000 },               body: { reasoning: { max_tokens: 4000 } } },
  { path: "openrouter/v1", model: "openai/gpt-5",           settings: { effort: "xhigh" },                   body: { reasoning: { effort: "xhigh" } } },
  { path: "openrouter/v1", model: "qwen/qwen3",             settings: { thinking: "off" },                   body: { reasoning: { enabled: false } } },
  { path: "vllm/v1",       model: "openai/gpt-oss-20b",     settings: { effort: "low" },                     body: { reasoning_effort: "low" } },
  { path: "vllm/v1",       model: "Qwen/Qwen3-8B",          settings: { thinking: "off" },                   body: { chat_template_kwargs: { enable_thinking: false } } },
  { path: "sglang/v1",     model: "deepseek-ai/DeepSeek-V3.1", settings: { thinking: "on" },                 body: both("enabled", { thinking: true }) },
  { path: "llamacpp/v1",   model: "GLM-4.5-Air",            settings: { thinking: "off" },                   body: both("disabled", { enable_thinking: false }) },
  { path: "ollama/v1",     model: "qwen3:8b",               settings: { thinking: "off" },                   body: { reasoning_effort: "none" } },
  { path: "lmstudio/v1",   model: "m",                      settings: { effort: "high" },                    body: { reasoning_effort: "high" } },
  { path: "groq/v1",       model: "qwen/qwen3-32b",         settings: { thinking: "off" },                   body: { reasoning_effort: "none" } },
  { path: "xai/v1",        model: "grok-4",                 settings: { effort: "low" },                     body: { reasoning_effort: "low" } },
  { path: "mistral/v1",    model: "mistral-small",          settings: { thinking: "on" },                    body: { reasoning_effort: "high" } },
  { path: "together/v1",   model: "zai-org/GLM-5",          settings: { thinking: "off" },                   body: { reasoning: { enabled: false } } },
  { path: "fireworks/v1",  model: "m",                      settings: { max_output_tokens: 9000, thinking: 2000 }, body: { max_tokens: 9000, thinking: { type: "enabled", budget_tokens: 2000 } } },
  { path: "litellm/v1",    model: "claude-sonnet-4-5",      settings: { thinking: 2000 },                    body: { thinking: { type: "enabled", budget_tokens: 2000 } } },
  { path: "google/v1",     model: "gemini-2.5-flash",       settings: { thinking: 512 },                     body: { extra_body: { google: { thinking_config: { thinking_budget: 512 } } } } },
];

for (const { path = "v1", model, settings, body } of CHAT) {
  test(`${path} ${model} is asked with ${JSON.stringify(settings)} as it takes it`, async () => {
    const { asked } = await playRounds([replies([{ content: "." }])], { path, model, settings });
    expect(told(asked[0]?.body)).toEqual(body);
  });
}

const adaptive = { thinking: { type: "adaptive" } };
const enabled = (budget_tokens: number): Json => ({ thinking: { type: "enabled", budget_tokens } });

// oxfmt-ignore
const OTHERS: readonly (Case & { readonly kind: string })[] = [
  { kind: "anthropic",   model: "glm-4.6",           settings: {},                                             body: { max_tokens: 32_000 } },
  { kind: "anthropic",   model: "claude-sonnet-4-5", settings: {},                                             body: { max_tokens: 64_000 } },
  { kind: "anthropic",   model: "claude-3-5-haiku-20241022", settings: {},                                     body: { max_tokens: 8192 } },
  { kind: "anthropic",   model: "claude-opus-4-20250514", settings: {},                                        body: { max_tokens: 32_000 } },
  { kind: "anthropic",   model: "claude-unheard-9",  settings: {},                                             body: { max_tokens: 128_000 } },
  { kind: "anthropic",   model: "claude-sonnet-4-5", settings: { max_output_tokens: 9000, thinking: 2000 },    body: { max_tokens: 9000, ...enabled(2000) } },
  { kind: "anthropic",   model: "claude-sonnet-4-5", settings: { thinking: "on" },                             body: { max_tokens: 64_000, ...enabled(16_000) } },
  { kind: "anthropic",   model: "claude-sonnet-4-5", settings: { thinking: "off" },                            body: { max_tokens: 64_000, thinking: { type: "disabled" } } },
  { kind: "anthropic",   model: "claude-opus-4-6",   settings: { thinking: "on", effort: "max" },              body: { max_tokens: 128_000, ...adaptive, output_config: { effort: "max" } } },
  { kind: "anthropic",   model: "claude-sonnet-5-5", settings: { effort: "low" },                              body: { max_tokens: 128_000, output_config: { effort: "low" } } },
  { kind: "anthropic",   model: "deepseek-v4-pro",   settings: { thinking: "off" },                            body: { max_tokens: 32_000, thinking: { type: "disabled" } } },
  { kind: "openai",      model: "gpt-5.2",           settings: { max_output_tokens: 7000, effort: "xhigh" },   body: { max_output_tokens: 7000, reasoning: { effort: "xhigh" } } },
  { kind: "openai",      model: "gpt-5.2",           settings: { thinking: "off" },                            body: { reasoning: { effort: "none" } } },
  { kind: "openai",      model: "my-deployment",     settings: { effort: "low" },                              body: { reasoning: { effort: "low" } } },
  { kind: "openai-chat", model: "gpt-5",             settings: { max_output_tokens: 7000, effort: "minimal" }, body: { max_completion_tokens: 7000, reasoning_effort: "minimal" } },
  { kind: "openai-chat", model: "gpt-4o",            settings: { max_output_tokens: 7000 },                    body: { max_tokens: 7000 } },
  { kind: "google",      model: "gemini-2.5-flash",  settings: { max_output_tokens: 7000, thinking: 512 },     body: { generationConfig: { maxOutputTokens: 7000, thinkingConfig: { thinkingBudget: 512 } } } },
  { kind: "google",      model: "gemini-2.5-flash",  settings: { thinking: "off" },                            body: { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } } },
  { kind: "google",      model: "gemini-3-pro",      settings: { effort: "low" },                              body: { generationConfig: { thinkingConfig: { thinkingLevel: "low" } } } },
  { kind: "google",      model: "gemini-3-pro",      settings: { effort: "max" },                              body: { generationConfig: { thinkingConfig: { thinkingLevel: "high" } } } },
];

for (const { kind, model, settings, body } of OTHERS) {
  test(`${kind} ${model} is asked with ${JSON.stringify(settings)} as it takes it`, async () => {
    const format = FORMATS[kind];
    if (format === undefined) throw new Error(`No streams are defined for ${kind}`);
    const environment = (url: string): NodeJS.ProcessEnv => format.environment(new URL(url).origin);
    const { asked } = await playRounds([stream(format.answer("."))], { path: "", kind, model, settings, environment });
    expect(told(asked[0]?.body)).toEqual(body);
  });
}

const AT = "http://127.0.0.1:1";

// oxfmt-ignore
const REFUSED: readonly { setting: string; settings: ModelSettings; says: RegExp }[] = [
  { setting: "anthropic:claude-sonnet-4-5",              settings: { max_output_tokens: 2000, thinking: 2000 }, says: /thinking budget of 2000 leaves nothing of max_output_tokens 2000/ },
  { setting: `compatible:m@${AT}/qwen/v1`,               settings: { max_output_tokens: 200, thinking: 2000 },  says: /leaves nothing/ },
  { setting: "anthropic:claude-sonnet-4-5",              settings: { thinking: 500 },                           says: /less than 1024/ },
  { setting: "anthropic:claude-sonnet-4-5",              settings: { effort: "high" },                          says: /effort "high" .*it takes none/ },
  { setting: "anthropic:claude-opus-4-6",                settings: { effort: "minimal" },                       says: /it takes low, medium, high, max/ },
  { setting: "anthropic:claude-sonnet-5-5",              settings: { thinking: 8000 },                          says: /set effort instead of a thinking budget/ },
  { setting: "anthropic:claude-sonnet-5-5",              settings: { thinking: "off" },                         says: /cannot be turned off/ },
  { setting: "anthropic:claude-3-5-sonnet-latest",       settings: { thinking: "on" },                          says: /does not think/ },
  { setting: "openai:gpt-5",                             settings: { thinking: 8000 },                          says: /set effort instead/ },
  { setting: "openai:gpt-4o",                            settings: { effort: "low" },                           says: /no effort/ },
  { setting: "openai-chat:o3",                           settings: { effort: "max" },                           says: /it takes low, medium, high/ },
  { setting: "openai:gpt-5",                             settings: { thinking: "off" },                         says: /cannot be turned off \(it takes minimal/ },
  { setting: "openai:gpt-5.2",                           settings: { thinking: "off", effort: "low" },          says: /thinking is off, and effort is "low"/ },
  { setting: "google:gemini-2.5-pro",                    settings: { thinking: "off" },                         says: /at least 128/ },
  { setting: `compatible:kimi-k2@${AT}/kimi/v1`,         settings: { effort: "low" },                           says: /effort cannot be set .*set thinking/ },
  { setting: `compatible:deepseek-v4@${AT}/deepseek/v1`, settings: { thinking: 8000 },                          says: /thinking takes auto, on, off\)/ },
  { setting: `compatible:gpt-oss@${AT}/vllm/v1`,         settings: { effort: "max" },                           says: /low, medium, high/ },
  { setting: `compatible:gpt-oss@${AT}/ollama/v1`,       settings: { thinking: "off" },                         says: /thinking "off" cannot be set/ },
  { setting: `compatible:m@${AT}/openrouter/v1`,         settings: { thinking: 2000, effort: "low" },           says: /not both/ },
];

for (const { setting, settings, says } of REFUSED) {
  test(`${setting} with ${JSON.stringify(settings)} is rejected before any request`, async () => {
    const environment = { ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k", GEMINI_API_KEY: "k" };
    const made = createProvider(setting, environment, () => settings);
    await expect(made).rejects.toMatchObject({
      code: "InvalidArguments",
      message: expect.stringMatching(says) as string,
    });
  });
}
