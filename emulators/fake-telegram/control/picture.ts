/** A message as text, about as it is seen on a phone. */
import type { Entity } from "../formatting/formatted.ts";
import type { Media } from "../media/files.ts";
import type { Button, ChatMessage } from "../world.ts";

/** What stands before and behind words of this kind. */
const MARKS: Readonly<Record<string, (entity: Entity) => readonly [string, string]>> = {
  bold: () => ["**", "**"],
  italic: () => ["_", "_"],
  underline: () => ["__", "__"],
  strikethrough: () => ["~~", "~~"],
  spoiler: () => ["||", "||"],
  code: () => ["`", "`"],
  pre: ({ language = "" }) => [`\`\`\`${language}\n`, "\n```"],
  text_link: ({ url = "" }) => ["[", `](${url})`],
  expandable_blockquote: () => ["", " ▾"],
};
const QUOTES: ReadonlySet<string> = new Set(["blockquote", "expandable_blockquote"]);

/** `#7 bot ↳ #6: text`, with what can be pressed below it. */
export function picture(message: ChatMessage): string {
  const { message_id, by, from, reply_to, quote } = message;
  const notes = notesOn(message);
  const reply = reply_to === undefined ? "" : ` ↳ #${reply_to}${quote === undefined ? "" : ` "${quote.text}"`}`;
  const head = `#${message_id} ${by === "bot" ? "bot" : from}${notes === "" ? "" : ` (${notes})`}${reply}:`;
  const body = [thingIn(message), marked(message)].filter((each) => each !== "").join(" ");
  const below = [...message.buttons.map(rowOf), ...(message.forces_reply ? ["(asks for a reply)"] : [])];
  return `${[`${head} ${body}`, ...below].join("\n").replaceAll("\n", "\n    ").trimEnd()}\n`;
}

function notesOn({ thread, is_silent, media_group_id, forwarded_from, before }: ChatMessage): string {
  const notes = [
    thread === undefined ? "" : `topic ${thread}`,
    forwarded_from === undefined ? "" : `forwarded from #${forwarded_from.message_id} of ${forwarded_from.chat}`,
    media_group_id === undefined ? "" : `album ${media_group_id}`,
    is_silent ? "silent" : "",
    before.length === 0 ? "" : "edited",
  ];
  return notes.filter((note) => note !== "").join(", ");
}

function thingIn({ media, content }: ChatMessage): string {
  if (media !== undefined) return `[${mediaInWords(media)}]`;
  return content === undefined ? "" : `[${Object.keys(content).join(", ")}]`;
}

function mediaInWords({ kind, file, sizes }: Media): string {
  const { width, height } = sizes.at(-1) ?? {};
  const size = width === undefined ? "" : `${width}×${height}`;
  const named = file.file_name === "" ? kind : kind === "document" ? file.file_name : `${kind} ${file.file_name}`;
  return [named, size, `${file.content.length} bytes`, `/documents/${file.file_id}`]
    .filter((each) => each !== "")
    .join(", ");
}

function rowOf(row: readonly Button[]): string {
  return row.map(({ text, url }) => (url === undefined ? `[${text}]` : `[${text} → ${url}]`)).join(" ");
}

/** The text with its entities in the manner of Markdown, for people; nothing is escaped. */
function marked({ text, entities }: ChatMessage): string {
  const quotes = entities.filter(({ type }) => QUOTES.has(type));
  const isQuoted = (at: number): boolean => quotes.some(({ offset, length }) => at >= offset && at < offset + length);
  let result = "";
  for (let at = 0; at <= text.length; at++) {
    result += entities.toReversed().map(closing(at)).join("");
    const isLineStart = at === 0 || text[at - 1] === "\n";
    if (isLineStart && isQuoted(at)) result += "┃ ";
    result += entities.map(opening(at)).join("") + (text[at] ?? "");
  }
  return result;
}

function opening(at: number): (entity: Entity) => string {
  return (entity) => (entity.offset === at ? (MARKS[entity.type]?.(entity)[0] ?? "") : "");
}

function closing(at: number): (entity: Entity) => string {
  return (entity) => (entity.offset + entity.length === at ? (MARKS[entity.type]?.(entity)[1] ?? "") : "");
}
