import { open, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { runPath } from "@autonous/runtime/internal";
import { InputFile } from "grammy";
import type { MessageEntity } from "grammy/types";
import { DeliveryError } from "../../../queue/outbox-sender.ts";
import type { Outgoing } from "../../../store/store.ts";
import { inTopic } from "../address.ts";
import type { TelegramClient } from "../api/client.ts";
import { TelegramFailure } from "../api/telegram-failure.ts";
import { asItIs, markdownRich } from "./rich-markdown.ts";
import { joinRich, plainText, redactRich } from "./rich-text.ts";
import type { RichText } from "./rich-text.ts";
import { optionsOf, sendParts } from "./sending.ts";
import type { Receipt, Sending } from "./sending.ts";
import { withoutRefused } from "./show.ts";
import { MAX_ENTITIES, splitText } from "./split-text.ts";

const CAPTION_LIMIT = 1024;

/** An answer that is too long for messages. */
export async function sendAsFile(sending: Sending, text: string): Promise<Receipt> {
  const { to, parts } = sending;
  const bytes = Buffer.from(text.toWellFormed());
  const beginning = asItIs(text.slice(0, 2 * CAPTION_LIMIT));
  const caption = joinRich([plainText("The answer is in this file; it begins:\n\n"), beginning]);
  const work = sendingFile(
    { ...sending, kind: "document" },
    new InputFile(bytes, "answer.md"),
    cutRich(caption, CAPTION_LIMIT),
  );
  const { message_id } = await parts.client.send(to.chat, work, parts.fileMs(bytes.length));
  return { receipt: String(message_id) };
}

/** What Telegram takes of a bot. */
const MAX_BYTES = 50_000_000;
const MAX_PHOTO_BYTES = 10_000_000;
/** Attempts at a file that takes too long. Then a line says so, and what follows it in the chat is sent. */
const MAX_LATE = 3;

type FileSending = Sending<Extract<Outgoing, { kind: "file" }>>;

export async function sendFile(sending: FileSending): Promise<Receipt> {
  const { row, content, to, parts, memory } = sending;
  const folder = runPath(parts.state_dir, row.run_id);
  const path = join(folder, content.artifact);
  if (!path.startsWith(`${folder}${sep}`))
    throw new DeliveryError(`"${content.artifact}" is not an artifact of the run`, { forGood: true });
  const bytes = await sizeOf(path);
  if (bytes === undefined) return await insteadOf(sending, "is no longer stored");
  if (bytes > MAX_BYTES) return await insteadOf(sending, `has ${Math.ceil(bytes / 1e6)} MB; Telegram's limit is 50 MB`);
  if (bytes === 0) return await insteadOf(sending, "is empty");
  const late = memory.late.get(row.id) ?? 0;
  if (late >= MAX_LATE) return await insteadOf(sending, "could not be sent: the connection is too slow");
  const caption = cutRich(captionOf(sending), CAPTION_LIMIT);
  const upload = (kind: "photo" | "document"): Promise<{ readonly message_id: number }> => {
    const work = sendingFile({ ...sending, kind }, new InputFile(path, content.name), caption);
    return parts.client.send(to.chat, work, parts.fileMs(bytes));
  };
  try {
    const isPhoto = bytes <= MAX_PHOTO_BYTES && (await isPicture(path));
    const { message_id } = await (isPhoto ? upload("photo").catch(orAsDocument(upload)) : upload("document"));
    memory.late.delete(row.id);
    return { receipt: String(message_id) };
  } catch (error) {
    if (error instanceof TelegramFailure && error.isLate) memory.late.set(row.id, late + 1);
    throw error;
  }
}

/** Telegram says which pictures it takes: by their width and height, and whether it can read them. */
function orAsDocument<Sent>(upload: (kind: "document") => Promise<Sent>): (error: unknown) => Promise<Sent> {
  return (error) => {
    if (error instanceof TelegramFailure && error.kind === "refused") return upload("document");
    throw error;
  };
}

/** How files begin that the apps show as photos. */
const PICTURES = [/^\x89PNG\r\n\x1a\n/, /^\xff\xd8\xff/, /^RIFF[^]{4}WEBP/];
const MARK_BYTES = 12;

/** By what is in it, whatever it is called. */
async function isPicture(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MARK_BYTES), 0, MARK_BYTES, 0);
    return PICTURES.some((mark) => mark.test(buffer.toString("latin1", 0, bytesRead)));
  } finally {
    await file.close();
  }
}

type Work = (...given: Parameters<Parameters<TelegramClient["send"]>[1]>) => Promise<{ readonly message_id: number }>;

function sendingFile(
  sending: Sending & { readonly kind: "photo" | "document" },
  file: InputFile,
  { text, entities }: RichText,
): Work {
  const { to, kind } = sending;
  const options = { ...inTopic(to), ...optionsOf(sending), ...(text === "" ? {} : { caption: text }) };
  return (api, signal) =>
    withoutRefused<{ readonly message_id: number }, MessageEntity>([...entities], (caption_entities) =>
      kind === "photo"
        ? api.sendPhoto(to.chat, file, { ...options, caption_entities }, signal)
        : api.sendDocument(to.chat, file, { ...options, caption_entities }, signal),
    );
}

function captionOf({ content: { caption = "" }, task, parts }: FileSending): RichText {
  return redactRich((task.isDirect ? asItIs : markdownRich)(caption), parts.redact);
}

async function insteadOf(sending: FileSending, why: string): Promise<Receipt> {
  const { content, memory, row } = sending;
  const caption = captionOf(sending);
  const parts = [plainText(`The file "${content.name}" ${why}.`), ...(caption.text === "" ? [] : [caption])];
  const sent = await sendParts(splitText(joinRich(parts, " ")), sending);
  memory.late.delete(row.id);
  return sent;
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** What fits, and that there was more. */
function cutRich(rich: RichText, limit: number): RichText {
  if (rich.text.length <= limit) return { text: rich.text, entities: rich.entities.slice(0, MAX_ENTITIES) };
  const [first = plainText("")] = splitText(rich, limit - 1);
  return { text: `${first.text}…`, entities: first.entities };
}
