/** What a method of the Bot API gets, and what those that send and edit read from it alike. */
import { readFormatted } from "../formatting/entities.ts";
import type { ReadText } from "../formatting/entities.ts";
import { isTrue, objectOf, textOf } from "../parameters.ts";
import type { Parameters } from "../parameters.ts";
import { badRequest } from "../refusal.ts";
import type { Updates } from "../updates.ts";
import { findChat, findMessage } from "../world.ts";
import type { Button, Chat, Quote, Stored, World } from "../world.ts";
import { readMarkup } from "./keyboard.ts";

const MAX_TEXT = 4096;
const MAX_CAPTION = 1024;
/** The number of the topic that every forum has; its messages do not bear it. */
const GENERAL_TOPIC = 1;

export interface Asking {
  readonly world: World;
  readonly updates: Updates;
  readonly parameters: Parameters;
  /** How long a pressed button waits for its answer. */
  readonly query_ms: number;
  /** How long the address of a file is good. */
  readonly link_ms: number;
  readonly max_file_bytes: number;
  readonly signal: AbortSignal;
}

export type Method = (asking: Asking) => unknown;

function formattedOf(parameters: Parameters, name: "text" | "caption"): ReadText {
  const entities = objectOf(parameters, name === "text" ? "entities" : "caption_entities");
  return readFormatted(textOf(parameters, name), textOf(parameters, "parse_mode"), entities);
}

export function messageText(parameters: Parameters): ReadText {
  const formatted = formattedOf(parameters, "text");
  if (formatted.text === "") throw badRequest("message text is empty");
  if (formatted.text.length > MAX_TEXT) throw badRequest("message is too long");
  return formatted;
}

export function captionText(parameters: Parameters): ReadText {
  const formatted = formattedOf(parameters, "caption");
  if (formatted.text.length > MAX_CAPTION) throw badRequest("message caption is too long");
  return formatted;
}

/** Where it is sent, and what goes with whatever is sent. */
export interface Sending {
  readonly chat: Chat;
  readonly draft: {
    readonly from: number;
    readonly by: "bot";
    readonly buttons: readonly (readonly Button[])[];
    readonly forces_reply: boolean;
    readonly is_silent: boolean;
    readonly thread?: number;
    readonly reply_to?: number;
    readonly quote?: Quote;
  };
}

/** A reply without a topic goes to the topic of what it replies to. */
export function sendingOf({ world, parameters }: Asking): Sending {
  const markup = readMarkup(objectOf(parameters, "reply_markup"));
  const chat = findChat(world, parameters.values["chat_id"]);
  const named = topicOf(chat, parameters);
  const reply = replyOf(chat, parameters);
  const thread = named ?? findMessage(chat, reply.reply_to ?? 0)?.thread;
  if (thread !== undefined && chat.topics.get(thread)?.isClosed === true) throw badRequest("TOPIC_CLOSED");
  return {
    chat,
    draft: {
      from: world.bot.id,
      by: "bot",
      ...markup,
      is_silent: isTrue(parameters, "disable_notification"),
      ...(thread === undefined ? {} : { thread }),
      ...reply,
    },
  };
}

/** In supergroups without topics it is ignored; the general topic has a number, but nothing can be sent by it. */
export function topicOf({ type, is_forum, topics }: Chat, parameters: Parameters): number | undefined {
  const thread = Number(textOf(parameters, "message_thread_id") || 0);
  if (Number.isNaN(thread) || thread === 0 || (type !== "private" && !is_forum)) return undefined;
  if (thread === GENERAL_TOPIC || !topics.has(thread)) throw badRequest("message thread not found");
  return thread;
}

function replyOf(chat: Chat, parameters: Parameters): { reply_to?: number; quote?: Quote } {
  const given = objectOf(parameters, "reply_parameters");
  if (given !== undefined && (typeof given !== "object" || given === null || Array.isArray(given)))
    throw badRequest("object expected as reply parameters");
  const { message_id, quote, allow_sending_without_reply } = (given ?? {}) as Readonly<Record<string, unknown>>;
  const wanted = message_id ?? (textOf(parameters, "reply_to_message_id") || undefined);
  if (wanted === undefined) return {};
  const replied = findMessage(chat, wanted);
  if (replied !== undefined) return { reply_to: replied.message_id, ...quoteOf(replied, quote) };
  if (allow_sending_without_reply === true || isTrue(parameters, "allow_sending_without_reply")) return {};
  throw badRequest("message to be replied not found");
}

function quoteOf({ text }: Stored, quote: unknown): { quote?: Quote } {
  if (typeof quote !== "string" || quote === "") return {};
  const position = text.indexOf(quote);
  if (position === -1) throw badRequest("QUOTE_TEXT_INVALID");
  return { quote: { text: quote, position, is_manual: true } };
}
