import type { Message, MessageCall } from "../../model/provider.ts";
import { messageTokens } from "./tokens.ts";

type AssistantMessage = Extract<Message, { readonly role: "assistant" }>;

const excerpts = new WeakMap<Message, Map<number, Message>>();

/**
 * A message whose texts are truncated to about `limit` characters: beginning, end, and how to get the rest. Returns
 * the same object for the same message and limit, and the message itself if nothing in it is longer.
 */
export function excerptOf(message: Message, limit: number): Message {
  const made = excerpts.get(message) ?? new Map<number, Message>();
  excerpts.set(message, made);
  const known = made.get(limit) ?? makeExcerpt(message, limit);
  made.set(limit, known);
  return known;
}

function makeExcerpt(message: Message, limit: number): Message {
  if (message.role === "assistant") return cutReply(message, limit);
  if (message.text.length <= limit) return message;
  return { ...message, text: cutText(message.text, limit, retrievalHint(message)) };
}

function retrievalHint(message: Message): string {
  if (message.role !== "tool") return "";
  const ref = message.result.payload?.storage_ref;
  return ref === undefined ? "; repeat the call to see it" : `; full output: ${ref}`;
}

/** Beginning and end of a text, never longer than the text. */
export function cutText(text: string, limit: number, how = ""): string {
  const head = text.slice(0, Math.floor(limit / 2));
  const tail = text.slice(-Math.floor(limit / 4));
  const gap = `[${text.length - head.length - tail.length} characters omitted${how}]`;
  const cut = `${head}\n${gap}\n${tail}`.toWellFormed();
  return cut.length < text.length ? cut : text;
}

/** Truncated text drops the provider's own parts, which belong to the full text. */
function cutReply(message: AssistantMessage, limit: number): Message {
  const text =
    message.text.length <= limit ? message.text : (cutJson(message.text, limit) ?? cutText(message.text, limit));
  const calls = message.calls?.map((call) => cutCall(call, limit));
  const isSame = text === message.text && (calls ?? []).every((call, index) => call === message.calls?.[index]);
  const said = isSame ? message : { ...message, text, ...(calls === undefined ? {} : { calls }) };
  return dropHugeParts(said, limit);
}

/**
 * Reasoning cannot be truncated: it is sent unchanged or not at all. A multiple of the limit; longer reasoning is not
 * worth its space.
 */
const MAX_PARTS = 100;

function dropHugeParts(message: AssistantMessage, limit: number): Message {
  const { provider_parts, ...rest } = message;
  if (provider_parts === undefined || JSON.stringify(provider_parts).length <= limit * MAX_PARTS) return message;
  return rest;
}

/** A reply in the plain protocol stays valid JSON, with its long texts truncated. */
function cutJson(text: string, limit: number): string | undefined {
  if (!text.trimStart().startsWith("{")) return undefined;
  try {
    const cut = JSON.stringify(cutStrings(JSON.parse(text), limit));
    return cut.length <= 2 * limit ? cut : undefined;
  } catch {
    return undefined; // only looks like JSON
  }
}

function cutCall(call: MessageCall, limit: number): MessageCall {
  const length = JSON.stringify(call.arguments).length;
  if (length <= limit) return call;
  for (const each of [limit, limit / 8]) {
    const cut = cutStrings(call.arguments, each) as MessageCall["arguments"];
    if (JSON.stringify(cut).length <= Math.min(2 * limit, length - 1)) return { ...call, arguments: cut };
  }
  const excerpt = cutText(JSON.stringify(call.arguments), limit);
  return { ...call, arguments: { arguments_in_short: excerpt } };
}

function cutStrings(value: unknown, limit: number): unknown {
  if (typeof value === "string") return value.length <= limit ? value : cutText(value, limit);
  if (Array.isArray(value)) return value.map((each) => cutStrings(each, limit));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, cutStrings(each, limit)]));
}

/** The conversation as text for a summary, within a number of tokens. */
export function transcriptOf(messages: readonly Message[], tokens: number): string {
  const each = Math.max(200, Math.floor((tokens * 2) / Math.max(1, messages.length)));
  const lines = messages.map((message) => {
    const calls =
      message.role === "assistant" && message.calls !== undefined
        ? ` ${JSON.stringify(message.calls.map(({ name, arguments: args }) => ({ name, arguments: args })))}`
        : "";
    const who = message.role === "tool" ? `result of ${message.name}` : message.role;
    const text = `${message.text}${calls}`;
    return `${who}: ${text.length <= each ? text : cutText(text, each)}`;
  });
  while (lines.length > 1 && messageTokens({ role: "user", text: lines.join("\n") }) > tokens)
    lines.splice(0, Math.ceil(lines.length / 4));
  return lines.join("\n");
}
