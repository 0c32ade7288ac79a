import { expect, test } from "vitest";
import type { Overflow } from "./overflow-words.ts";
import { readFailure } from "./read-failure.ts";

interface Case {
  readonly vendor: string;
  /** Undefined: in a stream, or in the body of a 200. */
  readonly status?: number;
  readonly message: string;
  /** Limit, sent, of which for the reply. */
  readonly numbers?: readonly [number?, number?, number?];
  readonly code?: string | number;
  readonly body?: unknown;
}

// oxfmt-ignore
const OVERFLOWS: readonly Case[] = [
  { vendor: "OpenAI",      status: 400, message: "This model's maximum context length is 8192 tokens. However, your messages resulted in 8545 tokens. Please reduce the length of the messages.", numbers: [8192, 8545] },
  { vendor: "OpenAI",      status: 400, message: "This model's maximum context length is 8191 tokens, however you requested 10346 tokens (10341 in your prompt; 5 for the completion). Please reduce your prompt; or completion length.", numbers: [8191, 10_346, 5] },
  { vendor: "OpenAI",      status: 400, message: "Your input exceeds the context window of this model. Please adjust your input and try again.", code: "context_length_exceeded" },
  { vendor: "OpenAI",                   message: "Your input exceeds the context window of this model. Please adjust your input and try again." },
  { vendor: "OpenAI",      status: 400, message: "Bad Request", body: { error: { code: "context_length_exceeded" } } },
  { vendor: "OpenAI",      status: 400, message: "Invalid 'messages[2].content': string too long. Expected a string with maximum length 10485760, but got a string with length 12000000 instead." },
  { vendor: "OpenAI",      status: 400, message: "Invalid 'input[4].output': string too long. Expected a string with maximum length 10485760, but got a string with length 12000000 instead." },
  { vendor: "Azure",       status: 400, message: "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 281522 tokens. Please reduce the length of the messages.", numbers: [272_000, 281_522] },
  { vendor: "Anthropic",   status: 400, message: "prompt is too long: 210000 tokens > 200000 maximum", numbers: [200_000, 210_000] },
  { vendor: "Anthropic",   status: 400, message: "input length and `max_tokens` exceed context limit: 195000 + 8192 > 200000, decrease input length or `max_tokens` and try again", numbers: [200_000, 203_192, 8192] },
  { vendor: "Anthropic",   status: 413, message: "Request exceeds the maximum size", body: { type: "error", error: { type: "request_too_large", message: "Request exceeds the maximum size" } } },
  { vendor: "Anthropic",                message: "prompt is too long: 210,000 tokens > 200,000 maximum", numbers: [200_000, 210_000] },
  { vendor: "Google",      status: 400, message: "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).", numbers: [1_048_575, 1_196_265] },
  { vendor: "Google",      status: 400, message: "Unable to submit request because the input token count is 40000 but model only supports up to 32767.", numbers: [32_767, 40_000] },
  { vendor: "Google",      status: 400, message: "Request payload size exceeds the limit: 20971520 bytes." },
  { vendor: "xAI",         status: 400, message: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.", numbers: [131_072, 537_812] },
  { vendor: "Together",    status: 422, message: "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 8000 `inputs` tokens and 512 `max_new_tokens`", numbers: [8193, 8512, 512] },
  { vendor: "Groq",        status: 400, message: "Please reduce the length of the messages or completion.", code: "context_length_exceeded" },
  { vendor: "SGLang",      status: 400, message: "The input (40000 tokens) is longer than the model's context length (32768 tokens).", numbers: [32_768, 40_000] },
  { vendor: "SGLang",      status: 400, message: "Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a total of 36864 tokens: 32768 tokens from the input messages and 4096 tokens for the completion.", numbers: [32_768, 36_864, 4096] },
  { vendor: "SGLang",      status: 400, message: "Input length (40100 tokens) exceeds the maximum allowed length (32762 tokens). Use a shorter input or enable --allow-auto-truncate.", numbers: [32_762] },
  { vendor: "vLLM",        status: 400, message: "This model's maximum context length is 32768 tokens. However, you requested 40960 tokens (36864 in the messages, 4096 in the completion). Please reduce the length of the messages or completion.", numbers: [32_768, 40_960, 4096] },
  { vendor: "vLLM",        status: 400, message: "This model's maximum context length is 262144 tokens. However, you requested 0 output tokens and your prompt contains at least 262145 input tokens, for a total of at least 262145 tokens.", numbers: [262_144, 262_145, 0] },
  { vendor: "vLLM",        status: 400, message: "The decoder prompt (length 36000) is longer than the maximum model length of 32768. Make sure that `max_model_len` is\x20no smaller than the number of text tokens.", numbers: [32_768, 36_000] },
  { vendor: "vLLM",        status: 400, message: "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 32768 tokens and your request has 30000 input tokens (8192 > 32768 - 30000).", numbers: [32_768, 38_192, 8192] },
  { vendor: "vLLM",        status: 400, message: "You passed 99073 input tokens and requested 32000 output tokens. However, the model's context length is only 131072 tokens, resulting in a maximum input length of 99072 tokens.", numbers: [131_072, 131_073, 32_000] },
  { vendor: "LM Studio",   status: 400, message: "The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length, or provide a shorter input" },
  { vendor: "LM Studio",                message: "Trying to keep the first 5211 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.", numbers: [4096, 5211] },
  { vendor: "LM Studio",                message: "Reached context length of 4096 tokens with model (arch: qwen2) that does not currently support mid-generation context overflow", numbers: [4096] },
  { vendor: "llama.cpp",   status: 400, message: "request (124071 tokens) exceeds the available context size (123904 tokens), try increasing it", numbers: [123_904, 124_071] },
  { vendor: "llama.cpp",   status: 400, message: "the request exceeds the available context size, try increasing it", body: { error: { code: 400, message: "the request exceeds the available context size", type: "exceed_context_size_error", n_prompt_tokens: 9100, n_ctx: 8192 } }, numbers: [8192, 9100] },
  { vendor: "llama.cpp",   status: 500, message: "context shift is disabled" },
  { vendor: "llama.cpp",                message: "Context size has been exceeded." },
  { vendor: "Ollama",      status: 500, message: "the input length exceeds the context length" },
  { vendor: "Ollama",      status: 400, message: "input length exceeds maximum context length" },
  { vendor: "Ollama",      status: 400, message: "prompt too long; exceeded max context length by 17 tokens" },
  { vendor: "Copilot",     status: 400, message: "prompt token count of 391491 exceeds the limit of 128000", code: "model_max_prompt_tokens_exceeded", numbers: [128_000, 391_491] },
  { vendor: "MiniMax",     status: 400, message: "invalid params, context window exceeds limit (2013)" },
  { vendor: "MiniMax",                  message: "", body: { base_resp: { status_code: 2013, status_msg: "invalid params, context window exceeds limit" } } },
  { vendor: "Moonshot",    status: 400, message: "Invalid request: Your request exceeded model token limit: 262144 (requested: 270123)", numbers: [262_144, 270_123] },
  { vendor: "Moonshot",    status: 400, message: "Your request exceeded model token limit" },
  { vendor: "Moonshot",    status: 400, message: "total message size 10176584 exceeds limit 2097152" },
  { vendor: "DashScope",   status: 400, message: "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]", numbers: [30_720] },
  { vendor: "Z.ai",        status: 400, message: "Prompt exceeds max length", code: "1261" },
  { vendor: "Z.ai",        status: 400, message: "提示词", body: { error: { code: "1261", message: "提示词" } } },
  { vendor: "TGI",         status: 422, message: "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000", numbers: [4096, 5000] },
  { vendor: "DeepSeek",    status: 400, message: "This model's maximum context length is 65536 tokens. However, you requested 71201 tokens (63009 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.", numbers: [65_536, 71_201, 8192] },
  { vendor: "Mistral",     status: 400, message: "Prompt contains 40960 tokens and 0 draft tokens, too large for model with 32768 maximum context length", numbers: [32_768, 40_960] },
  { vendor: "Cohere",      status: 400, message: "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292. Try using a shorter prompt or a smaller max_tokens value.", numbers: [4081, 4292] },
  { vendor: "Cohere",      status: 400, message: "too many tokens: size limit exceeded by 12 tokens. Try using shorter or fewer inputs. The limit for this model is 128000 tokens.", numbers: [128_000] },
  { vendor: "Bedrock",     status: 400, message: "Input is too long for requested model." },
  { vendor: "Bedrock",     status: 400, message: "Too many input tokens. Max input tokens: 8192, request input token count: 9010", numbers: [8192, 9010] },
  { vendor: "Fireworks",   status: 400, message: "The prompt is too long: 140000, model maximum context length: 131072", numbers: [131_072, 140_000] },
  { vendor: "Cerebras",    status: 400, message: "Please reduce the length of the messages or completion. Current length is 70000 while limit is 65536", numbers: [65_536, 70_000] },
  { vendor: "OpenRouter",  status: 400, message: "This endpoint's maximum context length is 262144 tokens. However, you requested about 264896 tokens (52139 of text input, 12757 of tool input, 200000 in the output). Please reduce the length of either one.", numbers: [262_144, 264_896, 200_000] },
  { vendor: "OpenRouter",  status: 400, message: "Provider returned error", body: { error: { message: "Provider returned error", code: 400, metadata: { raw: '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}' } } }, numbers: [200_000, 210_000] },
  { vendor: "Cloudflare",  status: 400, message: "AiError: The estimated number of input and maximum output tokens (30000) exceeded this model context window limit (24000).", numbers: [24_000, 30_000] },
  { vendor: "SiliconFlow", status: 400, message: "length of prompt_tokens (33000) must be less than max_seq_len (32768).", numbers: [32_768, 33_000] },
  { vendor: "LiteLLM",     status: 400, message: "litellm.ContextWindowExceededError: litellm.BadRequestError: AnthropicException - {'type': 'error', 'error': {'type': 'invalid_request_error', 'message': 'prompt is too long: 210000 tokens > 200000 maximum'}}", numbers: [200_000, 210_000] },
  { vendor: "a proxy",     status: 413, message: "Request Entity Too Large" },
  { vendor: "a new one",   status: 400, message: "Request of 41,000 tokens does not fit the context of 32,768 tokens", numbers: [32_768, 41_000] },
  { vendor: "a new one",   status: 422, message: "Your conversation is larger than the model's maximum input size" },
  { vendor: "a new one",   status: 400, message: "Input length 250000 exceeds the maximum allowed 200000 tokens for this model", numbers: [200_000, 250_000] },
  { vendor: "a new one",   status: 400, message: "Conversation is too long for the selected model" },
  { vendor: "a new one",   status: 400, message: "The model has a context window of 32768 tokens but the prompt is 40000 tokens", numbers: [32_768, 40_000] },
  { vendor: "a new one",   status: 400, message: "The history of 9,000 tokens is over the 8,192 token budget of this deployment", numbers: [8192, 9000] },
  { vendor: "a new one",   status: 400, message: "输入长度 40000 超过模型最大长度 32768", numbers: [32_768, 40_000] },
];

// oxfmt-ignore
const OTHERS: readonly (Case & { readonly reason: string })[] = [
  { vendor: "Bedrock",   status: 400, message: "Throttling: too many tokens, please wait before trying again.",                         reason: "rate_limited" },
  { vendor: "Bedrock",   status: 429, message: "Too many tokens, please wait before trying again.",                                     reason: "rate_limited" },
  { vendor: "Bedrock",                message: "ThrottlingException: Too many tokens per day, please wait before trying again.",         reason: "rate_limited" },
  { vendor: "Bedrock",   status: 503, message: "Too many tokens, the service is unavailable",                                           reason: "server_error" },
  { vendor: "OpenAI",    status: 429, message: "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 20000, Requested 15000. Please try again in 10s.", reason: "rate_limited" },
  { vendor: "OpenAI",    status: 400, message: "max_tokens is too large: 99999. This model supports at most 16384 completion tokens, whereas you provided 99999.", reason: "bad_request" },
  { vendor: "OpenAI",    status: 400, message: "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 193 instead.", reason: "bad_request" },
  { vendor: "Anthropic", status: 429, message: "This request would exceed your organization's rate limit of 40,000 input tokens per minute.", reason: "rate_limited" },
  { vendor: "Anthropic",              message: "This request would exceed your organization's rate limit of 40,000 input tokens per minute.", reason: "rate_limited" },
  { vendor: "Anthropic", status: 400, message: "max_tokens: 99999 > 64000, which is the maximum allowed number of output tokens for claude-x", reason: "bad_request" },
  { vendor: "Anthropic", status: 400, message: "messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: 5316852 bytes > 5242880 bytes", reason: "bad_request" },
  { vendor: "a new one", status: 400, message: "Invalid request: the tool description is too long for this model",                      reason: "bad_request" },
  { vendor: "a new one", status: 400, message: "Request has too many images for this model",                                            reason: "bad_request" },
  { vendor: "DashScope", status: 400, message: "Range of max_tokens should be [1, 8192]",                                               reason: "bad_request" },
  { vendor: "OpenRouter", status: 402, message: "This request requires more credits, or fewer max_tokens. You requested up to 64000 tokens, but can only afford 1200.", reason: "quota" },
  { vendor: "a gateway", status: 403, message: "prompt is too long for your plan",                                                      reason: "key_refused" },
  { vendor: "a gateway", status: 404, message: "No model with a maximum context length of 1000000",                                     reason: "not_found" },
  { vendor: "quoting",   status: 400, message: "messages.1.content.0: Input should be a valid dictionary, got 'prompt is too long: 9 tokens > 8 maximum'", reason: "bad_request" },
  { vendor: "quoting",   status: 400, message: 'Invalid JSON in arguments: "This model\'s maximum context length is 8192 tokens"',       reason: "bad_request" },
  { vendor: "quoting",   status: 422, message: "Unprocessable Entity", body: { detail: [{ type: "string_type", loc: ["body", "messages", 1], msg: "Input should be a valid string", input: { text: "context_length_exceeded: prompt is too long" } }] }, reason: "bad_request" },
  { vendor: "quoting",   status: 400, message: `Unknown role. ${"x".repeat(5000)} prompt is too long`,                                  reason: "bad_request" },
];

function errorOf({ status, message, code, body }: Case): object {
  const responseBody = body === undefined ? JSON.stringify({ error: { message, code } }) : JSON.stringify(body);
  const about = { message, ...(code === undefined ? {} : { code }) };
  return status === undefined ? { ...about, responseBody } : { ...about, statusCode: status, responseBody };
}

test.each(OVERFLOWS)("$vendor, $status: $message", (given) => {
  const { numbers: [limit_tokens, sent_tokens, reply_tokens] = [] } = given;
  const failure = readFailure(errorOf(given), 0);
  const { limit_tokens: limit, sent_tokens: sent, reply_tokens: reply }: Overflow = failure;
  expect(failure.reason).toBe("context_length");
  expect([limit, sent, reply]).toEqual([limit_tokens, sent_tokens, reply_tokens]);
});

test.each(OTHERS)("not a full context: $vendor, $status: $message", (given) => {
  const failure = readFailure(errorOf(given), 0);
  expect(failure.reason).toBe(given.reason);
  expect(failure).not.toHaveProperty("limit_tokens");
});

// oxfmt-ignore
const PER_MINUTE = [
  { status: 429, message: "Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 50000. The input or output tokens must be reduced in order to run successfully." },
  { status: 413, message: "Request too large for model `llama-3.3-70b` in organization `org_1` service tier `on_demand` on tokens per minute (TPM): Limit 30000, Requested 50000, please reduce your message size and try again." },
] as const;

test.each(PER_MINUTE)(
  "$status: more than all tokens of a minute is not a full context, and only a smaller request helps",
  (given) => {
    const failure = readFailure(errorOf({ vendor: "", ...given }), 0);
    expect(failure).toMatchObject({ reason: "rate_limited", limit_tokens: 30_000, sent_tokens: 50_000 });
  },
);

test("a long message that almost matches is read only up to a limit", () => {
  const message = `${"prompt input exceeds ".repeat(20_000)}\n${"'".repeat(50_000)}`;
  const { reason } = readFailure({ statusCode: 400, message, responseBody: "[".repeat(20_000) }, 0);
  expect(reason).toBe("bad_request");
});
