import type { Store } from "../../../store/store.ts";
import type { TelegramClient } from "../api/client.ts";
import { runCommand } from "../talk/commands.ts";
import type { CommandParts } from "../talk/commands.ts";
import type { Gather } from "./gather.ts";
import type { Incoming, Pressed, Written } from "./read-update.ts";
import { tellUndelivered } from "../outgoing/undelivered.ts";
import { showPlain } from "../outgoing/show.ts";
import { wordsOf } from "./task-text.ts";

export interface TakeParts extends CommandParts {
  readonly store: Store;
  readonly client: TelegramClient;
  /** Numbers of bots are parts of the ids of their messages: another bot counts anew. */
  readonly bot_id: number;
  readonly strangers: Strangers;
  /** Puts messages into the queue, those that belong together as one. */
  readonly gather: Gather;
  readonly press: (pressed: Pressed) => Promise<void>;
  /** Whether the message answers a question: it is the reason for a no. */
  readonly answer: (written: Written) => Promise<boolean>;
}

/** Does what a message or a button asks for. When it returns, that is on record. Throws when the store does. */
export async function takeIncoming(incoming: Incoming, parts: TakeParts): Promise<void> {
  if (incoming.kind === "pressed") {
    if (parts.allowed.has(incoming.user) || parts.strangers.mayAnswer()) await parts.press(incoming);
    return;
  }
  const { allowed, gather } = parts;
  const external_id = `${parts.bot_id}:${incoming.update_id}`;
  if (allowed.has(incoming.user) && (await gather.join(incoming, external_id))) return;
  if (incoming.isUnaddressed === true) return;
  if (!allowed.has(incoming.user)) return parts.strangers.answer(incoming, parts.client);
  await tellUndelivered(incoming, parts);
  const { unread, text } = incoming;
  const words = wordsOf(incoming);
  if (unread !== undefined && incoming.isPrivate)
    showPlain(parts.client, incoming, unreadWords(unread, words !== undefined));
  if (words === undefined) return;
  if (text !== "" && ((await parts.answer(incoming)) || (await runCommand(incoming, parts)))) return;
  await gather.put(incoming, words, external_id);
}

/** A line for what is not read; nothing in it is an order. */
function unreadWords(unread: string, isTaken: boolean): string {
  const what = /^[aeiou]/.test(unread) ? `An ${unread}` : `A ${unread}`;
  return `${what} is not read here${isTaken ? "; the rest of the message is" : ". Write in words what you want"}.`;
}

const ANSWERS_A_MINUTE = 10;
const REMEMBERED = 1000;

/** Those who are not on the list. In private each is told once, so that the owner can add them; in groups nobody is. */
export class Strangers {
  readonly #clock: () => number;
  readonly #told = new Set<number>();
  #minute = 0;
  #answers = 0;

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  answer(written: Written, client: TelegramClient): void {
    const { user, isPrivate } = written;
    if (!isPrivate || this.#told.has(user) || !this.mayAnswer()) return;
    if (this.#told.size >= REMEMBERED) this.#told.clear();
    this.#told.add(user);
    showPlain(
      client,
      written,
      `You are not on the list of this bot. Its owner can add you with your number: ${user} (AUTONOUS_TELEGRAM_ALLOWED_USERS)`,
    );
  }

  /** A crowd of strangers may not use up what we may send. */
  mayAnswer(): boolean {
    const minute = Math.floor(this.#clock() / 60_000);
    if (minute !== this.#minute) [this.#minute, this.#answers] = [minute, 0];
    return ++this.#answers <= ANSWERS_A_MINUTE;
  }
}
