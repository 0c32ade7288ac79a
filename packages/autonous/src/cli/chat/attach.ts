import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { ToolCallResult } from "@autonous/runtime";
import { IMAGE_TYPES, MAX_IMAGE_BYTES } from "../../model/prompt/images.ts";
import { nameInHeading, withQuotations } from "../../model/prompt/quoted.ts";
import type { Quotation } from "../../model/prompt/quoted.ts";
import type { MessageImage } from "../../model/provider.ts";
import { errorText } from "../../model/prompt/result-text.ts";
import type { Chat } from "./chat-conversation.ts";
import { findMentions } from "./mentions.ts";
import type { Mention } from "./mentions.ts";

/** A message with its attached files. */
interface AttachedMessage {
  readonly text: string;
  readonly images: readonly MessageImage[];
}

/** Limits per message: number of files, and characters of their text. */
const MAX_FILES = 20;
const MAX_CHARACTERS = 200_000;

type ChatParts = Pick<Chat, "session" | "place" | "print" | "signal">;

/** The task that the calls belong to. */
interface Task {
  readonly task_id: string;
  readonly trace_id: string;
}

/** One attached file, or the problem. `part` says which part is attached, if not all of it. */
type Piece =
  | { readonly quotation: Quotation; readonly image?: MessageImage; readonly part?: string | undefined }
  | { readonly problem: string };

/**
 * Reads the files that a message mentions with `@`, by governed calls of `read`: the policy applies, and each
 * call is recorded. Failures are reported to the user and to the model.
 */
export async function attachFiles(text: string, chat: ChatParts, task: Task): Promise<AttachedMessage> {
  const mentions = findMentions(text, chat.place.cwd);
  const quotations: Quotation[] = [];
  const images: MessageImage[] = [];
  const problems: string[] = [];
  let left = MAX_CHARACTERS;
  for (const [index, mention] of mentions.entries()) {
    const isTooMuch = index >= MAX_FILES || left <= 0;
    const piece = isTooMuch ? tooMuch() : await attach(mention, chat, task);
    if ("problem" in piece) problems.push(`${nameInHeading(mention.path)} is not attached: ${piece.problem}`);
    else {
      quotations.push(piece.quotation);
      left -= piece.quotation.text.length;
      if (piece.image !== undefined) images.push(piece.image);
      if (piece.part !== undefined)
        chat.print.note(`${nameInHeading(mention.path)} is attached in part: ${piece.part}`);
    }
  }
  for (const problem of problems) chat.print.note(problem);
  const message = [text, ...problems.map((problem) => `(${problem})`)].join("\n\n");
  return { text: withQuotations(message, quotations), images };
}

function tooMuch(): Piece {
  return { problem: `a message takes ${MAX_FILES} files with ${MAX_CHARACTERS} characters; name it in another one` };
}

async function attach(mention: Mention, chat: ChatParts, task: Task): Promise<Piece> {
  const { path, kind } = mention;
  if (kind === "missing") return { problem: "the file does not exist; sent as text" };
  const name = kind === "folder" ? "ls" : "read";
  const result = await chat.session.runtime.call({ name, args: { path }, ...task }, { signal: chat.signal });
  if (result.error !== null) return { problem: errorText(result.error).replaceAll("\n", " ") };
  const { kind: content } = (result.payload?.data ?? {}) as ReadData;
  if (content === "image") return attachImage(path, result, chat);
  const part = partOf(result);
  const what = `${kind === "folder" ? "Folder" : "File"} ${nameInHeading(path)}`;
  const heading = part === undefined ? what : `${what}, ${part}; call ${name} for the rest`;
  return { quotation: { heading, text: textOf(result) }, part };
}

/** The data that `read` returns with the text. */
interface ReadData {
  readonly kind?: "text" | "image" | "binary";
  readonly media_type?: string;
  readonly size?: number;
  readonly sha256?: string | null;
  readonly start_line?: number | null;
  readonly end_line?: number | null;
  readonly total_lines?: number | null;
}

/** Undefined if the file was read completely. */
function partOf({ payload }: ToolCallResult): string | undefined {
  if (payload?.next_page_cursor === undefined && payload?.truncated_bytes !== true) return undefined;
  const { end_line, total_lines } = (payload.data ?? {}) as ReadData;
  const isCounted = typeof end_line === "number" && typeof total_lines === "number";
  return isCounted ? `lines 1 to ${end_line} of ${total_lines}` : "its beginning";
}

function textOf({ payload }: ToolCallResult): string {
  const text = (payload?.stdout ?? "").replace(/\n$/, "");
  return text === "" ? "(empty)" : text;
}

/** `read` returns the hash of an image; only bytes with that hash are sent. */
function attachImage(path: string, result: ToolCallResult, { session, place }: ChatParts): Piece {
  const { media_type = "", size = 0, sha256 } = (result.payload?.data ?? {}) as ReadData;
  const { provider } = session;
  if (provider.takes_images !== true) return { problem: `the model "${provider.name}" does not support images` };
  if (!IMAGE_TYPES.has(media_type))
    return { problem: `images of type ${media_type} are not supported; convert it to PNG` };
  if (size > MAX_IMAGE_BYTES)
    return { problem: `it has ${size} bytes, and at most ${MAX_IMAGE_BYTES} are allowed; make it smaller` };
  const bytes = readBytes(resolve(place.cwd, path));
  if (bytes === undefined || createHash("sha256").update(bytes).digest("hex") !== sha256)
    return { problem: "it changed while it was read; send the message again" };
  const heading = `Image ${nameInHeading(path)}`;
  const text = `${media_type}, ${size} bytes, sha256 ${sha256}; shown with this message only`;
  return { quotation: { heading, text }, image: { media_type, data: bytes.toString("base64") } };
}

/** Undefined if it is no longer a regular file; opening a pipe must not block. */
function readBytes(path: string): Buffer | undefined {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    return undefined; // reported as changed: `read` opened it a moment ago
  }
  try {
    const stats = fstatSync(fd);
    return stats.isFile() && stats.size <= MAX_IMAGE_BYTES ? readFileSync(fd) : undefined;
  } finally {
    closeSync(fd);
  }
}
