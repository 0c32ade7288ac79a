/** Every emulated vendor and local server, below a path with its name. */
import { ANTHROPIC_DIALECT, makeAnthropic } from "../formats/anthropic.ts";
import { anthropicProblems } from "../formats/anthropic-check.ts";
import type { Format, Json } from "../formats/format.ts";
import { gemini } from "../formats/gemini.ts";
import { chatProblems } from "../formats/openai-chat-check.ts";
import { makeChat, OPENAI_DIALECT, openaiUsage } from "../formats/openai-chat.ts";
import type { ChatDialect } from "../formats/openai-chat.ts";
import { makeOpenaiResponses } from "../formats/openai-responses.ts";
import type { Reply } from "../reply.ts";
import { doorRefusalOf, refusalOf } from "./errors.ts";
import { IDS } from "./ids.ts";
import { createIssued, rewrittenIds } from "./issued.ts";
import { doorThoughts, RULES } from "./rules.ts";

/** A vendor's prompt cache: by marks, by prefix (step and minimum, in tokens), or none that it reports. */
export type CacheKind = "marked" | readonly [step_tokens: number, minimum_tokens: number] | undefined;

interface VendorRow {
  readonly title: string;
  readonly model: string;
  readonly needs_key: boolean;
  readonly doors: readonly ("chat" | "messages" | "responses" | "gemini")[];
  readonly cache?: CacheKind;
  /** Prompts that are too long are truncated at the beginning, silently. */
  readonly truncates?: true;
  readonly ids?: keyof typeof IDS;
  /** For its endpoint in Anthropic's format, if different. */
  readonly doorIds?: keyof typeof IDS;
  /** Its models require their thinking to be sent back there. */
  readonly doorThinks?: true;
  readonly chat?: Partial<ChatDialect>;
}

/** DeepSeek reports cache hits and misses. */
function deepseekUsage(reply: Reply): Json {
  const { input_tokens, cached_input_tokens } = reply.usage;
  return {
    ...openaiUsage(reply),
    prompt_cache_hit_tokens: cached_input_tokens,
    prompt_cache_miss_tokens: input_tokens - cached_input_tokens,
  };
}

/** Thinking is counted in addition to the completion. */
function xaiUsage(reply: Reply): Json {
  const { input_tokens, output_tokens, reasoning_tokens } = reply.usage;
  return {
    ...openaiUsage(reply),
    completion_tokens: Math.max(0, output_tokens - reasoning_tokens),
    total_tokens: input_tokens + output_tokens,
    num_sources_used: 0,
  };
}

function kimiUsage(reply: Reply): Json {
  return { ...openaiUsage(reply), cached_tokens: reply.usage.cached_input_tokens };
}

/** Three numbers, as in most local servers. */
function shortUsage(reply: Reply): Json {
  const { prompt_tokens, completion_tokens, total_tokens } = openaiUsage(reply);
  return { prompt_tokens, completion_tokens, total_tokens };
}

function openrouterUsage(reply: Reply): Json {
  return { ...openaiUsage(reply), cost: 0.000_1, is_byok: false };
}

const EOS = { stop: "eos", calls: "tool_calls", length: "length" };
const OPENROUTER_ERROR = `data: ${JSON.stringify({ error: { code: "server_error", message: "Provider disconnected unexpectedly" }, choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }] })}\n\n`;
const LMSTUDIO_ERROR = `event: error\ndata: ${JSON.stringify({ error: { message: "The model has crashed without additional information." } })}\n\n`;

// oxfmt-ignore
const ROWS = {
  anthropic:  { title: "Anthropic",   model: "claude-sonnet-4-5", needs_key: true, doors: ["messages"], cache: "marked" },
  openai:     { title: "OpenAI",      model: "gpt-5", needs_key: true, doors: ["chat", "responses"], cache: [128, 1024] },
  google:     { title: "Google",      model: "gemini-3-pro", needs_key: true, doors: ["gemini", "chat"], cache: [128, 1024], ids: "google" },
  deepseek:   { title: "DeepSeek",    model: "deepseek-reasoner", needs_key: true, doors: ["chat", "messages"], cache: [64, 64], ids: "deepseek", doorThinks: true, chat: { thoughts: "reasoning_content", usage: deepseekUsage, usageAt: "last", comment: "keep-alive" } },
  kimi:       { title: "Kimi",        model: "kimi-k2-thinking", needs_key: true, doors: ["chat", "messages"], cache: [128, 1024], ids: "kimi", doorIds: "kimi_door", chat: { thoughts: "reasoning_content", usage: kimiUsage, usageAt: "choice" } },
  qwen:       { title: "Qwen",        model: "qwen3-max", needs_key: true, doors: ["chat", "messages"], cache: [128, 1024], ids: "qwen", chat: { thoughts: "reasoning_content" } },
  mistral:    { title: "Mistral",     model: "mistral-large-latest", needs_key: true, doors: ["chat"], ids: "mistral", chat: { usage: shortUsage, usageAt: "last", wholeCalls: true } },
  xai:        { title: "xAI",         model: "grok-4", needs_key: true, doors: ["chat", "messages"], cache: [128, 1024], ids: "xai", chat: { thoughts: "reasoning_content", usage: xaiUsage, wholeCalls: true } },
  zai:        { title: "Z.ai",        model: "glm-4.6", needs_key: true, doors: ["chat", "messages"], cache: [128, 1024], ids: "zai", chat: { thoughts: "reasoning_content", usageAt: "last" } },
  minimax:    { title: "MiniMax",     model: "MiniMax-M2", needs_key: true, doors: ["chat", "messages"], cache: [128, 1024], ids: "minimax", chat: { thoughts: "think_tags", head: { base_resp: { status_code: 0, status_msg: "" } } } },
  openrouter: { title: "OpenRouter",  model: "anthropic/claude-sonnet-4.5", needs_key: true, doors: ["chat", "messages"], cache: "marked", ids: "openrouter", chat: { thoughts: "reasoning_details", usage: openrouterUsage, usageAt: "always", comment: "OPENROUTER PROCESSING", head: { provider: "Anthropic" }, errorFrame: () => OPENROUTER_ERROR } },
  together:   { title: "Together",    model: "moonshotai/Kimi-K2-Instruct", needs_key: true, doors: ["chat"], ids: "openai", chat: { thoughts: "reasoning", finish: EOS, usage: shortUsage, usageAt: "last" } },
  groq:       { title: "Groq",        model: "openai/gpt-oss-120b", needs_key: true, doors: ["chat"], cache: [128, 1024], ids: "groq", chat: { thoughts: "reasoning", usageAt: "x_groq", wholeCalls: true } },
  fireworks:  { title: "Fireworks",   model: "accounts/fireworks/models/glm-4p6", needs_key: true, doors: ["chat"], cache: [128, 1024], ids: "openai", chat: { thoughts: "reasoning_content", usageAt: "last" } },
  copilot:    { title: "GitHub Copilot", model: "gpt-5-mini", needs_key: true, doors: ["chat"], cache: [128, 1024], ids: "openai", chat: { thoughts: "reasoning_text", usageAt: "last" } },
  ollama:     { title: "Ollama",      model: "qwen3:8b", needs_key: false, doors: ["chat", "messages"], truncates: true, ids: "ollama", chat: { thoughts: "reasoning", usage: shortUsage, wholeCalls: true, head: { system_fingerprint: "fp_ollama" } } },
  vllm:       { title: "vLLM",        model: "Qwen/Qwen3-32B", needs_key: false, doors: ["chat", "messages"], ids: "vllm", chat: { thoughts: "reasoning_content", usage: shortUsage } },
  sglang:     { title: "SGLang",      model: "Qwen/Qwen3-32B", needs_key: false, doors: ["chat"], ids: "qwen", chat: { thoughts: "reasoning_content", usage: shortUsage } },
  lmstudio:   { title: "LM Studio",   model: "qwen3-8b", needs_key: false, doors: ["chat", "messages"], ids: "lmstudio", chat: { thoughts: "reasoning_content", usage: shortUsage, errorFrame: () => LMSTUDIO_ERROR } },
  llamacpp:   { title: "llama.cpp",   model: "qwen3-8b", needs_key: false, doors: ["chat", "messages"], ids: "llamacpp", chat: { thoughts: "reasoning_content", usage: shortUsage } },
  tgi:        { title: "TGI",         model: "tgi", needs_key: false, doors: ["chat"], ids: "tgi", chat: { thoughts: "hidden", finish: { stop: "eos_token", calls: "tool_calls", length: "length" }, usage: shortUsage, wholeCalls: true } },
} as const satisfies Record<string, VendorRow>;

export type VendorName = keyof typeof ROWS;
export const VENDOR_NAMES = Object.keys(ROWS) as readonly VendorName[];

export interface Vendor {
  readonly name: VendorName;
  readonly title: string;
  /** A model name that it accepts. */
  readonly model: string;
  readonly needs_key: boolean;
  readonly cache: CacheKind;
  readonly truncates: boolean;
  readonly formats: readonly Format[];
}

/** One per server: a vendor remembers what it issued. */
export function makeVendor(name: VendorName): Vendor {
  const row: VendorRow = ROWS[name];
  const { title, model, needs_key, cache, truncates = false } = row;
  const makers = {
    chat: () => chatDoor(name, row),
    messages: () => messagesDoor(name, row),
    responses: makeOpenaiResponses,
    gemini: () => gemini,
  };
  return { name, title, model, needs_key, cache, truncates, formats: row.doors.map((door) => makers[door]()) };
}

function chatDoor(name: VendorName, row: VendorRow): Format {
  if (name === "openai" || name === "anthropic") return makeChat(OPENAI_DIALECT);
  const issued = createIssued();
  const rule = RULES[name];
  return makeChat({
    ...OPENAI_DIALECT,
    head: {},
    id: IDS[row.ids ?? "openai"],
    refusal: refusalOf(name),
    *problems({ body }) {
      yield* chatProblems(body, { compatible: true });
      if (rule !== undefined) yield* rule(body, issued);
    },
    onReply: issued.add,
    ...(name === "kimi" ? { degraded: ({ body }) => rewrittenIds(issued, body) } : {}),
    ...row.chat,
  });
}

function messagesDoor(name: VendorName, row: VendorRow): Format {
  if (name === "anthropic" || name === "openai") return makeAnthropic(ANTHROPIC_DIALECT);
  const issued = createIssued();
  return makeAnthropic({
    ...ANTHROPIC_DIALECT,
    id: IDS[row.doorIds ?? row.ids ?? "anthropic"],
    // Through OpenRouter the signatures are Anthropic's. Other vendors use unchecked signatures, or none.
    signature: name === "openrouter" ? ANTHROPIC_DIALECT.signature : row.doorThinks ? ({ id }) => id : () => "",
    onReply: issued.add,
    *problems({ body }) {
      yield* anthropicProblems(body, { own: name === "openrouter" });
      if (row.doorThinks) yield* doorThoughts(body, issued);
    },
    refusal: doorRefusalOf(name),
  });
}
