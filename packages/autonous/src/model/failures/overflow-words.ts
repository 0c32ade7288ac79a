import { messageTexts } from "./server-words.ts";
import type { Refusal } from "./server-words.ts";

/** Token counts in a message about a full context. Missing ones are omitted. */
export interface Overflow {
  /** The limit: for input and reply together, or for the input alone if the vendor counts only that. */
  readonly limit_tokens?: number;
  /** Size of the request, counted the same way. */
  readonly sent_tokens?: number;
  /** Part of both that is reserved for the reply. */
  readonly reply_tokens?: number;
}

interface WordsRow {
  readonly vendor: string;
  /** `{limit}`, `{sent}`, `{input}` and `{reply}` stand for numbers, `…` for anything short. */
  readonly says: readonly string[];
}

/**
 * Messages of vendors and servers about requests that do not fit. All matching rows contribute numbers; the first one
 * with a number wins. `{sent}` is the whole request, `{input}` excludes the part reserved for the reply.
 */
// oxfmt-ignore
const OVERFLOWS: readonly WordsRow[] = [
  { vendor: "codes",      says: ["context_length_exceeded", "context_window_exceeded", "exceed_context_size", "model_max_prompt_tokens_exceeded", "max_prompt_tokens_exceeded", "request_too_large", "string_above_max_length", "ContextWindowExceeded", "OutofContextError", "prompt_too_long", "input_too_long"] },
  { vendor: "OpenAI",     says: ["maximum context length is {limit} tokens…you requested {sent} tokens", "({input} in the messages, {reply} in the completion", "({input} in your prompt; {reply} for the completion", "maximum context length is {limit}…messages resulted in {input} tokens", "exceeds the context window", "tokens exceed the configured limit of {limit}…messages resulted in {input} tokens", "tokens exceed the configured limit", "Invalid 'messages…string too long", "Invalid 'input…string too long", "Invalid 'messages': array too long", "Invalid 'input': array too long"] },
  { vendor: "OpenRouter", says: ["maximum context length is {limit} tokens…requested about {sent} tokens", "requested about {sent} tokens (…{reply} in the output)"] },
  { vendor: "vLLM",       says: ["maximum context length is {limit} tokens…requested {reply} output tokens and your prompt contains at least {input} input tokens", "maximum context length is {limit} tokens and your request has {input} input tokens", "is too large: {reply}. This model's maximum context length", "You passed {input} input tokens and requested {reply} output tokens", "model's context length is only {limit} tokens", "prompt (length {input}) is longer than the maximum model length of {limit}", "longer than the maximum model length"] },
  { vendor: "SGLang",     says: ["input ({input} tokens) is longer than the model's context length ({limit} tokens)", "longer than the model's context length", "model's maximum context length of {limit} tokens…requested a total of {sent} tokens", "{input} tokens from the input messages and {reply} tokens for the completion", "exceeds the maximum allowed length ({limit}", "exceeds the maximum allowed length"] },
  { vendor: "any",        says: ["Input length ({input}) exceeds model's maximum context length ({limit})", "maximum context length of {limit}", "maximum context length ({limit})", "maximum context length: {limit}", "maximum context length is {limit}", "maximum context length"] },
  { vendor: "Anthropic",  says: ["prompt is too long: {input} tokens > {limit} maximum", "prompt is too long", "exceed context limit: {input} + {reply} > {limit}", "exceed context limit", "Request exceeds the maximum size", "exceeds the maximum allowed number of bytes"] },
  { vendor: "Google",     says: ["input token count ({input}) exceeds the maximum number of tokens allowed ({limit})", "input token count is {input} but model only supports up to {limit}", "input token count…exceeds the maximum", "Request payload size exceeds the limit"] },
  { vendor: "xAI",        says: ["maximum prompt length is {limit} but the request contains {input} tokens", "maximum prompt length is {limit}"] },
  { vendor: "Together",   says: ["tokens + `max_new_tokens` must be <= {limit}. Given: {input} `inputs` tokens and {reply} `max_new_tokens`", "tokens + `max_new_tokens` must be <= {limit}"] },
  { vendor: "TGI",        says: ["`inputs` must have less than {limit} tokens. Given: {input}", "`inputs` must have less than {limit} tokens"] },
  { vendor: "Groq",       says: ["reduce the length of the messages", "reduce the length of either one", "reduce the length of the input", "reduce the length of the prompt", "reduce the length of your", "reduce your prompt"] },
  { vendor: "Cerebras",   says: ["Current length is {input} while limit is {limit}"] },
  { vendor: "LM Studio",  says: ["Trying to keep the first {input} tokens when context the overflows", "tokens to keep from the initial prompt is greater than the context length", "greater than the context length", "context length of only {limit} tokens", "Reached context length of {limit} tokens"] },
  { vendor: "llama.cpp",  says: ["request ({input} tokens) exceeds the available context size ({limit} tokens)", "exceeds the available context size", "context shift is disabled", "Context size has been exceeded", "larger than the max context size", "n_prompt_tokens {input} n_ctx {limit}"] },
  { vendor: "Ollama",     says: ["input length exceeds", "exceeded max context length", "exceeded context length"] },
  { vendor: "Copilot",    says: ["prompt token count of {input} exceeds the limit of {limit}"] },
  { vendor: "MiniMax",    says: ["context window exceeds limit"] },
  { vendor: "Moonshot",   says: ["exceeded model token limit: {limit} (requested: {input})", "exceeded model token limit: {limit}", "exceeded model token limit", "total message size…exceeds limit"] },
  { vendor: "DashScope",  says: ["Range of input length should be [1, {limit}]", "Range of input length should be"] },
  { vendor: "Z.ai",       says: ["Prompt exceeds max length", "Prompt too long", "prompt exceeds the length limit", "Prompt 超长"] },
  { vendor: "Mistral",    says: ["Prompt contains {input} tokens…too large for model with {limit} maximum context length", "too large for model with {limit} maximum context length"] },
  { vendor: "Cohere",     says: ["tokens in the prompt cannot exceed {limit} - received {input}", "limit for this model is {limit} tokens", "too many tokens"] },
  { vendor: "Bedrock",    says: ["Input is too long", "input too long", "Max input tokens: {limit}, request input token count: {input}", "Too many input tokens", "expected maxLength:"] },
  { vendor: "Fireworks",  says: ["prompt is too long: {input}, model maximum context length: {limit}"] },
  { vendor: "Cloudflare", says: ["maximum output tokens ({sent}) exceeded this model context window limit ({limit})", "exceeded this model context window"] },
  { vendor: "SiliconFlow", says: ["length of prompt_tokens ({input}) must be less than max_seq_len ({limit})"] },
  { vendor: "DeepInfra",  says: ["input length {input} exceeds maximum input length {limit}", "exceeds maximum input length"] },
  { vendor: "TabbyAPI",   says: ["length {input} is greater than max_seq_len {limit}", "greater than max_seq_len"] },
  { vendor: "others",     says: ["prompt has {input} tokens, but the configured context size is {limit}", "token limit exceeded", "prompt tokens too long", "exceed max message tokens", "tokens in request more than max tokens allowed", "context length exceeded", "context window exceeded", "context size exceeded", "exceeds the model's context", "exceeds model context"] },
];

/** Z.ai's code, the only fixed part of a translated message. */
const CODES: ReadonlySet<string> = new Set(["1261"]);

/** Problems that need a wait or another setting; a shorter conversation would not help. */
const OTHER =
  /throttl|rate[ _-]?limit|(?:tokens|requests) per (?:min|second|hour|day)|\b[TR]P[MD]\b|too many requests|resource_exhausted|please wait|try again (?:later|in \d)|retry after|\bquota\b|can only afford|supports at most [\d,]+ (?:completion|output) tokens|Range of max_(?:completion_)?tokens|Invalid 'tools|concurren/i;
/** A request larger than the limit per minute: waiting does not help. */
const MORE_THAN_A_MINUTE = template("Request too large…Limit {limit}, Requested {sent}");

/** Statuses that can mean an overflow. Others, such as 429 and 403, keep their meaning whatever the message says. */
const SAID_WITH: ReadonlySet<number | undefined> = new Set([undefined, 400, 413, 414, 422, 424, 500]);

/** Unlisted messages: a clause saying that the request is larger than a limit. */
const UNLISTED = [
  /[^.\n]{0,100}\b(?:prompt|input|request|messages?|conversation|context|history|tokens?)\b[^.\n]{0,80}\b(?:exceed(?:s|ed|ing)?|(?:longer|larger|greater|bigger|more) than|too (?:long|large|big|many)|over the|does not fit|doesn't fit)\b[^.\n]{0,60}\b(?:context|window|tokens?|model|max(?:imum)?[ _-](?:seq|sequence|prompt|input|model|total|position)\w*)[^\n]{0,100}/i,
  /\b(?:context|window|limit|maximum)\b[^.\n]{0,60}\d[\d,_]{2,14} tokens\b[^.\n]{0,60}\b(?:prompt|input|request|messages?|conversation|history)\b[^.\n]{0,40}\d[\d,_]{2,14}/i,
  /(?:上下文|输入|输入长度|提示词|对话)[^。\n]{0,40}(?:超过|超出|过长|超长)[^。\n]{0,60}/,
] as const;
/** A part of the request that a shorter conversation does not change. */
const ABOUT_PART =
  /\b(?:images?|files?|documents?|audio|tools?|functions?|names?|descriptions?|ids?|stop|schemas?|urls?|characters|bytes|[KM]i?B)\b/i;
const ABOUT_OUTPUT = /max_(?:new_|output_|completion_)?tokens|max(?:imum)? (?:output|completion) tokens/i;

function unlistedIn(text: string): string | undefined {
  const clauses = UNLISTED.map((row) => row.exec(text)?.[0]);
  return clauses.find((clause) => clause !== undefined && !ABOUT_PART.test(clause));
}

/** Of two numbers in a clause, the larger one is the size sent. */
function twoNumbersIn(clause: string): Overflow {
  const numbers = [...clause.matchAll(/(?<![\w.])\d[\d,_]{2,14}(?![\w.]\d)/g)].flatMap(
    ([text]) => asNumber(text) ?? [],
  );
  const [first, second] = numbers;
  if (numbers.length !== 2 || first === undefined || second === undefined || first === second) return {};
  return { limit_tokens: Math.min(first, second), sent_tokens: Math.max(first, second) };
}

const ROWS = OVERFLOWS.flatMap(({ says }) => says.map(template));

/** Whether a request was rejected because it does not fit, and the numbers in the message. */
export function readOverflow(refusal: Refusal): Overflow | undefined {
  const { status, words } = refusal;
  if (!SAID_WITH.has(status)) return undefined;
  const said = messageTexts(refusal);
  const text = said.join("\n");
  const isCoded = CODES.has(words.trim()) || said.some((each) => CODES.has(each));
  const matches = ROWS.map((row) => row.exec(text)).filter((match) => match !== null);
  if (OTHER.test(text)) return undefined;
  if (matches.length > 0 || isCoded) return numbersOf(matches);
  const clause = status === 500 || ABOUT_OUTPUT.test(text) ? undefined : unlistedIn(text);
  if (clause !== undefined) return twoNumbersIn(clause);
  return status === 413 || status === 414 ? {} : undefined; // too large in bytes, which a shorter request may fix
}

/** Rate limits reported with a misleading status, or without one. */
const THROTTLED =
  /throttl|rate[ _-]?limit|(?:tokens|requests) per (?:min|second|hour|day)|\b[TR]P[MD]\b|too many requests|please wait before/i;
const THROTTLED_WITH: ReadonlySet<number | undefined> = new Set([undefined, 400, 413, 422, 424, 429]);

/**
 * Whether a rate limit on requests or tokens was reached. With numbers if the request alone exceeds the limit: then
 * only a smaller request helps, not a wait.
 */
export function readThrottling(refusal: Refusal): Pick<Overflow, "limit_tokens" | "sent_tokens"> | undefined {
  const { status } = refusal;
  const text = THROTTLED_WITH.has(status) ? messageTexts(refusal).join("\n") : "";
  if (status !== 429 && !THROTTLED.test(text)) return undefined;
  const match = MORE_THAN_A_MINUTE.exec(text);
  const { limit_tokens = 0, sent_tokens = 0 } = match === null ? {} : numbersOf([match]);
  return limit_tokens > 0 && sent_tokens > limit_tokens ? { limit_tokens, sent_tokens } : {};
}

function template(words: string): RegExp {
  const pattern = words
    .replaceAll(/[.*+?^$()|[\]\\]/g, String.raw`\$&`)
    .replaceAll(/\{(limit|sent|input|reply)\}/g, String.raw`(?<$1>\d[\d,_]{0,14})`)
    .replaceAll("…", "[^]{0,200}?")
    .replaceAll(/\s+/g, String.raw`\s+`)
    .replaceAll("'", "['’]");
  return new RegExp(pattern, "i");
}

type NumberName = "limit" | "sent" | "input" | "reply";

function numbersOf(matches: readonly RegExpExecArray[]): Overflow {
  const named = (name: NumberName): number | undefined =>
    matches.map(({ groups }) => asNumber(groups?.[name])).find((each) => each !== undefined);
  const [limit, input, reply] = [named("limit"), named("input"), named("reply")];
  const sent = named("sent") ?? (input === undefined ? undefined : input + (reply ?? 0));
  return {
    ...(limit === undefined ? {} : { limit_tokens: limit }),
    ...(sent === undefined ? {} : { sent_tokens: sent }),
    ...(reply === undefined ? {} : { reply_tokens: reply }),
  };
}

function asNumber(text: string | undefined): number | undefined {
  const number = Number(text?.replaceAll(/[,_]/g, ""));
  return Number.isSafeInteger(number) ? number : undefined;
}
