/** What becomes of a group: topics, and a new id. */
import type { Update } from "../updates.ts";
import { messageOnWire } from "../wire.ts";
import { enter, meet, post } from "../world.ts";
import type { Chat, ChatMessage, Person, World } from "../world.ts";

export type Tell = (kind: string, content: unknown) => Update | undefined;

/** The person where none is named. */
export const SOMEONE = 42;

export interface TopicInput {
  readonly user?: number | Person;
  /** A supergroup; it becomes a forum if it is not one yet. */
  readonly chat: number;
  readonly name?: string;
}

interface ServiceMessage {
  readonly user: number | Person;
  readonly content: object;
  readonly thread?: number;
}

/** A service message, such as that a person joined. */
export function serviceMessage(
  world: World,
  chat: Chat,
  { user, content, thread }: ServiceMessage,
  tell: Tell,
): ChatMessage {
  const { id: from } = meet(world, user);
  const message = post(world, chat, {
    from,
    by: "person",
    text: "",
    content,
    ...(thread === undefined ? {} : { thread }),
  });
  tell("message", messageOnWire(world, message));
  return message;
}

/** Gives its number, which is that of the message that opened it. */
export function createTopic(world: World, { user = SOMEONE, chat, name = "A topic" }: TopicInput, tell: Tell): number {
  const place = enter(world, chat);
  if (place.type !== "supergroup")
    throw new Error(`Cannot open a topic in chat ${chat}: it is a ${place.type}, and only supergroups have topics`);
  place.is_forum = true;
  const { id: from } = meet(world, user);
  const content = { forum_topic_created: { name, icon_color: 7_322_096 } };
  const opening = post(world, place, { from, by: "person", text: "", content });
  const thread = opening.message_id;
  place.topics.set(thread, { name, isClosed: false });
  place.messages[place.messages.indexOf(opening)] = { ...opening, thread };
  tell("message", messageOnWire(world, { ...opening, thread }));
  return thread;
}

export function setTopicClosed(
  world: World,
  { user = SOMEONE, chat, thread, isClosed }: Omit<TopicInput, "name"> & { thread: number; isClosed: boolean },
  tell: Tell,
): void {
  const place = enter(world, chat);
  const topic = place.topics.get(thread);
  if (topic === undefined)
    throw new Error(`Cannot ${isClosed ? "close" : "reopen"} topic ${thread} of chat ${chat}: it does not exist`);
  topic.isClosed = isClosed;
  const content = isClosed ? { forum_topic_closed: {} } : { forum_topic_reopened: {} };
  serviceMessage(world, place, { user, content, thread }, tell);
}

/** Where the ids of supergroups begin. */
const SUPERGROUPS = -1_000_000_000_000;

/** Gives the new id. Messages stay in the old chat, which is closed; the new one numbers its own. */
export function migrate(world: World, { user = SOMEONE, chat }: Omit<TopicInput, "name">, tell: Tell): number {
  const old = enter(world, chat);
  if (old.type !== "group" || old.migrated_to !== undefined)
    throw new Error(
      `Cannot make chat ${chat} a supergroup: it is a ${old.type}${old.migrated_to === undefined ? "" : " that became one"}`,
    );
  const id = SUPERGROUPS + chat;
  const supergroup = enter(world, id);
  supergroup.title = old.title;
  serviceMessage(world, old, { user, content: { migrate_to_chat_id: id } }, tell);
  serviceMessage(world, supergroup, { user, content: { migrate_from_chat_id: chat } }, tell);
  old.migrated_to = id;
  return id;
}
