import type { MaybeInaccessibleMessage, Message, Update } from "grammy/types";
import type { Address } from "../address.ts";
import type { TelegramQuotation } from "./quotations.ts";
import { isPassedOn, quotationsOf } from "./quotations.ts";

/** What somebody wrote, with only what is needed of it: it may be kept for a while. */
export interface Written extends Address {
  readonly kind: "written";
  readonly update_id: number;
  readonly message_id: number;
  readonly isPrivate: boolean;
  readonly user: number;
  /** Milliseconds since the epoch, by Telegram's clock. */
  readonly sent_at: number;
  /** Their own words. Redacted. Empty where there were none. */
  readonly text: string;
  /** Words of others that came with it: data, never commands. Redacted. */
  readonly quotations?: readonly TelegramQuotation[];
  /** What else was in it, which is not read: "photo", "sticker" … */
  readonly unread?: string;
}

/** A button that somebody pressed. */
export interface Pressed {
  readonly kind: "pressed";
  readonly update_id: number;
  readonly query_id: string;
  readonly user: number;
  readonly data: string;
  /** The message that carries the button. Undefined where Telegram does not say. */
  readonly on?: Address & { readonly message_id: number };
}

export type Incoming = Written | Pressed;

/** What is asked of Telegram. Edited messages and what is written in channels are not, and are not read when they come. */
export const WANTED_UPDATES = ["message", "callback_query"] as const satisfies readonly (keyof Update)[];

interface ReadOptions {
  /** The bot's own name, without `@`. */
  readonly bot: string;
  readonly redact: (text: string) => string;
}

/** Undefined where there is nothing in it for us. */
export function readUpdate(update: Update, options: ReadOptions): Incoming | undefined {
  const { update_id, message, callback_query } = update;
  if (message !== undefined) return readMessage(update_id, message, options);
  if (callback_query?.data === undefined) return undefined;
  const { id, from, data, message: on } = callback_query;
  return {
    kind: "pressed",
    update_id,
    query_id: id,
    user: from.id,
    data,
    ...(on === undefined ? {} : { on: { ...addressOfMessage(on), message_id: on.message_id } }),
  };
}

/** What a message may hold beside text. Whatever is not here (somebody joined, a title changed) is nobody's request. */
const UNREAD = [
  "photo",
  "document",
  "voice",
  "audio",
  "video",
  "video_note",
  "animation",
  "sticker",
  "venue", // has a location too
  "location",
  "contact",
  "poll",
  "checklist",
  "dice",
  "game",
  "story",
  "invoice",
  "paid_media",
  "giveaway",
] as const satisfies readonly (keyof Message)[];

function readMessage(update_id: number, message: Message, { bot, redact }: ReadOptions): Written | undefined {
  const { from, chat, date } = message;
  if (from === undefined || from.is_bot || chat.type === "channel") return undefined;
  // Said in the name of a group or a channel: `from` is then a stand-in, and who wrote it is not known.
  if (message.sender_chat !== undefined || message.is_automatic_forward === true) return undefined;
  const isPrivate = chat.type === "private";
  const unread = UNREAD.find((name) => message[name] !== undefined);
  const isOthers = isPassedOn(message);
  if (isOthers && !isPrivate) return undefined; // passed on to the group, not said to the bot
  const text = isOthers ? "" : addressedTo(bot, clean(message.text ?? message.caption ?? ""));
  const quotations = quotationsOf(message, (quoted) => redact(clean(quoted)));
  if (text === undefined || (text === "" && unread === undefined && !isOthers)) return undefined;
  if (isOthers && unread === undefined && quotations.length === 0) return undefined;
  return {
    kind: "written",
    update_id,
    ...addressOfMessage(message),
    message_id: message.message_id,
    isPrivate,
    user: from.id,
    sent_at: date * 1000,
    text: redact(text),
    ...(quotations.length === 0 ? {} : { quotations }),
    ...(unread === undefined ? {} : { unread: unread.replace("_", " ") }),
  };
}

/** Half a character, which no store keeps, and NUL, which ends text in many a place, are nothing that people type. */
function clean(text: string): string {
  return text.toWellFormed().replaceAll("\0", "").trim();
}

const COMMAND = /^\/([A-Za-z0-9_]+)@([A-Za-z0-9_]+)(?=\s|$)/;
const MENTION = /^@([A-Za-z0-9_]+)[\s,:]+/;

/** The text without the bot's name where that says for whom it is; undefined where it is for another bot. */
function addressedTo(bot: string, text: string): string | undefined {
  const isMe = (name: string | undefined): boolean => name?.toLowerCase() === bot.toLowerCase();
  const command = COMMAND.exec(text);
  if (command !== null) return isMe(command[2]) ? `/${command[1] ?? ""}${text.slice(command[0].length)}` : undefined;
  const mention = MENTION.exec(text);
  return mention !== null && isMe(mention[1]) ? text.slice(mention[0].length) : text;
}

/** A reply in a group without topics has a thread, too: only a message that is in a topic is answered in one. */
function addressOfMessage(message: MaybeInaccessibleMessage): Address {
  const { chat } = message;
  if (message.date === 0 || message.is_topic_message !== true) return { chat: chat.id };
  const { message_thread_id: thread } = message;
  return { chat: chat.id, ...(thread === undefined ? {} : { thread }) };
}
