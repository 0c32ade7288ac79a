/** What each vendor's chat completions reject in addition to the common rules. */
import { detailSignature } from "../formats/chat-thoughts.ts";
import { isRecord, list, record, text, words } from "../formats/format.ts";
import type { Json } from "../formats/format.ts";
import type { VendorProblem } from "./errors.ts";
import type { Issued } from "./issued.ts";

export type Rule = (body: Json, issued: Issued) => Iterable<VendorProblem>;

interface Placed {
  readonly message: Json;
  readonly i: number;
}

function messagesOf(body: Json): readonly Placed[] {
  return list(body["messages"]).map((each, i) => ({ message: record(each), i }));
}

function assistantsOf(body: Json): readonly Placed[] {
  return messagesOf(body).filter(({ message }) => message["role"] === "assistant");
}

function callsOf({ tool_calls }: Json): readonly Json[] {
  return list(tool_calls).map((each) => record(each));
}

function isEmpty(content: unknown): boolean {
  return Array.isArray(content) ? content.length === 0 : text(content).trim() === "";
}

/** Whether a model thinks in this request: by the switch, or by default from its name. */
function isThinking({ model, thinking }: Json, byDefault: RegExp): boolean {
  const type = record(thinking)["type"];
  return type === "enabled" || (type !== "disabled" && byDefault.test(text(model)));
}

/** Messages between two user messages, each with whether a call is among them. */
function turnsOf(body: Json): readonly { readonly placed: readonly Placed[]; readonly hasCalls: boolean }[] {
  const turns: Placed[][] = [[]];
  for (const placed of messagesOf(body)) {
    if (placed.message["role"] === "user") turns.push([]);
    turns.at(-1)?.push(placed);
  }
  return turns.map((placed) => ({
    placed,
    hasCalls: placed.some(({ message }) => callsOf(message).length > 0),
  }));
}

function* deepseek(body: Json): Generator<VendorProblem> {
  if (!isThinking(body, /reasoner|deepseek-v[4-9]/)) return;
  for (const { placed, hasCalls } of turnsOf(body))
    for (const { message } of placed)
      if (hasCalls && message["role"] === "assistant" && typeof message["reasoning_content"] !== "string")
        yield { message: "The `reasoning_content` in the thinking mode must be passed back to the API." };
}

function* kimi(body: Json): Generator<VendorProblem> {
  for (const { message, i } of assistantsOf(body)) {
    const hasCalls = callsOf(message).length > 0;
    if (hasCalls && isThinking(body, /thinking|k2\.[5-9]|k[3-9]/) && typeof message["reasoning_content"] !== "string")
      yield {
        message: `thinking is enabled but reasoning_content is missing in assistant tool call message at index ${i}`,
      };
    if (!hasCalls && isEmpty(message["content"]))
      yield { message: `Invalid request: the message at position ${i} with role 'assistant' must not be empty` };
  }
}

/** Arguments must be a JSON object: a template or parser reads them. */
function jsonArguments(says: (call: Json, reason: string) => string, extra: Partial<VendorProblem> = {}): Rule {
  return function* problems(body) {
    for (const { message } of assistantsOf(body))
      for (const call of callsOf(message)) {
        const reason = whyNotObject(record(call["function"])["arguments"]);
        if (reason !== undefined) yield { message: says(call, reason), ...extra };
      }
  };
}

function whyNotObject(given: unknown): string | undefined {
  try {
    return isRecord(typeof given === "string" ? JSON.parse(given) : given) ? undefined : "not an object";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Templates of local models require the system message first, and some require alternating roles. */
function* template(body: Json): Generator<VendorProblem> {
  let before = "";
  for (const { message, i } of messagesOf(body)) {
    const role = text(message["role"]);
    if (role === "system" && i > 0) yield { message: "System message must be at the beginning." };
    if (role === "user" && before === "user" && /mistral|gemma|llama-?2/i.test(text(body["model"])))
      yield {
        message:
          "After the optional system message, conversation roles must alternate user/assistant/user/assistant/...",
      };
    before = role;
  }
}

const ORDER = { type: "invalid_request_message_order", code: "3230" };

function* mistral(body: Json): Generator<VendorProblem> {
  let before = "";
  for (const { message, i } of messagesOf(body)) {
    const role = text(message["role"]);
    if (before === "tool" && role !== "tool" && role !== "assistant")
      yield { message: `Unexpected role '${role}' after role 'tool'`, ...ORDER };
    if (before === "assistant" && role === "assistant")
      yield { message: "Unexpected role 'assistant' after role 'assistant'", ...ORDER };
    if (before === "user" && role === "tool") yield { message: "Unexpected role 'tool' after role 'user'", ...ORDER };
    if (role === "assistant" && callsOf(message).length === 0 && isEmpty(message["content"]))
      yield {
        message: "Assistant message must have either content or tool_calls, but not none.",
        type: "invalid_request_assistant_message",
        code: "3240",
      };
    for (const id of [
      ...callsOf(message).map((call) => call["id"]),
      ...(role === "tool" ? [message["tool_call_id"]] : []),
    ])
      if (!/^[a-zA-Z0-9]{9}$/.test(text(id)))
        yield {
          message: `Tool call id was ${text(id)} but must be a-z, A-Z, 0-9, with a length of 9.`,
          type: "invalid_function_call",
          code: "3280",
        };
    for (const key of Object.keys(message))
      if (!["role", "content", "tool_calls", "tool_call_id", "name", "prefix"].includes(key))
        yield {
          status: 422,
          message: `body.messages.${i}.${role}.${key}: Extra inputs are not permitted`,
          code: "1000",
        };
    before = role;
  }
  if (before === "assistant" && record(list(body["messages"]).at(-1))["prefix"] !== true)
    yield {
      message: "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
      ...ORDER,
    };
}

const GROQ_FIELDS: ReadonlySet<string> = new Set(
  words("role content name tool_calls tool_call_id reasoning refusal annotations function_call"),
);

function* groq(body: Json): Generator<VendorProblem> {
  for (const { message, i } of messagesOf(body))
    for (const key of Object.keys(message))
      if (!GROQ_FIELDS.has(key))
        yield {
          message: `'messages.${i}' : for 'role:${text(message["role"])}' the following must be satisfied[('messages.${i}' : property '${key}' is unsupported)]`,
        };
}

function emptyContent(says: (placed: Placed) => string): Rule {
  return function* problems(body) {
    for (const placed of messagesOf(body)) {
      const { role, content } = placed.message;
      const isCalling = role === "assistant" && callsOf(placed.message).length > 0;
      if (role !== "tool" && !isCalling && isEmpty(content)) yield { message: says(placed) };
    }
  };
}

function* minimaxTools({ tools }: Json): Generator<VendorProblem> {
  for (const tool of list(tools))
    if (!isRecord(record(record(tool)["function"])["parameters"]))
      yield { message: "invalid params, function parameters is empty (2013)" };
}

/** Signed data of the upstream vendor must be sent back unchanged with the calls of the current turn. */
function* openrouter(body: Json, issued: Issued): Generator<VendorProblem> {
  const begin = messagesOf(body).findLast(({ message }) => message["role"] === "user")?.i ?? 0;
  for (const { message, i } of assistantsOf(body)) {
    const details = list(message["reasoning_details"]).map((each) => record(each));
    const thought = details.map((each) => text(each["text"])).join("");
    const signed = details.find((each) => typeof each["signature"] === "string");
    if (signed !== undefined && signed["signature"] !== detailSignature(thought))
      yield { message: `messages.${i}.content.0: Invalid \`signature\` in \`thinking\` block` };
    const given = callsOf(message).map(({ id }) => issued.reasoning(text(id)));
    const isLost = given.some((reasoning) => reasoning !== undefined && reasoning !== "") && details.length === 0;
    if (isLost && i > begin)
      yield {
        message: `messages.${i}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`tool_use\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block.`,
      };
  }
  const marks = messagesOf(body).flatMap(({ message }) => list(message["content"]));
  const count = marks.filter((part) => isRecord(record(part)["cache_control"])).length;
  if (count > 4 && text(body["model"]).startsWith("anthropic/"))
    yield { message: `A maximum of 4 blocks with cache_control may be provided. Found ${count}.` };
}

function all(...rules: readonly Rule[]): Rule {
  return function* problems(body, issued) {
    for (const rule of rules) yield* rule(body, issued);
  };
}

const idOf = (call: Json): string => text(call["id"]);

/** In addition to the common rules. A vendor without a row rejects nothing more. */
// oxfmt-ignore
export const RULES: Readonly<Record<string, Rule>> = {
  deepseek,
  kimi,
  mistral,
  groq,
  openrouter,
  qwen:     jsonArguments(() => '<400> InternalError.Algo.InvalidParameter: The "function.arguments" parameter of the code model must be in JSON format.'),
  minimax:  all(jsonArguments((call) => `invalid params, invalid function arguments json string, tool_call_id: ${idOf(call)} (2013)`), emptyContent(() => "invalid params, chat content is empty (2013)"), minimaxTools),
  xai:      emptyContent(() => "Each message must have at least one content element."),
  zai:      emptyContent(({ i }) => `messages[${i}].content cannot be empty`),
  ollama:   jsonArguments((_, reason) => `invalid tool call arguments: ${reason}`),
  vllm:     all(template, jsonArguments((_, reason) => `Invalid JSON in tool call arguments: ${reason}`)),
  sglang:   all(template, jsonArguments((_, reason) => `Failed to apply chat template: ${reason}`)),
  lmstudio: all(template, jsonArguments((_, reason) => `Error rendering prompt with jinja template: ${reason}`)),
  llamacpp: all(template, jsonArguments((_, reason) => `Failed to parse tool call arguments as JSON: ${reason}`, { status: 500 })),
  tgi:      template,
};

/** Vendors that require thinking to be sent back in Anthropic's format: with the calls that followed it. */
export function* doorThoughts(body: Json, issued: Issued): Generator<VendorProblem> {
  for (const { message } of assistantsOf(body)) {
    const blocks = list(message["content"]).map((each) => record(each));
    const thought = blocks.map(({ thinking }) => text(thinking)).join("");
    const given = blocks.filter(({ type }) => type === "tool_use").map(({ id }) => issued.reasoning(text(id)) ?? "");
    if (given.some((reasoning) => reasoning !== "" && reasoning !== thought))
      yield { message: "The `content[].thinking` in the thinking mode must be passed back to the API." };
  }
}
