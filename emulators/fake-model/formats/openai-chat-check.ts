/** What OpenAI's chat completions reject. */
import { isRecord, list, record, text, unknownKeys, words } from "./format.ts";
import type { Json, Problem } from "./format.ts";
import { emptyArray, idProblems, missing, openaiToolProblems, unknownParameter, wrongType } from "./openai-errors.ts";

const FIELDS = words(
  `messages model audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens
   metadata modalities n parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_retention
   reasoning_effort response_format safety_identifier seed service_tier stop store stream stream_options temperature
   tool_choice tools top_logprobs top_p user verbosity web_search_options`,
);

const MESSAGE_FIELDS: Readonly<Record<string, readonly string[]>> = {
  system: words("role content name"),
  developer: words("role content name"),
  user: words("role content name"),
  assistant: words("role content name tool_calls refusal audio function_call annotations"),
  tool: words("role content tool_call_id"),
};

/** `compatible`: like the many servers with this format, which ignore unknown fields. */
export function* chatProblems(body: Json, { compatible }: { readonly compatible: boolean }): Generator<Problem> {
  if (!compatible)
    for (const key of unknownKeys(body, FIELDS)) yield { message: `Unrecognized request argument supplied: ${key}` };
  if (typeof body["model"] !== "string" || body["model"] === "")
    yield { message: "you must provide a model parameter" };
  yield* parameterProblems(body);
  const { messages } = body;
  if (messages === undefined) yield missing("messages");
  if (!Array.isArray(messages)) yield wrongType("messages", "an array of objects", messages);
  if (list(messages).length === 0) yield emptyArray("messages");
  for (const [i, each] of list(messages).entries()) yield* messageProblems(each, i, compatible);
  yield* pairProblems(list(messages).map((each) => record(each)));
  yield* openaiToolProblems(body, { nested: true });
}

function* parameterProblems(body: Json): Generator<Problem> {
  if (body["stream_options"] !== undefined && body["stream"] !== true)
    yield {
      message: "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
      param: "stream_options",
    };
  if (/^(?:o\d|gpt-5)/.test(text(body["model"])) && body["max_tokens"] !== undefined)
    yield {
      message:
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      param: "max_tokens",
      code: "unsupported_parameter",
    };
  for (const name of ["max_tokens", "max_completion_tokens"])
    if (typeof body[name] === "number" && body[name] < 1)
      yield {
        message: `Invalid '${name}': integer below minimum value. Expected a value >= 1, but got ${body[name]} instead.`,
        param: name,
        code: "integer_below_min_value",
      };
}

function* messageProblems(message: unknown, i: number, compatible: boolean): Generator<Problem> {
  if (!isRecord(message)) {
    yield wrongType(`messages[${i}]`, "an object", message);
    return;
  }
  const { role, content } = message;
  if (role === undefined) yield missing(`messages[${i}].role`);
  const fields = MESSAGE_FIELDS[text(role)];
  if (fields === undefined) {
    yield {
      message: `Invalid value: '${String(role)}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.`,
      param: `messages[${i}].role`,
      code: "invalid_value",
    };
    return;
  }
  if (!compatible) for (const key of unknownKeys(message, fields)) yield unknownParameter(`messages[${i}].${key}`);
  yield* contentProblems(message, i);
  if (role === "assistant" && message["tool_calls"] !== undefined)
    yield* callProblems(message["tool_calls"], i, mostOf(compatible));
  if (role === "tool") yield* idProblems(message["tool_call_id"], `messages[${i}].tool_call_id`, mostOf(compatible));
  if (role !== "assistant" && content === undefined) yield missing(`messages[${i}].content`);
}

function* contentProblems({ role, content, tool_calls, refusal }: Json, i: number): Generator<Problem> {
  const isCalling = role === "assistant" && (list(tool_calls).length > 0 || typeof refusal === "string");
  if ((content === null || content === undefined) && !isCalling)
    yield {
      message: "Invalid value for 'content': expected a string, got null.",
      param: `messages.[${i}].content`,
      code: null,
    };
  if (Array.isArray(content) && content.length === 0) yield emptyArray(`messages[${i}].content`);
  for (const [k, part] of list(content).entries())
    if (typeof record(part)["type"] !== "string") yield missing(`messages[${i}].content[${k}].type`);
}

/** OpenAI accepts ids of up to 40 characters; some servers issue longer ones. */
function mostOf(compatible: boolean): number {
  return compatible ? 1000 : 40;
}

function* callProblems(calls: unknown, i: number, most: number): Generator<Problem> {
  const at = `messages[${i}].tool_calls`;
  if (!Array.isArray(calls)) yield wrongType(at, "an array of objects", calls);
  if (list(calls).length === 0) yield emptyArray(at);
  for (const [k, call] of list(calls).entries()) {
    const { id, type, function: asked } = record(call);
    yield* idProblems(id, `${at}[${k}].id`, most);
    if (type !== "function") yield missing(`${at}[${k}].type`);
    if (typeof record(asked)["name"] !== "string") yield missing(`${at}[${k}].function.name`);
    const given = record(asked)["arguments"];
    if (given === undefined) yield missing(`${at}[${k}].function.arguments`);
    else if (typeof given !== "string") yield wrongType(`${at}[${k}].function.arguments`, "a string", given);
  }
}

/** Each call has its result directly after its message; other results are rejected. */
function* pairProblems(messages: readonly Json[]): Generator<Problem> {
  let open = new Set<string>();
  let answered = new Set<string>();
  for (const [i, message] of messages.entries()) {
    if (message["role"] === "tool") {
      const id = text(message["tool_call_id"]);
      if (answered.has(id))
        yield { message: `Duplicate value for 'tool_call_id' of '${id}' in message[${i}]`, param: "messages" };
      else if (!open.has(id))
        yield {
          message:
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
          param: `messages.[${i}].role`,
        };
      open.delete(id);
      answered.add(id);
      continue;
    }
    yield* openProblems(open, i);
    const ids = list(message["tool_calls"]).map((call) => text(record(call)["id"]));
    open = new Set(ids);
    answered = new Set();
    if (open.size !== ids.length)
      yield { message: `Duplicate value for 'id' in 'messages[${i}].tool_calls'`, param: `messages.[${i}].tool_calls` };
  }
  yield* openProblems(open, messages.length);
}

function* openProblems(open: ReadonlySet<string>, i: number): Generator<Problem> {
  if (open.size === 0) return;
  yield {
    message: `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open].join(", ")}`,
    param: `messages.[${i}].role`,
  };
}
