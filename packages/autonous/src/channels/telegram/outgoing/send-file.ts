import { stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { runPath } from "@autonous/runtime";
import { InputFile } from "grammy";
import { NotSent } from "../../../queue/commander.ts";
import type { Outgoing } from "../../../store/store.ts";
import { inTopic } from "../address.ts";
import type { TelegramClient } from "../api/client.ts";
import { TelegramFailure } from "../api/failure.ts";
import { asItIs, markdownRich } from "./rich-markdown.ts";
import { joinRich, plainText } from "./rich-text.ts";
import type { RichText } from "./rich-text.ts";
import { optionsOf, sendParts } from "./sending.ts";
import type { Receipt, Sending } from "./sending.ts";
import { withoutRefused } from "./show.ts";
import { MOST_ENTITIES, splitText } from "./split-text.ts";

const CAPTION_LIMIT = 1024;

/** An answer that nobody would scroll through. */
export async function sendAsFile(sending: Sending, text: string): Promise<Receipt> {
  const { to, parts } = sending;
  const bytes = Buffer.from(text.toWellFormed());
  const beginning = asItIs(text.slice(0, 2 * CAPTION_LIMIT));
  const caption = joinRich([plainText("The answer is in this file; it begins:\n\n"), beginning]);
  const work = sendingDocument(sending, new InputFile(bytes, "answer.md"), cutRich(caption, CAPTION_LIMIT));
  const { message_id } = await parts.client.send(to.chat, work, parts.fileMs(bytes.length));
  return { receipt: String(message_id) };
}

/** What Telegram takes of a bot. */
const MOST_BYTES = 50_000_000;
/** So often a file may take too long before what follows it in the chat gets its turn. */
const MOST_LATE = 3;

type FileSending = Sending<Extract<Outgoing, { kind: "file" }>>;

export async function sendFile(sending: FileSending): Promise<Receipt> {
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
  const caption = cutRich(markdownRich(content.caption ?? ""), CAPTION_LIMIT);
  const work = sendingDocument(sending, new InputFile(path, content.name), caption);
  try {
    const { message_id } = await parts.client.send(to.chat, work, parts.fileMs(bytes));
    memory.late.delete(row.id);
    return { receipt: String(message_id) };
  } catch (error) {
    if (error instanceof TelegramFailure && error.isLate) memory.late.set(row.id, late + 1);
    throw error;
  }
}

type Work = (...given: Parameters<Parameters<TelegramClient["send"]>[1]>) => Promise<{ readonly message_id: number }>;

function sendingDocument(sending: Sending, file: InputFile, { text, entities }: RichText): Work {
  const { to } = sending;
  const options = { ...inTopic(to), ...optionsOf(sending), ...(text === "" ? {} : { caption: text }) };
  return (api, signal) =>
    withoutRefused([...entities], (caption_entities) =>
      api.sendDocument(to.chat, file, { ...options, caption_entities }, signal),
    );
}

async function insteadOf(sending: FileSending, why: string): Promise<Receipt> {
  const { content, memory, row } = sending;
  const caption = content.caption ?? "";
  const parts = [plainText(`The file "${content.name}" ${why}.`), ...(caption === "" ? [] : [markdownRich(caption)])];
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
  if (rich.text.length <= limit) return { text: rich.text, entities: rich.entities.slice(0, MOST_ENTITIES) };
  const [first = plainText("")] = splitText(rich, limit - 1);
  return { text: `${first.text}…`, entities: first.entities };
}
