/** What people say: words, files and other things, in one message or in several. */
import type { Entity } from "../formatting/formatted.ts";
import { isMediaKind, keepMedia, sampleOf } from "../media/files.ts";
import type { Media, MediaContent, MediaKind } from "../media/files.ts";
import { readPicture } from "../media/images.ts";
import { isThing, THINGS } from "../media/things.ts";
import type { Thing } from "../media/things.ts";
import { placeholderOf } from "../origins.ts";
import { chatOnWire, messageOnWire } from "../wire.ts";
import { enter, findMessage, meet, post } from "../world.ts";
import type { Chat, ChatMessage, Person, Quote, Stored, World } from "../world.ts";
import { SOMEONE } from "./groups.ts";
import type { Tell } from "./groups.ts";

const MAX_TEXT = 4096;

/** Who says it, and where. */
export interface Where {
  readonly user?: number | Person;
  /** The chat with the bot, when none is named. */
  readonly chat?: number;
  /** A topic of the chat; not said: the general one. */
  readonly thread?: number;
  /** In seconds. */
  readonly date?: number;
  readonly reply_to?: number;
  /** Words of the message that it replies to, marked in the reply. */
  readonly quote?: string;
  /** Beside it, in the words of the Bot API: `{ via_bot: { … } }`, `{ external_reply: { … } }`. */
  readonly beside?: object;
  /** In the name of the group itself, as anonymous administrators do, or of a channel. */
  readonly as?: "group" | "channel";
}

export interface Saying extends Where {
  readonly text?: string;
  /** Instead of a text, in the words of the Bot API: `{ sticker: { … } }`. */
  readonly content?: object;
}

interface MediaItem extends Partial<Omit<MediaContent, "content">> {
  readonly kind: MediaKind;
  /** Not said: a small one of its kind. */
  readonly content?: Buffer | string;
  readonly caption?: string;
}

/** A file, or a thing without one, such as a dice. */
export type Sending = Where & (MediaItem | { readonly kind: Thing });

/** The caption is that of the first one, as the apps do it. */
export interface Album extends Where {
  readonly items: readonly MediaItem[];
  readonly caption?: string;
}

export interface Pasting extends Where {
  readonly text: string;
}

export function say(world: World, saying: Saying, tell: Tell): ChatMessage {
  const { text = "", content } = saying;
  const said = text.trim();
  if (said === "" && content === undefined)
    throw new Error("Cannot say nothing: a message has a text or another content");
  if (said.length > MAX_TEXT)
    throw new Error(
      `Cannot say ${said.length} characters at once: an app sends at most ${MAX_TEXT} in a message (paste splits them)`,
    );
  const words = { text: said, entities: entitiesIn(said) };
  return put(world, saying, { ...words, ...(content === undefined ? {} : { content }) }, tell);
}

/** Says a text of any length, in as many messages as the apps would make of it. Only the first one is a reply. */
export function paste(world: World, { text, ...where }: Pasting, tell: Tell): readonly ChatMessage[] {
  const { reply_to: _, quote: __, ...rest } = where;
  return splitAsApps(text).map((part, index) => say(world, { ...(index === 0 ? where : rest), text: part }, tell));
}

export function send(world: World, sending: Sending, tell: Tell): ChatMessage {
  if (isItem(sending))
    return put(world, sending, { ...captionOf(sending.caption), media: mediaFor(world, sending) }, tell);
  if (!isThing(sending.kind)) throw new Error(`Cannot send a "${String(sending["kind"])}": unknown kind`);
  return put(world, sending, { text: "", content: THINGS[sending.kind] }, tell);
}

function isItem(sending: Sending): sending is Where & MediaItem {
  return isMediaKind(sending.kind);
}

export function sendAlbum(world: World, { items, caption, ...where }: Album, tell: Tell): readonly ChatMessage[] {
  const media_group_id = String(13_000_000_000 + world.nextAlbum++);
  return items.map((item, index) => {
    const words = captionOf(item.caption ?? (index === 0 ? caption : undefined));
    return put(world, where, { ...words, media: mediaFor(world, item), media_group_id }, tell);
  });
}

function captionOf(caption = ""): Pick<Stored, "text" | "entities"> {
  const text = caption.trim();
  if (text.length > MAX_TEXT)
    throw new Error(`Cannot send a caption of ${text.length} characters: at most ${MAX_TEXT}`);
  return { text, entities: entitiesIn(text) };
}

function mediaFor(world: World, item: MediaItem): Media {
  const { kind, content = sampleOf(kind) } = item;
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  if (kind === "photo" && readPicture(bytes) === undefined)
    throw new Error("Cannot send this as a photo: it is not a PNG, JPEG, GIF or WebP (send it as a document)");
  const { file_name, mime_type, file_size, about } = item;
  return keepMedia(world.files, kind, {
    content: bytes,
    ...(file_name === undefined ? {} : { file_name }),
    ...(mime_type === undefined ? {} : { mime_type }),
    ...(file_size === undefined ? {} : { file_size }),
    ...(about === undefined ? {} : { about }),
  });
}

type Words = Pick<Stored, "text"> & Partial<Stored>;

function put(world: World, where: Where, words: Words, tell: Tell): ChatMessage {
  const { user = SOMEONE, chat, thread, date, reply_to, quote, beside, as } = where;
  const person = meet(world, user);
  const place = enter(world, chat ?? person.id);
  if (place.migrated_to !== undefined)
    throw new Error(`Cannot say it in chat ${place.id}: it became supergroup ${place.migrated_to}`);
  if (world.blocked.has(place.id))
    throw new Error(
      `Cannot say it in chat ${place.id}: ${place.type === "private" ? "the person has blocked the bot; unblock it first" : "the bot was removed; invite it first"}`,
    );
  if (thread !== undefined && !place.topics.has(thread))
    throw new Error(`Cannot say it in topic ${thread} of chat ${place.id}: it is not there`);
  const message = post(world, place, {
    from: person.id,
    by: "person",
    beside: { ...beside, ...(as === undefined ? {} : placeholderOf(as, chatOnWire(world, place))) },
    ...(thread === undefined ? {} : { thread }),
    ...(date === undefined ? {} : { date }),
    ...(reply_to === undefined ? {} : { reply_to }),
    ...(quote === undefined ? {} : { quote: quoteIn(place, reply_to, quote) }),
    ...words,
  });
  tell("message", messageOnWire(world, message));
  return message;
}

function quoteIn(chat: Chat, reply_to: number | undefined, text: string): Quote {
  const position = findMessage(chat, reply_to ?? 0)?.text.indexOf(text) ?? -1;
  if (position === -1) throw new Error(`Cannot quote "${text}": message ${reply_to ?? "(none)"} does not have it`);
  return { text, position, is_manual: true };
}

/** Telegram marks what looks like a command or a name, wherever it stands. */
export function entitiesIn(text: string): readonly Entity[] {
  const found = (type: string, shape: RegExp): readonly Entity[] =>
    Array.from(text.matchAll(shape), ({ 0: { length }, index }) => ({ type, offset: index, length }));
  return [
    ...found("bot_command", /(?<![\w/])\/[a-z0-9_]{1,32}(?:@\w+)?(?![\w/])/gi),
    ...found("mention", /(?<![\w/@])@[a-z]\w{3,31}\b/gi),
  ].toSorted((one, other) => one.offset - other.offset);
}

/** How far back from the limit an app looks for a good place to split. */
const LOOKS_BACK = 300;
/** Where it splits best first: between paragraphs, lines, sentences, words. */
const BREAKS = [/\n\n/g, /\n/g, /[.!?]\s/g, /\s/g];

/** As Telegram's apps split a text that is too long for one message; the white space at the cut is lost. */
function splitAsApps(text: string): readonly string[] {
  const parts: string[] = [];
  for (let rest = text.trim(); rest !== "";) {
    const end = rest.length <= MAX_TEXT ? rest.length : placeToSplit(rest);
    parts.push(rest.slice(0, end).trimEnd());
    rest = rest.slice(end).trimStart();
  }
  return parts;
}

function placeToSplit(text: string): number {
  const from = MAX_TEXT - LOOKS_BACK;
  const tail = text.slice(from, MAX_TEXT);
  for (const shape of BREAKS) {
    const last = Array.from(tail.matchAll(shape)).at(-1);
    if (last !== undefined) return from + last.index + last[0].length;
  }
  return /[\ud800-\udbff]$/.test(tail) ? MAX_TEXT - 1 : MAX_TEXT;
}
