import type { Message, MessageEntity } from "grammy/types";

/** The bot that messages are for. */
export interface Bot {
  readonly id: number;
  /** Without `@`. */
  readonly username: string;
}

/** What of a group is read: what is for the bot, or all that allowed users write there. */
export type GroupMode = "addressed" | "all";

interface AddressingOptions {
  readonly bot: Bot;
  readonly groups: GroupMode;
  /** Whether `/name` is a command of the bot's own, which counts in groups without its name too. */
  readonly isCommand: (name: string) => boolean;
}

export interface Addressing {
  /** The text without the bot's name where that only says for whom it is. */
  readonly text: string;
  /** False: nothing in a group says that it is for the bot. */
  readonly isAddressed: boolean;
}

const COMMAND = /^\s*\/([A-Za-z0-9_]+)(?:@([A-Za-z0-9_]+))?(?=\s|$)/;

/** Undefined where it is for another bot. */
export function readAddressing(message: Message, options: AddressingOptions): Addressing | undefined {
  const { bot, groups, isCommand } = options;
  const isMe = (name: string): boolean => name.toLowerCase() === bot.username.toLowerCase();
  const text = message.text ?? message.caption ?? "";
  const isPrivate = message.chat.type === "private";
  const [command, name = "", named] = COMMAND.exec(text) ?? [];
  if (command !== undefined && named !== undefined)
    return isMe(named) ? { text: `/${name}${text.slice(command.length)}`, isAddressed: true } : undefined;
  const mentions = mentionsOf(message, text, { id: bot.id, isMe });
  const isAddressed =
    isPrivate ||
    groups === "all" ||
    mentions.length > 0 ||
    isReplyTo(message, bot) ||
    (command !== undefined && isCommand(name));
  return { text: withoutName(text, mentions), isAddressed };
}

interface Span {
  readonly from: number;
  readonly to: number;
}

interface Me {
  readonly id: number;
  readonly isMe: (name: string) => boolean;
}

/** Where the bot is named, in order. Names in code, addresses and the like are not marked by Telegram and do not count. */
function mentionsOf(message: Message, text: string, { id, isMe }: Me): readonly Span[] {
  const marked = (message.entities ?? message.caption_entities ?? []).flatMap((entity) => {
    const span = { from: entity.offset, to: entity.offset + entity.length };
    return isMention(entity, text.slice(span.from, span.to), { id, isMe }) ? [span] : [];
  });
  if (marked.length > 0) return marked.toSorted((one, other) => one.from - other.from);
  // Not every server marks it.
  const [first, username = ""] = /^\s*@([A-Za-z0-9_]+)(?=[\s,:]|$)/.exec(text) ?? [];
  return first !== undefined && isMe(username) ? [{ from: 0, to: first.length }] : [];
}

function isMention(entity: MessageEntity, words: string, { id, isMe }: Me): boolean {
  if (entity.type === "text_mention") return entity.user.id === id;
  if (entity.type === "mention") return isMe(words.slice(1));
  return entity.type === "bot_command" && isMe(words.split("@")[1] ?? "");
}

/** What is written in a topic replies to the message that opened the topic, also where the bot opened it. */
function isReplyTo({ reply_to_message: replied, is_topic_message, message_thread_id }: Message, bot: Bot): boolean {
  if (replied?.from?.id !== bot.id || replied.forum_topic_created !== undefined) return false;
  return is_topic_message !== true || replied.message_id !== message_thread_id;
}

/** A name at the beginning or the end says for whom it is; in the middle of a sentence it is a part of it. */
function withoutName(text: string, mentions: readonly Span[]): string {
  const [first] = mentions;
  if (first !== undefined && text.slice(0, first.from).trim() === "" && !text.startsWith("/", first.from)) {
    const rest = text.slice(first.to).replace(/^[\s,:]+/, "");
    if (rest !== "" || mentions.length === 1) return rest;
  }
  const last = mentions.at(-1);
  if (last === undefined || text.startsWith("/", last.from) || !/^[\s.!?]*$/.test(text.slice(last.to))) return text;
  return `${text.slice(0, last.from).replace(/[\s,]+$/, "")}${text.slice(last.to).trim()}`;
}
