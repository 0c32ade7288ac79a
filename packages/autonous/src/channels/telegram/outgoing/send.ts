import { stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { runPath } from "@autonous/runtime";
import { InputFile } from "grammy";
import type { Commander } from "../../../queue/commander.ts";
import { NotSent } from "../../../queue/commander.ts";
import type { Outgoing, OutboxRow, ShownMessage, Store } from "../../../store/store.ts";
import type { TelegramClient } from "../api/client.ts";
import { fileMs } from "../api/client.ts";
import { TelegramFailure } from "../api/failure.ts";
import { addressOf, inTopic, laneOf } from "../address.ts";
import type { Address } from "../address.ts";
import type { Questions } from "../talk/questions.ts";
import { sendPart } from "./show.ts";
import { BETWEEN, countJoined, isShown, LOUD, shownText } from "./shown-text.ts";
import { MESSAGE_LIMIT, splitText } from "./split-text.ts";
import type { Part } from "./split-text.ts";

export interface SendParts {
  readonly store: Store;
  readonly client: TelegramClient;
  readonly questions: Questions;
  /** The files that are sent lie in the runs' folders. */
  readonly state_dir: string;
  /** How long a file of so many bytes may take. */
  readonly fileMs?: (bytes: number) => number;
}

/** What is known only here, whatever the store does. */
interface Memory {
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

interface Sending<Content extends Outgoing = Outgoing> {
  readonly row: OutboxRow;
  /** What goes out in the same message. */
  readonly joined: readonly OutboxRow[];
  readonly content: Content;
  readonly to: Address;
  readonly parts: Required<SendParts>;
  readonly memory: Memory;
  /** Whether the phone of the person stays quiet. */
  readonly silent?: boolean;
}

type Receipt = { readonly receipt?: string };

/** Telegram's side of the outbox. */
export function createCommander(given: SendParts): Commander {
  const parts = { fileMs, ...given };
  const memory: Memory = { parts: new Map(), late: new Map() };
  return {
    channel: "telegram",
    countJoined,
    async send(row, joined = []) {
      const to = addressOf(row.chat);
      if (to === undefined) throw new NotSent(`"${row.chat}" is no chat of Telegram's`, { forGood: true });
      try {
        return await sendTo({ row, joined, content: row.content, to, parts, memory });
      } catch (error) {
        throw error instanceof TelegramFailure ? notSent(error) : error;
      }
    },
  };
}

/** A group that became a larger one has a new number, which Telegram gives with its refusal. */
async function sendTo(sending: Sending): Promise<Receipt> {
  try {
    return await sendContent(sending);
  } catch (error) {
    if (!(error instanceof TelegramFailure) || error.movedTo === undefined) throw error;
    return await sendContent({ ...sending, to: { ...sending.to, chat: error.movedTo } });
  }
}

function sendContent(sending: Sending): Promise<Receipt> {
  const { content } = sending;
  switch (content.kind) {
    case "text":
      return sendText({ ...sending, content });
    case "file":
      return sendFile({ ...sending, content });
    case "approval":
      return sendQuestion({ ...sending, content });
    case "display":
      return sendShown({ ...sending, content });
  }
}

function notSent(failure: TelegramFailure): NotSent {
  const forGood = failure.kind === "gone" || failure.kind === "refused";
  const { retryAfterMs } = failure;
  return new NotSent(failure.message, {
    forGood,
    cause: failure,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

/** Longer answers are files: nobody scrolls through so many messages, and they would take as many seconds. */
const MOST_TEXT = 20 * MESSAGE_LIMIT;
const CAPTION_LIMIT = 1024;
const EMPTY: Part = { text: "The answer is empty.", entities: [] };

async function sendText(sending: Sending<Extract<Outgoing, { kind: "text" }>>): Promise<Receipt> {
  const { content } = sending;
  if (content.text.length > MOST_TEXT) return await sendLongText(sending);
  return await sendParts(splitText(content.text), sending);
}

/** Silent unless something is wrong: the answer is what a person is called for. */
async function sendShown(sending: Sending<ShownMessage>): Promise<Receipt> {
  const shown = [sending.content, ...sending.joined.map(({ content }) => content).filter(isShown)];
  return await sendParts(splitText(shown.map(shownText).join(BETWEEN)), {
    ...sending,
    silent: !shown.some(({ level }) => LOUD.has(level)),
  });
}

async function sendParts(messages: readonly Part[], sending: Sending): Promise<Receipt> {
  const { row, to, parts, memory } = sending;
  if (messages.length <= 1) return { receipt: await sendOne(messages[0] ?? EMPTY, sending) };
  let sent = await sentOf(sending);
  for (const message of messages.slice(sent.count)) {
    sent = { row: row.id, count: sent.count + 1, receipt: await sendOne(message, sending) };
    memory.parts.set(laneOf(to), sent); // before the record, which a full disk may refuse: it is not sent again all the same
    await parts.store.kv.set(partKey(to), `${row.id} ${sent.count}`);
  }
  return sent.receipt === undefined ? {} : { receipt: sent.receipt };
}

/** In order within a chat, so there is one in the middle of being sent at most. */
function partKey(to: Address): string {
  return `telegram:part:${laneOf(to).slice("telegram:".length)}`;
}

async function sentOf({ row, to, parts, memory }: Sending): Promise<Sent> {
  const known = memory.parts.get(laneOf(to));
  if (known?.row === row.id) return known;
  const before = /^(\d+) (\d+)$/.exec((await parts.store.kv.get(partKey(to))) ?? "");
  return { row: row.id, count: before !== null && Number(before[1]) === row.id ? Number(before[2]) : 0 };
}

async function sendOne(part: Part, { to, parts, silent = false }: Sending): Promise<string> {
  const options = silent ? { disable_notification: true } : {};
  const { message_id } = await parts.client.send(to.chat, (api, signal) =>
    sendPart(api, { to, part, ...options }, signal),
  );
  return String(message_id);
}

async function sendLongText({ content, to, parts }: Sending<Extract<Outgoing, { kind: "text" }>>): Promise<Receipt> {
  const bytes = Buffer.from(content.text.toWellFormed());
  const caption = cut(`The whole answer is in this file; it begins:\n\n${content.text}`, CAPTION_LIMIT);
  const work = sendingDocument(to, new InputFile(bytes, "answer.md"), caption);
  const { message_id } = await parts.client.send(to.chat, work, parts.fileMs(bytes.length));
  return { receipt: String(message_id) };
}

/** What Telegram takes of a bot. */
const MOST_BYTES = 50_000_000;
/** So often a file may take too long before what follows it in the chat gets its turn. */
const MOST_LATE = 3;

async function sendFile(sending: Sending<Extract<Outgoing, { kind: "file" }>>): Promise<Receipt> {
  const { row, content, to, parts, memory } = sending;
  const folder = runPath(parts.state_dir, row.run_id);
  const path = join(folder, content.artifact);
  if (!path.startsWith(`${folder}${sep}`))
    throw new NotSent(`"${content.artifact}" is not of the run`, { forGood: true });
  const bytes = await sizeOf(path);
  if (bytes === undefined) return await insteadOf(sending, "is no longer kept");
  if (bytes > MOST_BYTES) return await insteadOf(sending, `has ${Math.ceil(bytes / 1e6)} MB, and Telegram takes 50`);
  if (bytes === 0) return await insteadOf(sending, "is empty");
  const late = memory.late.get(row.id) ?? 0;
  if (late >= MOST_LATE) return await insteadOf(sending, "could not be sent: the line is too slow for it");
  const work = sendingDocument(to, new InputFile(path, content.name), cut(content.caption ?? "", CAPTION_LIMIT));
  try {
    const { message_id } = await parts.client.send(to.chat, work, parts.fileMs(bytes));
    memory.late.delete(row.id);
    return { receipt: String(message_id) };
  } catch (error) {
    if (error instanceof TelegramFailure && error.isLate) memory.late.set(row.id, late + 1);
    throw error;
  }
}

function sendingDocument(to: Address, file: InputFile, caption: string): Parameters<TelegramClient["send"]>[1] & Work {
  return (api, signal) =>
    api.sendDocument(to.chat, file, { ...inTopic(to), ...(caption === "" ? {} : { caption }) }, signal);
}
type Work = (...given: Parameters<Parameters<TelegramClient["send"]>[1]>) => Promise<{ readonly message_id: number }>;

async function insteadOf(sending: Sending<Extract<Outgoing, { kind: "file" }>>, why: string): Promise<Receipt> {
  const { content, memory, row } = sending;
  const text = `The file "${content.name}" ${why}. ${content.caption ?? ""}`.trimEnd();
  const part = { text: cut(text, MESSAGE_LIMIT), entities: [] };
  const receipt = await sendOne(part, sending);
  memory.late.delete(row.id);
  return { receipt };
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

async function sendQuestion({
  content,
  to,
  parts,
}: Sending<Extract<Outgoing, { kind: "approval" }>>): Promise<Receipt> {
  const receipt = await parts.questions.ask(content.approval_id, to);
  return receipt === undefined ? {} : { receipt };
}

function cut(text: string, limit: number): string {
  const whole = text.toWellFormed();
  return whole.length <= limit ? whole : `${whole.slice(0, limit - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}
