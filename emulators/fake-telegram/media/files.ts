/** Files as Telegram keeps them: what they are called, where they are fetched, what messages say of them. */
import { createHash } from "node:crypto";
import { extname } from "node:path";
import { greyPng, readPicture } from "./images.ts";

interface KindRow {
  /** How file_ids of this kind begin. */
  readonly prefix: string;
  readonly folder: string;
  readonly mime_type: string;
  readonly extension: string;
  /** How a file of this kind begins; what a person sends who sends whatever. */
  readonly sample: string;
  /** What messages say besides the file, where nothing else is known. */
  readonly about: object;
}

// oxfmt-ignore
export const MEDIA_KINDS = {
  photo:      { prefix: "AgAC", folder: "photos",      mime_type: "image/jpeg",               extension: ".jpg", sample: "", about: {} },
  document:   { prefix: "BQAC", folder: "documents",   mime_type: "application/octet-stream", extension: "", sample: "A document\n", about: {} },
  voice:      { prefix: "AwAC", folder: "voice",       mime_type: "audio/ogg",                extension: ".oga", sample: "OggS\0\x02", about: { duration: 3 } },
  audio:      { prefix: "CQAC", folder: "music",       mime_type: "audio/mpeg",               extension: ".mp3", sample: "ID3\x04", about: { duration: 180, performer: "A band", title: "A song" } },
  video:      { prefix: "BAAC", folder: "videos",      mime_type: "video/mp4",                extension: ".mp4", sample: "\0\0\0\x18ftypmp42", about: { duration: 5, width: 640, height: 360 } },
  video_note: { prefix: "DQAC", folder: "video_notes", mime_type: "video/mp4",                extension: ".mp4", sample: "\0\0\0\x18ftypmp42", about: { duration: 5, length: 240 } },
  animation:  { prefix: "CgAC", folder: "animations",  mime_type: "video/mp4",                extension: ".mp4", sample: "\0\0\0\x18ftypmp42", about: { duration: 2, width: 320, height: 240 } },
  sticker:    { prefix: "CAAC", folder: "stickers",    mime_type: "image/webp",               extension: ".webp", sample: "RIFF\x1a\0\0\0WEBPVP8L", about: { type: "regular", width: 512, height: 512, is_animated: false, is_video: false, emoji: "👍", set_name: "Thumbs" } },
} as const satisfies Record<string, KindRow>;
export type MediaKind = keyof typeof MEDIA_KINDS;

export function isMediaKind(name: string): name is MediaKind {
  return Object.hasOwn(MEDIA_KINDS, name);
}

export interface StoredFile {
  readonly file_id: string;
  readonly file_unique_id: string;
  readonly file_name: string;
  readonly mime_type: string;
  readonly content: Buffer;
  /** What Telegram says its size is: that of its content, unless a test says otherwise. */
  readonly file_size: number;
  /** Where it is fetched, behind `/file/bot<token>/`. */
  readonly path: string;
}

interface PhotoSize {
  readonly file: StoredFile;
  readonly width: number;
  readonly height: number;
}

export interface Media {
  readonly kind: MediaKind;
  /** Of a photo, its largest size. */
  readonly file: StoredFile;
  /** Of a photo, the smallest first; otherwise empty. */
  readonly sizes: readonly PhotoSize[];
  readonly about: object;
}

/** Sample content, where the test gives none. */
export function sampleOf(kind: MediaKind): Buffer {
  return kind === "photo" ? greyPng(640, 480) : Buffer.from(MEDIA_KINDS[kind].sample, "latin1");
}

/** All that was sent, by anyone; what a bot may fetch, and until when. */
export interface Files {
  readonly byId: Map<string, Media>;
  readonly links: Map<string, { readonly file: StoredFile; readonly until_ms: number }>;
}

export interface MediaContent {
  readonly content: Buffer;
  readonly file_name?: string;
  readonly mime_type?: string;
  /** A size to claim, whatever the content is. */
  readonly file_size?: number;
  /** Over what is said of this kind: `{ duration: 12 }`. */
  readonly about?: object;
}

/** Keeps it, so that it is known by its file_id. */
export function keepMedia(files: Files, kind: MediaKind, given: MediaContent): Media {
  const media = kind === "photo" ? photoOf(files, given) : mediaOf(files, kind, given);
  for (const { file } of media.sizes) files.byId.set(file.file_id, media);
  files.byId.set(media.file.file_id, media);
  return media;
}

function mediaOf(files: Files, kind: MediaKind, given: MediaContent): Media {
  return { kind, file: fileOf(files, kind, given), sizes: [], about: { ...MEDIA_KINDS[kind].about, ...given.about } };
}

/** The longer sides of the sizes that Telegram makes of a photo. */
const SIZES = [90, 320, 800, 1280];

/** The largest has the bytes that were sent; the smaller ones are grey, so that a test can tell them apart. */
function photoOf(files: Files, given: MediaContent): Media {
  const { width = 1, height = 1 } = readPicture(given.content) ?? {};
  const longer = Math.max(width, height);
  const small = SIZES.filter((side) => side < longer).map((side, index) => {
    const size = (length: number): number => Math.max(1, Math.round((length * side) / longer));
    const content = greyPng(size(width), size(height), 100 + index);
    return { file: fileOf(files, "photo", { content }, index + 1), width: size(width), height: size(height) };
  });
  const file = fileOf(files, "photo", given, small.length + 1);
  return { kind: "photo", file, sizes: [...small, { file, width, height }], about: {} };
}

function fileOf({ byId }: Files, kind: MediaKind, given: MediaContent, part = 0): StoredFile {
  const { prefix, folder, mime_type, extension } = MEDIA_KINDS[kind];
  const number = byId.size + 1 + part;
  const file_name = given.file_name ?? "";
  const own = extname(file_name);
  return {
    file_id: `${prefix}AgIAAxkBAAI${String(number).padStart(6, "0")}`,
    file_unique_id: createHash("sha256").update(given.content).digest("base64url").slice(0, 15),
    file_name,
    mime_type: given.mime_type ?? mime_type,
    content: given.content,
    file_size: given.file_size ?? given.content.length,
    path: `${folder}/file_${number}${kind === "document" && /^\.\w{1,10}$/.test(own) ? own : extension}`,
  };
}

/** As messages have it. An animation is a document too, for bots from before there were animations. */
export function mediaOnWire({ kind, file, sizes, about }: Media): object {
  if (kind === "photo")
    return { photo: sizes.map(({ file: size, width, height }) => ({ ...fileOnWire(size), width, height })) };
  const isNamed = kind !== "voice" && kind !== "video_note" && kind !== "sticker" && file.file_name !== "";
  const hasType = kind !== "video_note" && kind !== "sticker";
  const named = {
    ...fileOnWire(file),
    ...(isNamed ? { file_name: file.file_name } : {}),
    ...(hasType ? { mime_type: file.mime_type } : {}),
  };
  return { [kind]: { ...named, ...about }, ...(kind === "animation" ? { document: named } : {}) };
}

export function fileOnWire({ file_id, file_unique_id, file_size }: StoredFile): object {
  return { file_id, file_unique_id, file_size };
}
