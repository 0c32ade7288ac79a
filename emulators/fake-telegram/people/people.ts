/** What people do in their app, and the updates that come of it. */
import { placeholderOf } from "../origins.ts";
import type { ForwardedAs } from "../origins.ts";
import type { Updates } from "../updates.ts";
import { chatOnWire, messageOnWire } from "../wire.ts";
import { change, enter, findMessage, meet, post } from "../world.ts";
import type { ChatMessage, Person, Query, World } from "../world.ts";
import { createTopic, migrate, setTopicClosed, SOMEONE } from "./groups.ts";
import type { Tell, TopicInput } from "./groups.ts";
import { invite, press, setMember } from "./pressing.ts";
import type { InvitationInput, Pressing } from "./pressing.ts";
import { entitiesIn, paste, say, send, sendAlbum } from "./saying.ts";
import type { Album, Pasting, Saying, Sending } from "./saying.ts";

interface Forwarding {
  readonly user?: number | Person;
  readonly chat?: number;
  readonly message_id: number;
  readonly to: number;
  /** A topic of that chat. */
  readonly thread?: number;
  /** How the origin is marked; a sender may hide their account. Default: by name and account. */
  readonly as?: ForwardedAs;
}

export interface People {
  /** Gives the message. The bot gets an update unless its `allowed_updates` or privacy mode leave it out. */
  say(saying: Saying): ChatMessage;
  /** Says a text of any length, in as many messages as the apps make of it. */
  paste(pasting: Pasting): readonly ChatMessage[];
  /** Sends a file or another thing: `{ kind: "photo", content: bytes, caption }`, `{ kind: "dice" }`. */
  send(sending: Sending): ChatMessage;
  /** Several files at once: a message and an update for each. */
  album(album: Album): readonly ChatMessage[];
  edit(edited: { readonly chat?: number; readonly message_id: number; readonly text: string }): ChatMessage;
  /** Presses a button below a message; gives the query, which has the `answer` once the bot gave one. */
  press(pressing: Pressing): Query;
  forward(forwarding: Forwarding): ChatMessage;
  /** Posts in a channel that the bot is in. */
  publish(post: { readonly chat: number; readonly text: string }): ChatMessage;
  /** Gives its number, for `thread`. */
  createTopic(topic: TopicInput): number;
  closeTopic(topic: { readonly chat: number; readonly thread: number }): void;
  reopenTopic(topic: { readonly chat: number; readonly thread: number }): void;
  /** Sets names of a person, for all that they say from now on. */
  introduce(person: Person): void;
  /** Adds the bot to a group, which may be given its title; removes it. */
  invite(invitation: InvitationInput): void;
  kick(kicked: { readonly user?: number | Person; readonly chat: number }): void;
  /** Makes a group a supergroup: gives its new id. The old one takes nothing any more. */
  migrate(migration: { readonly user?: number | Person; readonly chat: number }): number;
  /** Whether the bot gets only what is meant for it in groups, as @BotFather sets it. */
  setPrivacy(isOn: boolean): void;
  /** As another program of the same bot would; "" removes it. */
  setWebhook(url: string): void;
  block(user: number): void;
  unblock(user: number): void;
}

export function createPeople(world: World, updates: Updates, onChange: () => void): People {
  const tell: Tell = (kind, content) => {
    const isHidden = (kind === "message" || kind === "edited_message") && !isForBot(world, content);
    const update = isHidden ? undefined : updates.push(kind, content);
    onChange();
    return update;
  };
  return {
    say: (saying) => say(world, saying, tell),
    paste: (pasting) => paste(world, pasting, tell),
    send: (sending) => send(world, sending, tell),
    album: (album) => sendAlbum(world, album, tell),
    edit: ({ chat = SOMEONE, message_id, text }) => {
      const place = enter(world, chat);
      const message = findMessage(place, message_id);
      if (message === undefined || message.by !== "person")
        throw new Error(`Cannot edit message ${message_id} of chat ${chat}: no person said it`);
      const changed = change(place, message, {
        text,
        entities: entitiesIn(text),
        before: [...message.before, message.text],
      });
      tell("edited_message", messageOnWire(world, changed));
      return changed;
    },
    press: (pressing) => press(world, pressing, tell),
    forward: (forwarding) => forward(world, forwarding, tell),
    publish({ chat, text }) {
      const place = enter(world, chat, "channel");
      const message = post(world, place, { from: chat, by: "person", text, entities: entitiesIn(text) });
      const { from: _sender, ...wire } = messageOnWire(world, message) as { readonly from?: unknown };
      tell("channel_post", { ...wire, sender_chat: chatOnWire(world, place) });
      return message;
    },
    createTopic: (topic) => createTopic(world, topic, tell),
    closeTopic: (topic) => setTopicClosed(world, { ...topic, isClosed: true }, tell),
    reopenTopic: (topic) => setTopicClosed(world, { ...topic, isClosed: false }, tell),
    introduce: (person) => void meet(world, person),
    invite: (invitation) => invite(world, invitation, tell),
    kick: ({ user = SOMEONE, chat }) => void setMember(world, { user, chat, isIn: false }, tell),
    migrate: (migration) => migrate(world, migration, tell),
    setPrivacy(isOn) {
      world.privacy.isOn = isOn;
    },
    setWebhook(url) {
      world.webhook.url = url;
      if (url !== "") updates.endPoll("Conflict: terminated by setWebhook request");
    },
    block: (user) => void setMember(world, { user, chat: user, isIn: false }, tell),
    unblock: (user) => void setMember(world, { user, chat: user, isIn: true }, tell),
  };
}

function forward(
  world: World,
  { user = SOMEONE, chat = SOMEONE, message_id, to, thread, as }: Forwarding,
  tell: Tell,
): ChatMessage {
  const source = findMessage(enter(world, chat), message_id);
  if (source === undefined) throw new Error(`Cannot forward message ${message_id} of chat ${chat}: it is not there`);
  const person = meet(world, user);
  const { text, entities, media, content } = source;
  // Buttons that ask the bot are not forwarded.
  const copy = post(world, enter(world, to), {
    from: person.id,
    by: "person",
    text,
    entities,
    ...(thread === undefined ? {} : { thread }),
    forwarded_from: source.forwarded_from ?? { chat, message_id },
    ...(as === undefined ? {} : { forwarded_as: as }),
    ...(as === "automatic" ? { beside: placeholderOf(as, chatOnWire(world, enter(world, chat))) } : {}),
    ...(media === undefined ? {} : { media }),
    ...(content === undefined ? {} : { content }),
  });
  tell("message", messageOnWire(world, copy));
  return copy;
}

/** Marks of what the app writes by itself; every bot gets these. */
const SERVICE =
  /^(?:new_chat_|left_chat_member|delete_chat_photo|group_chat_created|supergroup_chat_created|migrate_|pinned_message|forum_topic_|general_forum_topic_|video_chat_|message_auto_delete)/;

interface GroupMessage {
  readonly chat?: { readonly type?: string };
  readonly text?: string;
  readonly caption?: string;
  readonly via_bot?: { readonly id?: number };
  readonly reply_to_message?: { readonly from?: { readonly id?: number }; readonly forum_topic_created?: object };
}

/** Whether the bot gets it: commands that name no other bot, its name, replies to it, what was sent by it inline. */
function isForBot({ bot, privacy }: World, content: unknown): boolean {
  const message = (content ?? {}) as GroupMessage;
  const isGroup = message.chat?.type === "group" || message.chat?.type === "supergroup";
  if (!isGroup || !privacy.isOn) return true;
  if (Object.keys(message).some((name) => SERVICE.test(name))) return true;
  const text = (message.text ?? message.caption ?? "").toLowerCase();
  const name = bot.username.toLowerCase();
  const [, isCommand, named] = /^(\/\w+)(?:@(\w+))?/.exec(text) ?? [];
  if (isCommand !== undefined && (named === undefined || named === name)) return true;
  if (Array.from(text.matchAll(/(?<![\w/@])@(\w+)/g)).some(([, mentioned]) => mentioned === name)) return true;
  const { reply_to_message: replied, via_bot } = message;
  return via_bot?.id === bot.id || (replied?.from?.id === bot.id && replied.forum_topic_created === undefined);
}
