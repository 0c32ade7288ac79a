import type { MaybeInaccessibleMessage, Message, Update, User } from "grammy/types";
import type { Address } from "../address.ts";
import { isCommand } from "../talk/commands.ts";
import { readAddressing } from "./addressing.ts";
import type { Bot, GroupMode } from "./addressing.ts";
import { filesOf, unreadIn } from "./media.ts";
import type { SentFile } from "./media.ts";
import type { TelegramQuotation } from "./quotations.ts";
import { isPassedOn, quotationsOf } from "./quotations.ts";

/** A message of a person, with only what is needed of it: it may be kept for a while. */
export interface Written extends Address {
  readonly kind: "written";
  readonly update_id: number;
  readonly message_id: number;
  readonly isPrivate: boolean;
  /** In a group, and nothing says that it is for the bot: it counts only as a part of an album or text that is. */
  readonly isUnaddressed?: true;
  readonly user: number;
  /** The name that they gave themselves: data. Redacted. */
  readonly name?: string;
  readonly username?: string;
  /** Milliseconds since the epoch, by Telegram's clock. */
  readonly sent_at: number;
  /** Their own words. Redacted. Empty where there were none. */
  readonly text: string;
  /** The message of this chat that it replies to. */
  readonly reply_to?: number;
  /** Words of others that came with it: data, never commands. Redacted. */
  readonly quotations?: readonly TelegramQuotation[];
  /** What came with it, and with the message that it replies to. */
  readonly files?: readonly SentFile[];
  /** The album that it is a part of. */
  readonly album?: string;
  /** Of a long text, its length as it was sent: the app may have split what was pasted. */
  readonly long?: number;
  /** It has the bot's name and nothing else. */
  readonly isNameOnly?: true;
  /** What else was in it, which is not read: "sticker", "poll" … */
  readonly unread?: string;
}

interface ButtonMessage extends Address {
  readonly message_id: number;
  /** It stands in a group that has become a supergroup since: it cannot be changed, nor replied to. */
  readonly isLeft?: boolean;
}

/** The press of a button. */
export interface Pressed {
  readonly kind: "pressed";
  readonly update_id: number;
  readonly query_id: string;
  readonly user: number;
  /** The name that they gave themselves: data. Redacted. */
  readonly name?: string;
  readonly data: string;
  /** The message that carries the button. Undefined where Telegram does not say. */
  readonly on?: ButtonMessage;
}

export type Incoming = Written | Pressed;

/** What is asked of Telegram. Edited messages and what is written in channels are not, and are not read when they come. */
export const WANTED_UPDATES = ["message", "callback_query"] as const satisfies readonly (keyof Update)[];

interface ReadOptions {
  readonly bot: Bot;
  readonly groups: GroupMode;
  readonly redact: (text: string) => string;
}

/** Undefined where there is nothing in it for us. */
export function readUpdate(update: Update, options: ReadOptions): Incoming | undefined {
  const { update_id, message, callback_query } = update;
  if (message !== undefined) return readMessage(update_id, message, options);
  if (callback_query?.data === undefined) return undefined;
  const { id, from, data, message: on } = callback_query;
  const { redact } = options;
  return {
    kind: "pressed",
    update_id,
    query_id: id,
    user: from.id,
    name: nameOf(from, redact),
    data,
    ...(on === undefined ? {} : { on: { ...addressOfMessage(on), message_id: on.message_id } }),
  };
}

/** Apps split what is longer than 4096, between lines or words where they can, and never before the half of that. */
const LONG_TEXT = 2048;

function readMessage(update_id: number, message: Message, { bot, groups, redact }: ReadOptions): Written | undefined {
  const { from, chat, date } = message;
  if (from === undefined || from.is_bot || chat.type === "channel") return undefined;
  // Sent in the name of a group or a channel: `from` is then a placeholder, and the author is unknown.
  if (message.sender_chat !== undefined || message.is_automatic_forward === true) return undefined;
  const isPrivate = chat.type === "private";
  const unread = unreadIn(message);
  const isOthers = isPassedOn(message);
  if (isOthers && !isPrivate) return undefined; // passed on to the group, not said to the bot
  const addressing = readAddressing(message, { bot, groups, isCommand });
  if (addressing === undefined) return undefined;
  const { isAddressed } = addressing;
  if (!isAddressed && message.media_group_id === undefined && message.text === undefined) return undefined;
  const text = isOthers ? "" : clean(addressing.text);
  const cleaned = (quoted: string): string => redact(clean(quoted));
  const quotations = quotationsOf(message, cleaned);
  const files = filesOf(message, cleaned);
  const length = isOthers ? 0 : (message.text?.length ?? 0);
  const isNameOnly = text === "" && !isOthers && clean(message.text ?? "") !== "";
  if (text === "" && files.length === 0 && unread === undefined && !isOthers && !isNameOnly) return undefined;
  if (isOthers && files.length === 0 && unread === undefined && quotations.length === 0) return undefined;
  return {
    kind: "written",
    update_id,
    ...addressOfMessage(message),
    message_id: message.message_id,
    isPrivate,
    ...(isAddressed ? {} : { isUnaddressed: true }),
    user: from.id,
    ...namesOf(from, redact),
    sent_at: date * 1000,
    text: redact(text),
    ...(message.reply_to_message === undefined ? {} : { reply_to: message.reply_to_message.message_id }),
    ...(quotations.length === 0 ? {} : { quotations }),
    ...(files.length === 0 ? {} : { files }),
    ...(message.media_group_id === undefined ? {} : { album: message.media_group_id }),
    ...(length < LONG_TEXT ? {} : { long: length }),
    ...(isNameOnly ? { isNameOnly } : {}),
    ...(unread === undefined ? {} : { unread }),
  };
}

/** Half a character, which no store keeps, and NUL, which ends text in many a place, are nothing that people type. */
function clean(text: string): string {
  return text.toWellFormed().replaceAll("\0", "").trim();
}

const LONGEST_NAME = 100;

/** Names are what people call themselves; a username has only letters, digits and "_". */
function namesOf(user: User, redact: (text: string) => string): Pick<Written, "name" | "username"> {
  const { username } = user;
  const isHandle = username !== undefined && /^\w{1,64}$/.test(username);
  return { name: nameOf(user, redact), ...(isHandle ? { username } : {}) };
}

function nameOf({ first_name, last_name = "" }: User, redact: (text: string) => string): string {
  return redact(clean(`${first_name} ${last_name}`))
    .slice(0, LONGEST_NAME)
    .toWellFormed();
}

/** A reply in a group without topics has a thread, too: only a message that is in a topic is answered in one. */
function addressOfMessage(message: MaybeInaccessibleMessage): Address {
  const { chat } = message;
  if (message.date === 0 || message.is_topic_message !== true) return { chat: chat.id };
  const { message_thread_id: thread } = message;
  return { chat: chat.id, ...(thread === undefined ? {} : { thread }) };
}
