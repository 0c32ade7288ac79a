/** Who is there, what was said, and what of it can be seen. */
import type { Entity } from "./formatted.ts";
import { forwardOnWire } from "./origins.ts";
import type { ForwardedAs } from "./origins.ts";
import { badRequest, Refusal } from "./refusal.ts";

export interface Person {
  readonly id: number;
  readonly first_name?: string;
  readonly username?: string;
  readonly is_bot?: boolean;
}

export interface Button {
  readonly text: string;
  readonly callback_data?: string;
  readonly url?: string;
}

interface SentDocument {
  readonly file_id: string;
  readonly file_name: string;
  readonly mime_type: string;
  readonly content: Buffer;
}

/** A message as whoever is in the chat sees it now. */
export interface ChatMessage {
  readonly message_id: number;
  readonly chat: number;
  readonly from: number;
  readonly by: "bot" | "person";
  /** In seconds, as Telegram has it. */
  readonly date: number;
  /** For a document, its caption. */
  readonly text: string;
  readonly entities: readonly Entity[];
  readonly buttons: readonly (readonly Button[])[];
  readonly document?: SentDocument;
  readonly reply_to?: number;
  readonly is_silent: boolean;
  /** Of the one that it is a copy of. */
  readonly forwarded_from?: { readonly chat: number; readonly message_id: number };
  /** What the copy says of whom it is from. */
  readonly forwarded_as?: ForwardedAs;
  /** What it said before, oldest first. */
  readonly before: readonly string[];
}

export interface Stored extends ChatMessage {
  isDeleted: boolean;
  /** What else a person's message has: a photo, a sticker. */
  readonly content?: object;
  /** What stands beside text or content on the wire: `via_bot`, `quote`, `sender_chat` … */
  readonly beside?: object;
}

export interface Chat {
  readonly id: number;
  readonly type: "private" | "group" | "supergroup" | "channel";
  readonly messages: Stored[];
}

export interface Query {
  readonly id: string;
  readonly from: number;
  readonly asked_at_ms: number;
  /** What the person was shown in return; undefined: the button still turns. */
  answer?: { readonly text: string; readonly show_alert: boolean };
}

export interface World {
  readonly bot: { readonly id: number; readonly username: string };
  readonly people: Map<number, Person>;
  readonly chats: Map<number, Chat>;
  readonly blocked: Set<number>;
  readonly queries: Map<string, Query>;
  readonly documents: Map<string, SentDocument>;
  readonly commands: { list: readonly { readonly command: string; readonly description: string }[] };
  readonly webhook: { url: string };
  nextMessage: number;
  /** Milliseconds since the epoch. */
  now(): number;
}

export function createWorld(bot: World["bot"], now: () => number): World {
  return {
    bot,
    people: new Map(),
    chats: new Map(),
    blocked: new Set(),
    queries: new Map(),
    documents: new Map(),
    commands: { list: [] },
    webhook: { url: "" },
    nextMessage: 1,
    now,
  };
}

/** A person is known, and may be written to, from their first message on. */
export function meet(world: World, person: number | Person): Person {
  const given = typeof person === "number" ? { id: person } : person;
  const known: Person = { first_name: `Person ${given.id}`, is_bot: false, ...world.people.get(given.id), ...given };
  world.people.set(known.id, known);
  return known;
}

/** Chats of people have their ids; those of groups are below zero. */
export function enter(world: World, id: number, kind?: "channel"): Chat {
  const known = world.chats.get(id);
  if (known !== undefined) return known;
  const type = id > 0 ? "private" : id < -1_000_000_000_000 ? "supergroup" : "group";
  const chat: Chat = { id, type: kind ?? type, messages: [] };
  world.chats.set(id, chat);
  return chat;
}

/** The chat that a bot means, if it may write there. */
export function findChat(world: World, chat_id: unknown): Chat {
  if (chat_id === undefined || chat_id === "") throw badRequest("chat_id is empty");
  const chat = world.chats.get(Number(chat_id));
  if (chat === undefined) throw badRequest("chat not found");
  if (world.blocked.has(chat.id))
    throw new Refusal(
      403,
      chat.id > 0 ? "Forbidden: bot was blocked by the user" : "Forbidden: bot was kicked from the group chat",
    );
  return chat;
}

export function findMessage(chat: Chat, message_id: unknown): Stored | undefined {
  return chat.messages.find((message) => message.message_id === Number(message_id) && !message.isDeleted);
}

type Draft = Pick<Stored, "from" | "by" | "text"> & Partial<Stored>;

export function post(world: World, chat: Chat, draft: Draft): Stored {
  const message: Stored = {
    message_id: world.nextMessage++,
    chat: chat.id,
    date: Math.floor(world.now() / 1000),
    entities: [],
    buttons: [],
    is_silent: false,
    before: [],
    isDeleted: false,
    ...draft,
  };
  chat.messages.push(message);
  return message;
}

/** Puts the changed one in its place. */
export function change(chat: Chat, message: Stored, by: Partial<Stored>): Stored {
  const changed = { ...message, ...by };
  chat.messages[chat.messages.indexOf(message)] = changed;
  return changed;
}

export function personOnWire(person: Person): object {
  return { ...person, is_bot: person.is_bot ?? false, first_name: person.first_name ?? "" };
}

export function chatOnWire(world: World, { id, type }: Chat): object {
  const { first_name, username } = world.people.get(id) ?? {};
  if (type !== "private") return { id, type, title: `${type === "channel" ? "Channel" : "Group"} ${id}` };
  return { id, type, first_name, ...(username === undefined ? {} : { username }) };
}

export function botOnWire({ bot }: World): object {
  return { id: bot.id, is_bot: true, first_name: "Fake bot", username: bot.username };
}

export function messageOnWire(world: World, message: Stored, depth = 0): object {
  const chat = enter(world, message.chat);
  const { document, entities, text, content, forwarded_from } = message;
  const replied = message.reply_to === undefined || depth > 0 ? undefined : findMessage(chat, message.reply_to);
  const said =
    document === undefined
      ? { text, ...some("entities", entities) }
      : { ...some("caption", text), ...some("caption_entities", entities) };
  return {
    message_id: message.message_id,
    date: message.date,
    chat: chatOnWire(world, chat),
    from:
      message.by === "bot" ? botOnWire(world) : personOnWire(world.people.get(message.from) ?? { id: message.from }),
    ...(message.before.length === 0 ? {} : { edit_date: Math.floor(world.now() / 1000) }),
    ...(content ?? said),
    ...(document === undefined ? {} : { document: documentOnWire(document) }),
    ...(replied === undefined ? {} : { reply_to_message: messageOnWire(world, replied, depth + 1) }),
    ...(forwarded_from === undefined ? {} : originOnWire(world, message)),
    ...message.beside,
    ...(message.buttons.length === 0 ? {} : { reply_markup: { inline_keyboard: message.buttons } }),
  };
}

function some(name: string, value: string | readonly unknown[]): object {
  return value.length === 0 ? {} : { [name]: value };
}

function originOnWire(world: World, { forwarded_from, forwarded_as, date }: Stored): object {
  const chat = enter(world, forwarded_from?.chat ?? 0);
  const source = chat.messages.find(({ message_id }) => message_id === forwarded_from?.message_id);
  const sender =
    source?.by === "person" ? personOnWire(world.people.get(source.from) ?? { id: source.from }) : botOnWire(world);
  const message_id = forwarded_from?.message_id ?? 0;
  return forwardOnWire({ sender, chat: chatOnWire(world, chat), message_id, date: source?.date ?? date }, forwarded_as);
}

function documentOnWire({ file_id, file_name, mime_type, content }: SentDocument): object {
  return { file_id, file_unique_id: `u${file_id}`, file_name, mime_type, file_size: content.length };
}
