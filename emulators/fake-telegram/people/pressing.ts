/** People press buttons, and let the bot in or out. */
import { botOnWire, chatOnWire, messageOnWire, personOnWire } from "../wire.ts";
import { enter, findMessage, meet } from "../world.ts";
import type { Person, Query, World } from "../world.ts";
import { serviceMessage, SOMEONE } from "./groups.ts";
import type { Tell } from "./groups.ts";

export interface Pressing {
  readonly user?: number | Person;
  readonly chat?: number;
  readonly message_id: number;
  /** The words on the button, or the beginning of them. */
  readonly button?: string;
  /** What the button carries. With `forged`, what a changed app would send. */
  readonly data?: string;
  readonly forged?: boolean;
}

export function press(
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

interface Membership {
  /** Who did it. */
  readonly user: number | Person;
  readonly chat: number;
  readonly isIn: boolean;
}

/** A person blocks the bot, or takes it into a group; gives whether anything changed. */
export function setMember(world: World, { user, chat, isIn }: Membership, tell: Tell): boolean {
  const place = enter(world, chat);
  if (place.type === "private" && world.blocked.has(chat) === !isIn) return false;
  if (isIn) world.blocked.delete(chat);
  else world.blocked.add(chat);
  const bot = botOnWire(world);
  const out = place.type === "private" ? "kicked" : "left";
  const [before, after] = isIn ? [out, "member"] : ["member", "kicked"];
  tell("my_chat_member", {
    chat: chatOnWire(world, place),
    from: personOnWire(meet(world, user)),
    date: Math.floor(world.now() / 1000),
    old_chat_member: { user: bot, status: before },
    new_chat_member: { user: bot, status: after },
  });
  return true;
}

export interface InvitationInput {
  readonly user?: number | Person;
  readonly chat: number;
  readonly title?: string;
}

export function invite(world: World, { user = SOMEONE, chat, title }: InvitationInput, tell: Tell): void {
  const place = enter(world, chat);
  if (place.type === "private") throw new Error(`Cannot take the bot into chat ${chat}: it is not a group`);
  place.title = title ?? place.title;
  setMember(world, { user, chat, isIn: true }, tell);
  const bot = botOnWire(world);
  const content = { new_chat_participant: bot, new_chat_member: bot, new_chat_members: [bot] };
  serviceMessage(world, place, { user, content }, tell);
}
