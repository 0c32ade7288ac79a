/** What people do in their app, and the updates that come of it. */
import { standInOf } from "../origins.ts";
import type { ForwardedAs } from "../origins.ts";
import type { Updates } from "../updates.ts";
import { chatOnWire, messageOnWire, personOnWire } from "../wire.ts";
import { change, enter, findMessage, meet, post } from "../world.ts";
import type { ChatMessage, Person, Query, World } from "../world.ts";
import { createTopic, setTopicClosed, SOMEONE } from "./groups.ts";
import type { Tell, TopicInput } from "./groups.ts";
import { entitiesIn, paste, say, send, sendAlbum } from "./saying.ts";
import type { Album, Pasting, Saying, Sending } from "./saying.ts";

interface Pressing {
  readonly user?: number | Person;
  readonly chat?: number;
  readonly message_id: number;
  /** The words on the button, or the beginning of them. */
  readonly button?: string;
  /** What the button carries. With `forged`, what a changed app would send. */
  readonly data?: string;
  readonly forged?: boolean;
}

interface Forwarding {
  readonly user?: number | Person;
  readonly chat?: number;
  readonly message_id: number;
  readonly to: number;
  /** What is told of whom it is from; a sender may hide their account. Default: all that is known. */
  readonly as?: ForwardedAs;
}

export interface People {
  /** Gives the message; whether the bot hears of it is for the bot to say (`allowed_updates`). */
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
  block(user: number): void;
  unblock(user: number): void;
}

export function createPeople(world: World, updates: Updates, onChange: () => void): People {
  const tell: Tell = (kind, content) => {
    const update = updates.push(kind, content);
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
      const { from: _nobody, ...wire } = messageOnWire(world, message) as { readonly from?: unknown };
      tell("channel_post", { ...wire, sender_chat: chatOnWire(world, place) });
      return message;
    },
    createTopic: (topic) => createTopic(world, topic, tell),
    closeTopic: (topic) => setTopicClosed(world, { ...topic, isClosed: true }, tell),
    reopenTopic: (topic) => setTopicClosed(world, { ...topic, isClosed: false }, tell),
    block: (user) => setBlocked(world, { user, isBlocked: true }, tell),
    unblock: (user) => setBlocked(world, { user, isBlocked: false }, tell),
  };
}

function forward(
  world: World,
  { user = SOMEONE, chat = SOMEONE, message_id, to, as }: Forwarding,
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
    forwarded_from: source.forwarded_from ?? { chat, message_id },
    ...(as === undefined ? {} : { forwarded_as: as }),
    ...(as === "automatic" ? { beside: standInOf(as, chatOnWire(world, enter(world, chat))) } : {}),
    ...(media === undefined ? {} : { media }),
    ...(content === undefined ? {} : { content }),
  });
  tell("message", messageOnWire(world, copy));
  return copy;
}

function press(
  world: World,
  { user = SOMEONE, chat, message_id, button, data, forged = false }: Pressing,
  tell: Tell,
): Query {
  const person = meet(world, user);
  const place = enter(world, chat ?? person.id);
  const message = findMessage(place, message_id);
  const buttons = message?.buttons.flat() ?? [];
  const found = buttons.find(({ text, callback_data }) =>
    data === undefined ? button !== undefined && text.startsWith(button) : callback_data === data,
  );
  const carried = forged ? data : found?.callback_data;
  if (carried === undefined) {
    const there = buttons.map(({ text }) => `"${text}"`).join(", ");
    throw new Error(
      `Cannot press "${button ?? data}" below message ${message_id} of chat ${place.id}: ${there === "" ? "it has no buttons" : `there are ${there}`}`,
    );
  }
  const query: Query = { id: String(7_000_000_000 + world.queries.size), from: person.id, asked_at_ms: world.now() };
  world.queries.set(query.id, query);
  tell("callback_query", {
    id: query.id,
    from: personOnWire(person),
    chat_instance: String(place.id),
    data: carried,
    // Of one that was deleted meanwhile only this is left.
    message:
      message === undefined ? { chat: chatOnWire(world, place), message_id, date: 0 } : messageOnWire(world, message),
  });
  return query;
}

function setBlocked(world: World, { user, isBlocked }: { user: number; isBlocked: boolean }, tell: Tell): void {
  if (world.blocked.has(user) === isBlocked) return;
  if (isBlocked) world.blocked.add(user);
  else world.blocked.delete(user);
  const bot = { id: world.bot.id, is_bot: true, first_name: "Fake bot", username: world.bot.username };
  const [before, after] = isBlocked ? ["member", "kicked"] : ["kicked", "member"];
  tell("my_chat_member", {
    chat: chatOnWire(world, enter(world, user)),
    from: personOnWire(meet(world, user)),
    date: Math.floor(world.now() / 1000),
    old_chat_member: { user: bot, status: before },
    new_chat_member: { user: bot, status: after },
  });
}
