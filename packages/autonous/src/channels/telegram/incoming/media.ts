import type { ExternalReplyInfo, Message } from "grammy/types";
import { passedOnBy, repliedTo } from "./quotations.ts";

/** A file in a message. */
export interface SentFile {
  readonly kind: string;
  /** As the sender calls it, or made of what it is. Redacted. */
  readonly name: string;
  /** By which Telegram gives it. */
  readonly remote: string;
  readonly bytes?: number;
  /** Whose it is, where it is not the user's own. */
  readonly from?: string;
  /** It is that of the message that this one replies to. */
  readonly isReplied?: true;
}

type Carrier = Message | ExternalReplyInfo;

interface TelegramFile {
  readonly file_id: string;
  readonly file_size?: number;
  readonly file_name?: string;
}

interface FileRow {
  readonly kind: string;
  readonly find: (message: Carrier) => TelegramFile | undefined;
  /** Of a file that comes without a name. */
  readonly extension: string;
}

/** What a message may hold that is taken. An animation is also given as a document. */
// oxfmt-ignore
const FILES: readonly FileRow[] = [
  { kind: "photo",      extension: "jpg", find: ({ photo }) => photo?.at(-1) }, // the largest is the last
  { kind: "animation",  extension: "mp4", find: ({ animation }) => animation },
  { kind: "document",   extension: "bin", find: ({ document }) => document },
  { kind: "voice",      extension: "ogg", find: ({ voice }) => voice },
  { kind: "audio",      extension: "mp3", find: ({ audio }) => audio },
  { kind: "video",      extension: "mp4", find: ({ video }) => video },
  { kind: "video note", extension: "mp4", find: ({ video_note }) => video_note },
];

/** What a message may hold beside text and files. What is not here (a person joined, a title changed) is not a request. */
const UNREAD = [
  "sticker",
  "venue", // has a location too
  "location",
  "contact",
  "poll",
  "checklist",
  "dice",
  "game",
  "story",
  "invoice",
  "paid_media",
  "giveaway",
] as const satisfies readonly (keyof Message)[];

/** What else is in the message, which is not read: "sticker", "paid media" … */
export function unreadIn(message: Message): string | undefined {
  return UNREAD.find((name) => message[name] !== undefined)?.replace("_", " ");
}

/** The files of a message, and of the message that it replies to. `clean` is done to their names, and to whose they are. */
export function filesOf(message: Message, clean: (text: string) => string): readonly SentFile[] {
  const { reply_to_message: replied, external_reply } = message;
  const own = fileIn(message, message.date);
  const from = passedOnBy(message);
  const others = external_reply ?? (replied?.from?.is_bot === true ? undefined : replied); // what a bot sent is known here
  const carried = others === undefined ? undefined : fileIn(others, replied?.date ?? message.date);
  const asSent = ({ name, ...file }: SentFile, whose: string | undefined): SentFile => ({
    ...file,
    name: clean(name),
    ...(whose === undefined ? {} : { from: clean(whose) }),
  });
  return [
    ...(own === undefined ? [] : [asSent(own, from)]),
    ...(carried === undefined ? [] : [{ ...asSent(carried, repliedTo(message)), isReplied: true as const }]),
  ];
}

function fileIn(message: Carrier, date: number): SentFile | undefined {
  for (const { kind, extension, find } of FILES) {
    const found = find(message);
    if (found === undefined) continue;
    const { file_id, file_size, file_name } = found;
    return {
      kind,
      name: file_name ?? `${kind.replace(" ", "_")}_${stampOf(date)}.${extension}`,
      remote: file_id,
      ...(file_size === undefined ? {} : { bytes: file_size }),
    };
  }
  return undefined;
}

/** `2026-11-18_03-53-08`, in UTC. */
function stampOf(date_s: number): string {
  return new Date(date_s * 1000).toISOString().slice(0, 19).replace("T", "_").replaceAll(":", "-");
}
