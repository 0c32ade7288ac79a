/** Who is there and what was said, in the words of the Bot API. */
import { mediaOnWire } from "./media/files.ts";
import { forwardOnWire } from "./origins.ts";
import { enter, findMessage } from "./world.ts";
import type { Chat, Person, Stored, World } from "./world.ts";

export function personOnWire(person: Person): object {
  return { ...person, is_bot: person.is_bot ?? false, first_name: person.first_name ?? "" };
}

export function chatOnWire(world: World, { id, type, title, is_forum }: Chat): object {
  if (type !== "private") return { id, type, title, ...(is_forum ? { is_forum } : {}) };
  const { first_name, last_name, username } = world.people.get(id) ?? {};
  return {
    id,
    type,
    first_name,
    ...(last_name === undefined ? {} : { last_name }),
    ...(username === undefined ? {} : { username }),
  };
}

export function botOnWire({ bot }: World): object {
  return { id: bot.id, is_bot: true, first_name: "Fake bot", username: bot.username };
}

export function messageOnWire(world: World, message: Stored, depth = 0): object {
  const chat = enter(world, message.chat);
  const { media, entities, text, content, forwarded_from, media_group_id } = message;
  const said =
    media === undefined
      ? { text, ...some("entities", entities) }
      : { ...mediaOnWire(media), ...some("caption", text), ...some("caption_entities", entities) };
  return {
    message_id: message.message_id,
    date: message.date,
    chat: chatOnWire(world, chat),
    from:
      message.by === "bot" ? botOnWire(world) : personOnWire(world.people.get(message.from) ?? { id: message.from }),
    ...(message.before.length === 0 ? {} : { edit_date: Math.floor(world.now() / 1000) }),
    ...(content ?? said),
    ...(media_group_id === undefined ? {} : { media_group_id }),
    ...threadOnWire(chat, message),
    ...(depth > 0 ? {} : replyOnWire(world, chat, message)),
    ...(forwarded_from === undefined ? {} : originOnWire(world, message)),
    ...message.beside,
    ...(message.buttons.length === 0 ? {} : { reply_markup: { inline_keyboard: message.buttons } }),
  };
}

function some(name: string, value: string | readonly unknown[]): object {
  return value.length === 0 ? {} : { [name]: value };
}

/** Replies in a supergroup without topics have a thread too: the message that the first of them replied to. */
function threadOnWire(chat: Chat, { thread, reply_to }: Stored): object {
  if (thread !== undefined) return { message_thread_id: thread, is_topic_message: true };
  if (chat.type !== "supergroup" || chat.is_forum || reply_to === undefined) return {};
  return { message_thread_id: rootOf(chat, reply_to) };
}

function rootOf(chat: Chat, message_id: number): number {
  const before = chat.messages.find((message) => message.message_id === message_id)?.reply_to;
  return before === undefined ? message_id : rootOf(chat, before);
}

/** What is said in a topic and replies to nothing replies to the message that opened the topic. */
function replyOnWire(world: World, chat: Chat, { reply_to, thread, quote }: Stored): object {
  const replied = findMessage(chat, reply_to ?? thread ?? 0);
  return {
    ...(replied === undefined ? {} : { reply_to_message: messageOnWire(world, replied, 1) }),
    ...(replied === undefined || quote === undefined ? {} : { quote }),
  };
}

function originOnWire(world: World, { forwarded_from, forwarded_as, date }: Stored): object {
  const chat = enter(world, forwarded_from?.chat ?? 0);
  const source = chat.messages.find(({ message_id }) => message_id === forwarded_from?.message_id);
  const sender =
    source?.by === "person" ? personOnWire(world.people.get(source.from) ?? { id: source.from }) : botOnWire(world);
  const message_id = forwarded_from?.message_id ?? 0;
  return forwardOnWire({ sender, chat: chatOnWire(world, chat), message_id, date: source?.date ?? date }, forwarded_as);
}
