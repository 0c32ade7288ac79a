/** Answers instead of a reply: errors in every shape that servers give them. */
import type { Refusal } from "../formats/format.ts";
import type { Quirk, QuirkContext } from "./quirk.ts";

const CHAT = ["openai-chat"] as const;
const JSON_TYPE = "application/json";
const EVENTS = "text/event-stream; charset=utf-8";
const SAID = "The model `fake` cannot be used with this plan";
const PAGE =
  "<html>\n<head><title>400 Bad Request</title></head>\n<body>\n<center><h1>400 Bad Request</h1></center>\n<hr><center>nginx</center>\n</body>\n</html>\n";

function bad(body: unknown, type = JSON_TYPE): () => Refusal {
  return () => ({ status: 400, body, type });
}

/** What the vendor says to a request that it does not take, with a status that says that all is well. */
function errorBody({ refusal }: QuirkContext): unknown {
  return bodyOf(refusal({ kind: "invalid", problem: { message: SAID } }));
}

const BASE_RESP = {
  id: "0217642a1c4b4f1d9f3e5b",
  choices: null,
  created: 0,
  model: "",
  usage: null,
  base_resp: { status_code: 1008, status_msg: "insufficient balance" },
};

const FASTAPI = [
  { type: "missing", loc: ["body", "messages", 1, "content"], msg: "Field required", input: { role: "user" } },
];

const RAW = JSON.stringify({ error: { message: SAID, type: "invalid_request_error", code: null } });

const FAILED_GENERATION = {
  message: "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
  type: "invalid_request_error",
  code: "tool_use_failed",
  failed_generation: '<function=read{"path": "README.md"}</function>',
};

/** The first of a list of errors, as Google's chat completions have it. */
function bodyOf({ body }: Refusal): unknown {
  return Array.isArray(body) ? (body[0] as unknown) : body;
}

const REPLY_TOKENS = 4096;

/** How it is said that the prompt fits, and that the reply does not fit beside it. */
// oxfmt-ignore
const WITH_REPLY: Readonly<Record<string, string>> = {
  anthropic: "input length and `max_tokens` exceed context limit: {input} + {reply} > {limit}, decrease input length or `max_tokens` and try again",
  vllm:      "'max_tokens' or 'max_completion_tokens' is too large: {reply}. This model's maximum context length is {limit} tokens and your request has {input} input tokens ({reply} > {limit} - {input}). None",
  sglang:    "Requested token count exceeds the model's maximum context length of {limit} tokens. You requested a total of {sum} tokens: {input} tokens from the input messages and {reply} tokens for the completion. Please reduce the number of tokens in the input messages or the completion to fit within the limit.",
  together:  "Input validation error: `inputs` tokens + `max_new_tokens` must be <= {limit}. Given: {input} `inputs` tokens and {reply} `max_new_tokens`",
  tgi:       "Input validation error: `inputs` tokens + `max_new_tokens` must be <= {limit}. Given: {input} `inputs` tokens and {reply} `max_new_tokens`",
  openrouter: "This endpoint's maximum context length is {limit} tokens. However, you requested about {sum} tokens ({input} of text input, {reply} in the output). Please reduce the length of either one, or use the \"middle-out\" transform to compress your prompt automatically.",
};
const OPENAI_REPLY =
  "This model's maximum context length is {limit} tokens. However, you requested {sum} tokens ({input} in the messages, {reply} in the completion). Please reduce the length of the messages or completion.";

function withReply(vendor: string | undefined, tokens: number): string {
  const numbers: Readonly<Record<string, number>> = {
    input: tokens,
    reply: REPLY_TOKENS,
    sum: tokens + REPLY_TOKENS,
    limit: tokens + REPLY_TOKENS - 1,
  };
  const words = WITH_REPLY[vendor ?? ""] ?? OPENAI_REPLY;
  return words.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(numbers[name]));
}

// oxfmt-ignore
export const ANSWERS = {
  error_in_200:          { client: "gives up", about: "an error in the body of a 200, as JSON", answer: (context) => ({ status: 200, body: errorBody(context), type: JSON_TYPE }) },
  error_in_200_events:   { client: "gives up", about: "the same as the only event of a stream", answer: (context) => ({ status: 200, body: `data: ${JSON.stringify(errorBody(context))}\n\n`, type: EVENTS }) },
  error_base_resp:       { client: "gives up", formats: CHAT, about: "MiniMax: 200 with the error in base_resp", answer: () => ({ status: 200, body: BASE_RESP, type: JSON_TYPE }) },
  error_string:          { client: "gives up", about: '400 and {"error":"…"}', answer: bad({ error: SAID }) },
  error_detail:          { client: "gives up", about: '400 and {"detail":"…"}', answer: bad({ detail: SAID }) },
  error_detail_list:     { client: "gives up", about: "422 and FastAPI's list of details", answer: () => ({ status: 422, body: { detail: FASTAPI } }) },
  error_message:         { client: "gives up", about: '400 and {"message":"…"}', answer: bad({ message: SAID }) },
  error_text:            { client: "gives up", about: "400 and plain text", answer: bad(`${SAID}\n`, "text/plain; charset=utf-8") },
  error_html:            { client: "gives up", about: "400 and an HTML page", answer: bad(PAGE, "text/html") },
  error_openrouter_raw:  { client: "gives up", about: "400 and OpenRouter's metadata.raw", answer: bad({ error: { message: "Provider returned error", code: 400, metadata: { raw: RAW, provider_name: "Fake" } }, user_id: "user_2fake" }) },
  error_empty:           { client: "gives up", about: "400 and no body", answer: bad("", "text/plain") },
  tool_use_failed:       { client: "tells the model", formats: CHAT, about: "Groq: 400, the model's call could not be parsed", billed: true, answer: () => ({ status: 400, body: { error: FAILED_GENERATION } }) },
  context_overflow:      { client: "compacts", about: "the context is full, in the vendor's words", answer: ({ refusal, tokens }) => refusal({ kind: "too_long", tokens, limit: Math.floor(tokens * 0.9) }) },
  context_overflow_reply: { client: "compacts", about: "prompt and reply together do not fit, in the vendor's words", answer: ({ refusal, tokens, vendor }) => refusal({ kind: "invalid", problem: { message: withReply(vendor, tokens) } }) },
  context_overflow_in_stream: { client: "compacts", about: "the context is full, as the only event of a stream", answer: ({ refusal, tokens }) => ({ status: 200, body: `data: ${JSON.stringify(bodyOf(refusal({ kind: "too_long", tokens, limit: Math.floor(tokens * 0.9) })))}\n\n`, type: EVENTS }) },
  context_overflow_bytes: { client: "compacts", about: "413, the body is too large", answer: ({ refusal, tokens }) => refusal({ kind: "too_large", bytes: tokens * 4, limit: tokens * 3 }) },
  more_than_a_minute:    { client: "compacts", formats: CHAT, about: "Groq: 413, the request exceeds the limit of tokens per minute", answer: ({ tokens }) => ({ status: 413, body: { error: { message: `Request too large for model \`fake\` in organization \`org_fake\` service tier \`on_demand\` on tokens per minute (TPM): Limit ${Math.floor(tokens * 0.9)}, Requested ${tokens}, please reduce your message size and try again.`, type: "tokens", code: "rate_limit_exceeded" } } }) },
  throttled_like_overflow: { client: "retries", about: "throttling in words that look like a full context", answer: ({ refusal }) => refusal({ kind: "invalid", problem: { message: "Throttling: too many tokens, please wait before trying again.", code: "Throttling" } }) },
  out_of_credit:         { client: "gives up", about: "the account is empty, in the vendor's words", answer: ({ refusal }) => refusal({ kind: "no_credit" }) },
  wrong_key:             { client: "gives up", about: "invalid key, in the vendor's words", answer: ({ refusal }) => refusal({ kind: "wrong_key", key: "****fake" }) },
  bad_request:           { client: "gives up", about: "invalid request, in the vendor's format", answer: ({ refusal }) => refusal({ kind: "invalid", problem: { message: "temperature: Input should be less than or equal to 1" } }) },
  model_down:            { client: "retries", about: "503 in the vendor's words", answer: ({ refusal }) => refusal({ kind: "unavailable" }) },
  error_stream_only:     { client: "retries", about: "a stream with only a transient error", answer: ({ refusal }) => ({ status: 200, body: `data: ${JSON.stringify(bodyOf(refusal({ kind: "overloaded" })))}\n\n`, type: EVENTS }) },
} as const satisfies Record<string, Quirk>;
