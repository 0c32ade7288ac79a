import type { Chat, Message, MessageOrigin, User } from "grammy/types";
import { nameInHeading } from "../../../model/prompt/quoted.ts";
import type { Quotation } from "../../../model/prompt/quoted.ts";

/** Words of others in a message. */
export interface TelegramQuotation extends Quotation {
  /** It is all that the message says: forwarded, or written by another bot. */
  readonly isPassedOn?: true;
}

/** How forwards were marked before `forward_origin`; servers of one's own may still do so. */
interface OldForward {
  readonly forward_from?: User;
  readonly forward_from_chat?: Chat;
  readonly forward_sender_name?: string;
}

/** The text is not what the sender wrote: it was forwarded, in whatever way that is marked, or another bot made it. */
export function isPassedOn(message: Message): boolean {
  return message.via_bot !== undefined || isForwarded(message);
}

function isForwarded(message: Message): boolean {
  return Object.keys(message).some((name) => name.startsWith("forward_"));
}

/** All that the message carries of others, as data. `clean` is done to their words before they are quoted. */
export function quotationsOf(message: Message, clean: (text: string) => string): readonly TelegramQuotation[] {
  const found: TelegramQuotation[] = [];
  const add = (text: string | undefined, about: Omit<TelegramQuotation, "text">): void => {
    const cleaned = clean(text ?? "");
    if (cleaned !== "") found.push({ ...about, heading: clean(about.heading), text: cleaned });
  };
  const said = message.text ?? message.caption;
  if (isForwarded(message)) add(said, { heading: `Forwarded from ${forwarder(message)}`, isPassedOn: true });
  else if (message.via_bot !== undefined)
    add(said, { heading: `Written by the bot ${person(message.via_bot)}`, isPassedOn: true });
  const { quote, external_reply, reply_to_message: replied } = message;
  if (external_reply !== undefined) add(quote?.text, { heading: `Quoted from ${origin(external_reply.origin)}` });
  else if (replied !== undefined) {
    const words = quote?.text ?? replied.text ?? replied.caption;
    add(words, { heading: `In reply to ${whoSaid(replied)}` });
  } else add(quote?.text, { heading: "Quoted from another message" });
  return found;
}

/** Whose a message is that was passed on: `forwarded from "Eve" (user 7)`. Undefined where it is the sender's own. */
export function passedOnBy(message: Message): string | undefined {
  if (isForwarded(message)) return `forwarded from ${forwarder(message)}`;
  return message.via_bot === undefined ? undefined : `written by the bot ${person(message.via_bot)}`;
}

/** Whose message another one replies to. */
export function repliedTo({ external_reply, reply_to_message: replied }: Message): string {
  const whose = external_reply === undefined ? replied && whoSaid(replied) : origin(external_reply.origin);
  return `that this one replies to, from ${whose ?? hidden(undefined)}`;
}

function whoSaid(message: Message): string {
  return isForwarded(message) ? forwarder(message) : sender(message);
}

function forwarder(message: Message): string {
  if (message.forward_origin !== undefined) return origin(message.forward_origin);
  const { forward_from, forward_from_chat, forward_sender_name } = message as OldForward;
  if (forward_from !== undefined) return person(forward_from);
  if (forward_from_chat !== undefined) return chat(forward_from_chat);
  return hidden(forward_sender_name);
}

/** Kinds that Telegram adds later are like a sender who is not named. */
function origin(from: MessageOrigin): string {
  if (from.type === "user") return person(from.sender_user);
  if (from.type === "chat") return chat(from.sender_chat);
  if (from.type === "channel") return chat(from.chat);
  return hidden(from.sender_user_name);
}

function sender({ from, sender_chat }: Message): string {
  if (sender_chat !== undefined) return chat(sender_chat);
  return from === undefined ? hidden(undefined) : person(from);
}

function person({ id, is_bot, first_name, last_name, username }: User): string {
  const name = [first_name, last_name].filter((part) => part !== undefined).join(" ");
  return named(name, [is_bot ? `bot ${id}` : `user ${id}`, ...handle(username)]);
}

function chat({ id, type, title, first_name, username }: Chat): string {
  return named(title ?? first_name ?? "", [`${type} ${id}`, ...handle(username)]);
}

function hidden(name: string | undefined): string {
  return named(name ?? "", ["account hidden"]);
}

/** Telegram allows letters, digits and "_" in one. */
function handle(username: string | undefined): readonly string[] {
  return username === undefined || !/^\w{1,64}$/.test(username) ? [] : [`@${username}`];
}

function named(name: string, facts: readonly string[]): string {
  return `${nameInHeading(name)} (${facts.join(", ")})`;
}
