import type { Store } from "../../../store/store.ts";
import type { Access } from "../access/allowed-users.ts";
import type { PeopleNames } from "../access/people-names.ts";
import type { Strangers } from "../access/strangers.ts";
import type { TelegramClient } from "../api/client.ts";
import { runCommand } from "../talk/commands.ts";
import type { CommandParts } from "../talk/commands.ts";
import type { Gather } from "./gather.ts";
import type { Incoming, Pressed, Written } from "./read-update.ts";
import { tellUndelivered } from "../outgoing/undelivered.ts";
import { showPlain } from "../outgoing/show.ts";
import { wordsOf } from "./task-words.ts";

export interface TakeParts extends CommandParts {
  readonly store: Store;
  readonly client: TelegramClient;
  /** Part of each message's id: another bot counts its updates from its own start. */
  readonly bot_id: number;
  readonly allowed: Access;
  readonly strangers: Strangers;
  readonly names: PeopleNames;
  /** Puts messages into the queue, those that belong together as one. */
  readonly gather: Gather;
  readonly press: (pressed: Pressed) => Promise<void>;
  /** The message became a task. */
  readonly onQueued: (written: Written) => void;
  /** Whether the message answers a question: it is the reason for a no. */
  readonly answer: (written: Written) => Promise<boolean>;
}

/** Does what a message or a button asks for. When it returns, that is on record. Throws when the store does. */
export async function takeIncoming(incoming: Incoming, parts: TakeParts): Promise<void> {
  await parts.allowed.refresh();
  if (parts.allowed.has(incoming.user)) await parts.names.note(incoming);
  if (incoming.kind === "pressed") {
    if (!parts.allowed.has(incoming.user) && !parts.strangers.mayAnswer()) return;
    if (!(await parts.strangers.press(incoming))) await parts.press(incoming);
    return;
  }
  const { allowed, gather } = parts;
  const external_id = `${parts.bot_id}:${incoming.update_id}`;
  if (allowed.has(incoming.user) && (await gather.join(incoming, external_id))) return;
  if (incoming.isUnaddressed === true) return;
  if (!allowed.has(incoming.user)) return await parts.strangers.meet(incoming);
  // A code makes a member an owner. A code that was used may be delivered again after a crash.
  if (await parts.strangers.redeem(incoming)) return;
  await tellUndelivered(incoming, parts);
  const { unread, text } = incoming;
  const words = wordsOf(incoming);
  if (unread !== undefined && incoming.isPrivate)
    showPlain(parts.client, incoming, unreadWords(unread, words !== undefined));
  if (words === undefined && incoming.isNameOnly === true) showPlain(parts.client, incoming, NAME_ONLY);
  if (words === undefined) return;
  if (text !== "" && ((await parts.answer(incoming)) || (await runCommand(incoming, parts)))) {
    const [file] = incoming.files ?? [];
    if (file !== undefined && file.from === undefined) showPlain(parts.client, incoming, withoutTask(file.kind));
    return;
  }
  await gather.put(incoming, words, external_id);
  parts.onQueued(incoming);
}

const NAME_ONLY = "Write what you want in the same message as the name, or as a reply to this message.";

function withoutTask(kind: string): string {
  return `The ${kind} was skipped: it did not come with a task. Send it again with a task as its caption.`;
}

/** A line for what is not read; nothing in it is an order. */
function unreadWords(unread: string, isTaken: boolean): string {
  const what = /^[aeiou]/.test(unread) ? `An ${unread}` : `A ${unread}`;
  return `${what} is not supported${isTaken ? "; the rest of the message is" : ". Write what you want as text"}.`;
}
