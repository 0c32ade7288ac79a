/** The methods that send. */
import { keepMedia } from "../media/files.ts";
import type { Media, MediaKind } from "../media/files.ts";
import { readPicture } from "../media/images.ts";
import { objectOf, textOf } from "../parameters.ts";
import type { Parameters } from "../parameters.ts";
import { badRequest, Refusal } from "../refusal.ts";
import { messageOnWire } from "../wire.ts";
import { findChat, post } from "../world.ts";
import { captionText, messageText, sendingOf, topicOf } from "./asking.ts";
import type { Asking } from "./asking.ts";

const MAX_PHOTO_BYTES = 10 * 1024 * 1024;
/** Of a photo: width and height together, and how many times one may be the other. */
const MAX_PHOTO_SIDES = 10_000;
const MAX_PHOTO_RATIO = 20;
const ALBUM = { least: 2, most: 10 } as const;
const IN_ALBUMS: ReadonlySet<string> = new Set(["photo", "video", "audio", "document"]);

const ACTIONS: ReadonlySet<string> = new Set([
  "typing",
  "upload_photo",
  "record_video",
  "upload_video",
  "record_voice",
  "upload_voice",
  "upload_document",
  "choose_sticker",
  "find_location",
  "record_video_note",
  "upload_video_note",
]);

export function sendMessage(asking: Asking): object {
  const formatted = messageText(asking.parameters);
  const { chat, draft } = sendingOf(asking);
  return messageOnWire(asking.world, post(asking.world, chat, { ...draft, ...formatted }));
}

export function sendDocument(asking: Asking): object {
  return sendFile(asking, "document");
}

export function sendPhoto(asking: Asking): object {
  return sendFile(asking, "photo");
}

function sendFile(asking: Asking, kind: "photo" | "document"): object {
  const { world, parameters } = asking;
  const caption = captionText(parameters);
  const upload = findUpload(asking, kind, textOf(parameters, kind));
  const { chat, draft } = sendingOf(asking);
  return messageOnWire(world, post(world, chat, { ...draft, ...caption, media: upload() }));
}

/** Checks it; the function that is returned keeps it. */
function findUpload({ world, parameters, max_file_bytes }: Asking, kind: MediaKind, named: string): () => Media {
  const attached = named.startsWith("attach://") ? named.slice("attach://".length) : kind;
  const file = parameters.files.get(attached);
  const known = world.files.byId.get(named);
  if (file === undefined) {
    if (known?.kind === kind) return () => known;
    if (known !== undefined) throw badRequest(`can't use file of type ${known.kind} as ${kind}`);
    throw badRequest(named === "" ? `there is no ${kind} in the request` : "wrong file identifier/HTTP URL specified");
  }
  const { content, name: file_name, type: mime_type } = file;
  if (content.length === 0) throw badRequest("file must be non-empty");
  if (content.length > max_file_bytes) throw new Refusal(413, "Request Entity Too Large");
  if (kind === "photo") checkPhoto(content);
  return () => keepMedia(world.files, kind, { content, file_name, mime_type });
}

function checkPhoto(content: Buffer): void {
  if (content.length > MAX_PHOTO_BYTES)
    throw badRequest(
      `file of size ${content.length} bytes is too big for a photo; the maximum size is ${MAX_PHOTO_BYTES} bytes`,
    );
  const picture = readPicture(content);
  if (picture === undefined) throw badRequest("IMAGE_PROCESS_FAILED");
  const { width, height } = picture;
  const [shorter, longer] = [Math.min(width, height), Math.max(width, height)];
  if (shorter === 0 || width + height > MAX_PHOTO_SIDES || longer > shorter * MAX_PHOTO_RATIO)
    throw badRequest("PHOTO_INVALID_DIMENSIONS");
}

/** One message for each, which have the same `media_group_id`. */
export function sendMediaGroup(asking: Asking): readonly object[] {
  const { world, parameters } = asking;
  const given = objectOf(parameters, "media");
  if (!Array.isArray(given)) throw badRequest("can't parse media JSON object");
  if (given.length < ALBUM.least || given.length > ALBUM.most)
    throw badRequest("group send failed: the album must have from 2 to 10 items");
  const items = given.map((each: unknown) => readItem(asking, each));
  const { chat, draft } = sendingOf(asking);
  const media_group_id = String(13_000_000_000 + world.nextAlbum++);
  return items.map(({ caption, upload }) =>
    messageOnWire(world, post(world, chat, { ...draft, ...caption, media: upload(), media_group_id })),
  );
}

function readItem(
  asking: Asking,
  given: unknown,
): { caption: ReturnType<typeof captionText>; upload: ReturnType<typeof findUpload> } {
  const values = (typeof given === "object" && given !== null ? given : {}) as Readonly<Record<string, unknown>>;
  const parameters: Parameters = { values, files: asking.parameters.files };
  const type = textOf(parameters, "type");
  if (!IN_ALBUMS.has(type)) throw badRequest(`can't parse InputMedia: type "${type}" is unsupported`);
  if (textOf(parameters, "media") === "") throw badRequest("can't parse InputMedia: media not found");
  const upload = findUpload(asking, type as MediaKind, textOf(parameters, "media"));
  return { caption: captionText(parameters), upload };
}

/** The general topic is written to without its number, but "typing…" may be shown there by it. */
export function sendChatAction({ world, parameters }: Asking): boolean {
  const chat = findChat(world, parameters.values["chat_id"]);
  if (!ACTIONS.has(textOf(parameters, "action"))) throw badRequest("wrong parameter action in request");
  if (textOf(parameters, "message_thread_id") !== "1") topicOf(chat, parameters);
  return true;
}
