import { keyOf, laneOf } from "../address.ts";
import type { Address } from "../address.ts";
import type { TelegramClient } from "../api/client.ts";
import type { Outgoing, OutboxRow, Store } from "../../../store/store.ts";
import type { MovedChats } from "../moved-chats.ts";
import type { Questions } from "../talk/questions.ts";
import type { AnsweredTask } from "./answered-task.ts";
import { plainText } from "./rich-text.ts";
import type { RichText } from "./rich-text.ts";
import { sendPart } from "./show.ts";

export interface SendParts {
  readonly store: Store;
  readonly client: TelegramClient;
  readonly questions: Questions;
  readonly moved?: Pick<MovedChats, "movedAt">;
  readonly redact: (text: string) => string;
  /** What the chat calls a person of the record. */
  readonly nameOf?: (person: string) => string;
  /** The files that are sent lie in the runs' folders. */
  readonly state_dir: string;
  /** How long a file of this size may take. */
  readonly fileMs?: (bytes: number) => number;
}

/** What is known only here, whatever the store does. */
export interface Memory {
  /** By lane: of the answer that is in the middle of being sent, what Telegram has. */
  readonly parts: Map<string, Sent>;
  /** By row: how often the time for a file was over. */
  readonly late: Map<number, number>;
}

interface Sent {
  readonly row: number;
  readonly count: number;
  readonly receipt?: string;
}

export interface Sending<Content extends Outgoing = Outgoing> {
  readonly row: OutboxRow;
  /** What goes out in the same message. */
  readonly joined: readonly OutboxRow[];
  readonly content: Content;
  readonly to: Address;
  readonly task: AnsweredTask;
  readonly parts: SendParts & Required<Pick<SendParts, "fileMs">>;
  readonly memory: Memory;
  /** Whether the phone of the person stays quiet. */
  readonly silent?: boolean;
  /** Whether it is shown as a reply to the message that asked for the task. */
  readonly isReply?: boolean;
}

export type Receipt = { readonly receipt?: string };

const EMPTY = plainText("The answer is empty.");

/** A text in as many messages as it takes. After a failure it goes on where it stopped. */
export async function sendParts(messages: readonly RichText[], sending: Sending): Promise<Receipt> {
  const { row, to, parts, memory } = sending;
  if (messages.length <= 1) return { receipt: await sendOne(messages[0] ?? EMPTY, sending) };
  let sent = await sentOf(sending);
  for (const message of messages.slice(sent.count)) {
    // Only the first is a reply: the others follow it.
    const isReply = sent.count === 0 && sending.isReply === true;
    sent = { row: row.id, count: sent.count + 1, receipt: await sendOne(message, { ...sending, isReply }) };
    memory.parts.set(laneOf(to), sent); // before the record, which a full disk may refuse: it is not sent again all the same
    await parts.store.kv.set(partKey(to), `${row.id} ${sent.count}`);
  }
  return sent.receipt === undefined ? {} : { receipt: sent.receipt };
}

/** In order within a chat, so there is one in the middle of being sent at most. */
function partKey(to: Address): string {
  return keyOf("part", to);
}

async function sentOf({ row, to, parts, memory }: Sending): Promise<Sent> {
  const known = memory.parts.get(laneOf(to));
  if (known?.row === row.id) return known;
  const before = /^(\d+) (\d+)$/.exec((await parts.store.kv.get(partKey(to))) ?? "");
  return { row: row.id, count: before !== null && Number(before[1]) === row.id ? Number(before[2]) : 0 };
}

async function sendOne(part: RichText, sending: Sending): Promise<string> {
  const { to, parts } = sending;
  const { message_id } = await parts.client.send(to.chat, (api, signal) =>
    sendPart(api, { to, part, ...optionsOf(sending) }, signal),
  );
  return String(message_id);
}

interface MessageOptions {
  readonly disable_notification?: true;
  readonly reply_parameters?: { readonly message_id: number; readonly allow_sending_without_reply: true };
}

/** The person may have deleted what they asked: the answer comes all the same. */
export function optionsOf({ silent = false, isReply = false, task: { message_id } }: Sending): MessageOptions {
  return {
    ...(silent ? { disable_notification: true } : {}),
    ...(isReply && message_id !== undefined
      ? { reply_parameters: { message_id, allow_sending_without_reply: true } }
      : {}),
  };
}
