/** Replies that a server gives in another way than its documents say. */
import type { Reply, ReplyCall } from "../reply.ts";
import type { Change, Quirk, QuirkContext } from "./quirk.ts";

const CHAT = ["openai-chat"] as const;
const CHAT_ALIKE = ["openai-chat", "anthropic"] as const;
const NOT_RESPONSES = ["openai-chat", "anthropic", "gemini"] as const;
const NOT_GEMINI = ["openai-chat", "openai-responses", "anthropic"] as const;

const HUGE_BYTES = 10_000_000;

function changeCalls(reply: Reply, change: (call: ReplyCall) => Partial<ReplyCall>): Reply {
  return { ...reply, calls: reply.calls.map((call) => ({ ...call, ...change(call) })) };
}

function argumentsAs(change: (text: string) => string): Change {
  return (reply) => changeCalls(reply, ({ arguments_text }) => ({ arguments_text: change(arguments_text) }));
}

function nameAs(change: (name: string) => string): Change {
  return (reply) => changeCalls(reply, ({ name }) => ({ name: change(name) }));
}

function endsWith(value: string | null | undefined): Change {
  return (reply) => ({ ...reply, odd: { ...reply.odd, finish_reason: { value } } });
}

function objectOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}

/** `{"a":1}` as `{"a":"1"}`. */
function numbersAsText(text: string): string {
  const pairs = Object.entries(objectOf(text)).map(([key, value]) => [
    key,
    typeof value === "number" ? String(value) : value,
  ]);
  return JSON.stringify(Object.fromEntries(pairs));
}

/** With an argument that may be left out, as null. */
function withNull({ conversation }: QuirkContext): (call: ReplyCall) => Partial<ReplyCall> {
  return ({ name, arguments_text }) => {
    const { properties, required } = conversation.schemas[name] ?? {};
    const given = objectOf(arguments_text);
    const known = Object.keys(properties ?? {});
    const left = known.find((key) => !(key in given) && !((required ?? []) as readonly string[]).includes(key));
    return left === undefined ? {} : { arguments_text: JSON.stringify({ ...given, [left]: null }) };
  };
}

const withoutCalls = (reply: Reply, text: string): Reply => ({ ...reply, text, calls: [] });

// oxfmt-ignore
export const REPLIES = {
  calls_promised:       { client: "tells the model", formats: CHAT_ALIKE, about: "the reply ends with the finish reason for calls, but has none", change: (reply) => ({ ...withoutCalls(reply, reply.text === "" ? "Let me look." : reply.text), odd: { ends_as_calls: true } }) },
  unclosed_think:       { client: "tells the model", about: "only an unclosed <think>", change: (reply) => withoutCalls(reply, `<think>\n${reply.reasoning === "" ? "I should look at it first." : reply.reasoning}`) },
  stray_think_close:    { client: "uses it", about: "</think> without an opening tag, before the text", change: (reply) => ({ ...reply, text: `I should answer.\n</think>\n\n${reply.text}` }) },
  think_tags:           { client: "uses it", about: "thinking in <think> tags in the text", change: (reply) => ({ ...reply, reasoning: "", text: `<think>\n${reply.reasoning === "" ? "I should answer." : reply.reasoning}\n</think>\n\n${reply.text}` }) },
  content_parts:        { client: "uses it", formats: CHAT, about: "content as a list of parts, thinking among them (Mistral)", change: (reply) => ({ ...reply, odd: { content_parts: true } }) },
  empty_reply:          { client: "tells the model", about: "an empty reply: no text and no calls", change: (reply) => withoutCalls({ ...reply, reasoning: "" }, "") },

  held_open:            { client: "uses it", wire: "held_open", about: "the connection stays open after the end of the stream" },
  no_done:              { client: "uses it", formats: CHAT_ALIKE, about: "the stream ends without [DONE] or message_stop", change: (reply) => ({ ...reply, odd: { no_done: true } }) },
  stream_ignored:       { client: "uses it", wire: "json", about: "one JSON document although a stream was requested" },
  stream_ignored_as_events: { client: "uses it", wire: "json_as_events", about: "the same, with content type text/event-stream" },
  finish_null:          { client: "uses it", formats: NOT_RESPONSES, about: "the finish reason is null", change: endsWith(null) },
  finish_empty:         { client: "uses it", formats: NOT_RESPONSES, about: "the finish reason is empty", change: endsWith("") },
  finish_missing:       { client: "uses it", formats: NOT_RESPONSES, about: "the finish reason is missing", change: endsWith(undefined) },
  finish_unknown:       { client: "uses it", formats: NOT_RESPONSES, about: "the finish reason is undocumented", change: endsWith("done_and_dusted") },
  usage_missing:        { client: "uses it", formats: CHAT, about: "the usage is missing", change: (reply) => ({ ...reply, odd: { no_usage: true } }) },

  arguments_object:     { client: "uses it", formats: CHAT, about: "arguments as an object instead of text", change: (reply) => ({ ...reply, odd: { arguments_object: true } }) },
  args_trailing_comma:  { client: "uses it", formats: NOT_GEMINI, about: "arguments with a trailing comma", change: argumentsAs((text) => text.replace(/\s*\}$/, ",}").replace("{,}", "{}")) },
  args_raw_newline:     { client: "uses it", formats: NOT_GEMINI, about: "arguments with a raw newline in a string", change: argumentsAs((text) => text.replaceAll(String.raw`\n`, "\n")) },
  args_fenced:          { client: "uses it", formats: NOT_GEMINI, about: "arguments in a fence", change: argumentsAs((text) => `\`\`\`json\n${text}\n\`\`\``) },
  args_stringified:     { client: "uses it", formats: NOT_GEMINI, about: "arguments as JSON in a JSON string", change: argumentsAs((text) => JSON.stringify(text)) },
  args_number_as_text:  { client: "uses it", about: 'numbers as text: "10" for 10', change: argumentsAs(numbersAsText) },
  args_null_optional:   { client: "uses it", about: "null for an optional argument", change: (reply, context) => changeCalls(reply, withNull(context)) },
  args_truncated:       { client: "tells the model", formats: NOT_GEMINI, about: "truncated arguments, in a reply that ends normally", change: argumentsAs((text) => text.slice(0, Math.max(1, Math.floor(text.length / 2)))) },
  args_twice:           { client: "uses it", formats: NOT_GEMINI, about: "the arguments twice, one after the other", change: argumentsAs((text) => text + text) },
  name_functions:       { client: "uses it", about: "the name of a tool as functions.read", change: nameAs((name) => `functions.${name}`) },
  name_default_api:     { client: "uses it", about: "the name of a tool as default_api:read", change: nameAs((name) => `default_api:${name}`) },
  name_channel:         { client: "uses it", about: "the name of a tool with a marker of gpt-oss: read<|channel|>commentary", change: nameAs((name) => `${name}<|channel|>commentary`) },
  id_empty:             { client: "uses it", formats: CHAT_ALIKE, about: "calls with an empty id", change: (reply) => changeCalls(reply, () => ({ given_id: "", id: () => "" })) },
  id_repeated:          { client: "uses it", formats: CHAT_ALIKE, about: "every call has the same id, in every reply", change: (reply) => changeCalls(reply, () => ({ given_id: "call_0", id: () => "call_0" })) },

  index_missing:        { client: "uses it", formats: CHAT, about: "Gemini behind chat completions: calls without an index", change: (reply) => ({ ...reply, odd: { no_index: true } }) },

  refusal:              { client: "shows the refusal", about: "the model refuses, in the vendor's own field or event", change: (reply) => ({ ...withoutCalls(reply, ""), reasoning: "", odd: { refusal: "I'm sorry, but I can't help with that." } }) },
  malformed_function_call: { client: "tells the model", formats: ["gemini"], about: "Gemini: MALFORMED_FUNCTION_CALL", change: (reply) => ({ ...withoutCalls(reply, ""), odd: { finish_reason: { value: "MALFORMED_FUNCTION_CALL" } } }) },
  huge_answer:          { client: "uses it", about: "an answer of 10 MB", change: (reply) => withoutCalls(reply, `${reply.text} `.repeat(Math.ceil(HUGE_BYTES / (reply.text.length + 1)))) },
  silent_truncation:    { client: "uses it", formats: CHAT, about: "Ollama: the prompt is truncated to 4096 tokens, visible only in the usage", change: (reply) => ({ ...reply, usage: { ...reply.usage, input_tokens: Math.min(4096, reply.usage.input_tokens) } }) },
} as const satisfies Record<string, Quirk>;
