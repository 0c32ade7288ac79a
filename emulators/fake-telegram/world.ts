/** Who is there, what was said, and what of it can be seen. */
import type { Entity } from "./formatting/formatted.ts";
import type { Files, Media, StoredFile } from "./media/files.ts";
import type { ForwardedAs } from "./origins.ts";
import { badRequest, Refusal } from "./refusal.ts";

export interface Person {
  readonly id: number;
  readonly first_name?: string;
  readonly last_name?: string;
  readonly username?: string;
  readonly language_code?: string;
  readonly is_bot?: boolean;
}

export interface Button {
  readonly text: string;
  readonly callback_data?: string;
  readonly url?: string;
}

/** What was marked in the message that is replied to. */
export interface Quote {
  readonly text: string;
  /** In UTF-16 units, in the text that is replied to. */
  readonly position: number;
  readonly is_manual: true;
}

/** A message as the people in the chat see it now. */
export interface ChatMessage {
  readonly message_id: number;
  readonly chat: number;
  /** The topic; undefined in the general one, and where there are none. */
  readonly thread?: number;
  readonly from: number;
  readonly by: "bot" | "person";
  /** In seconds, as Telegram has it. */
  readonly date: number;
  /** With a file, its caption. */
  readonly text: string;
  readonly entities: readonly Entity[];
  /** Entities that the bot gave and Telegram dropped or cut. */
  readonly altered_entities: readonly Entity[];
  readonly buttons: readonly (readonly Button[])[];
  readonly media?: Media;
  /** The file of `media`, where it is one of these. */
  readonly document?: StoredFile;
  readonly photo?: StoredFile;
  /** Instead of text or a file, in the words of the Bot API: a place, a poll, a service message. */
  readonly content?: object;
  /** Those of an album have the same. */
  readonly media_group_id?: string;
  readonly reply_to?: number;
  readonly quote?: Quote;
  /** The app opens the field for a reply to it. */
  readonly forces_reply: boolean;
  /** It came without a sound. */
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
  /** What stands beside text or content on the wire: `via_bot`, `sender_chat` … */
  readonly beside?: object;
}

interface Topic {
  readonly name: string;
  isClosed: boolean;
}

export interface Chat {
  readonly id: number;
  readonly type: "private" | "group" | "supergroup" | "channel";
  title: string;
  readonly messages: Stored[];
  is_forum: boolean;
  /** By the message that opened it. */
  readonly topics: Map<number, Topic>;
  /** It became a supergroup, which has this id. */
  migrated_to?: number;
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
  readonly files: Files;
  readonly commands: { list: readonly { readonly command: string; readonly description: string }[] };
  readonly webhook: { url: string };
  /** Whether the bot gets only what is meant for it in groups. */
  readonly privacy: { isOn: boolean };
  nextMessage: number;
  nextAlbum: number;
  /** Milliseconds since the epoch. */
  now(): number;
}

export function createWorld({ bot, privacy, now }: Pick<World, "bot" | "privacy" | "now">): World {
  return {
    bot,
    people: new Map(),
    chats: new Map(),
    blocked: new Set(),
    queries: new Map(),
    files: { byId: new Map(), links: new Map() },
    commands: { list: [] },
    webhook: { url: "" },
    privacy,
    nextMessage: 1,
    nextAlbum: 1,
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

/** Chats of people have their ids; those of groups are below zero, of supergroups and channels below -1000000000000. */
export function enter(world: World, id: number, kind?: "channel"): Chat {
  const known = world.chats.get(id);
  if (known !== undefined) return known;
  const type = kind ?? (id > 0 ? "private" : id < -1_000_000_000_000 ? "supergroup" : "group");
  const title = `${type === "channel" ? "Channel" : "Group"} ${id}`;
  const chat: Chat = { id, type, title, messages: [], is_forum: false, topics: new Map() };
  world.chats.set(id, chat);
  return chat;
}

// oxfmt-ignore
const LEFT = {
  private:    "bot was blocked by the user",
  group:      "bot was kicked from the group chat",
  supergroup: "bot was kicked from the supergroup chat",
  channel:    "bot was kicked from the channel chat",
} as const;

/** The chat that a bot means, if it may write there. */
export function findChat(world: World, chat_id: unknown, to: "read" | "write" = "write"): Chat {
  if (chat_id === undefined || chat_id === "") throw badRequest("chat_id is empty");
  const chat = world.chats.get(Number(chat_id));
  if (chat === undefined) throw badRequest("chat not found");
  if (chat.migrated_to !== undefined && to === "write")
    throw new Refusal(400, "Bad Request: group chat was upgraded to a supergroup chat", {
      migrate_to_chat_id: chat.migrated_to,
    });
  if (world.blocked.has(chat.id)) throw new Refusal(403, `Forbidden: ${LEFT[chat.type]}`);
  return chat;
}

export function findMessage(chat: Chat, message_id: unknown): Stored | undefined {
  return chat.messages.find((message) => message.message_id === Number(message_id) && !message.isDeleted);
}

type Draft = Pick<Stored, "from" | "by" | "text"> & Partial<Stored>;

export function post(world: World, chat: Chat, draft: Draft): Stored {
  const { media } = draft;
  const message: Stored = {
    message_id: numberFor(world, chat),
    chat: chat.id,
    date: Math.floor(world.now() / 1000),
    entities: [],
    altered_entities: [],
    buttons: [],
    forces_reply: false,
    is_silent: false,
    before: [],
    isDeleted: false,
    ...draft,
    ...(media?.kind === "document" ? { document: media.file } : {}),
    ...(media?.kind === "photo" ? { photo: media.file } : {}),
  };
  chat.messages.push(message);
  return message;
}

/** Supergroups and channels count their own messages; in all other chats of the bot it is one count. */
function numberFor(world: World, { type, messages }: Chat): number {
  if (type === "private" || type === "group") return world.nextMessage++;
  return (messages.at(-1)?.message_id ?? 1) + 1; // 1 was the message that the group was made
}

/** Puts the changed one in its place. */
export function change(chat: Chat, message: Stored, by: Partial<Stored>): Stored {
  const changed = { ...message, ...by };
  chat.messages[chat.messages.indexOf(message)] = changed;
  return changed;
}
