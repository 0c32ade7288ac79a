/** Formatted text as the Bot API reads it, with its complaints. */
import { badRequest } from "../refusal.ts";
import { fixEntities } from "./fix-entities.ts";
import { byteOffset, Unparsable } from "./formatted.ts";
import type { Entity, Formatted } from "./formatted.ts";
import { parseHtml } from "./html.ts";
import { whyNoLink } from "./link.ts";
import { parseMarkdown, parseMarkdownV2 } from "./markdown.ts";

const PARSERS: Readonly<Record<string, (text: string) => Formatted>> = {
  html: parseHtml,
  markdown: parseMarkdown,
  markdownv2: parseMarkdownV2,
};

/** Those that a bot may set. */
const SETTABLE: ReadonlySet<string> = new Set([
  "bold",
  "italic",
  "underline",
  "strikethrough",
  "spoiler",
  "code",
  "pre",
  "text_link",
  "text_mention",
  "custom_emoji",
  "blockquote",
  "expandable_blockquote",
]);
/** Telegram finds these by itself and ignores what a bot says of them. */
const FOUND: ReadonlySet<string> = new Set([
  "mention",
  "hashtag",
  "cashtag",
  "bot_command",
  "url",
  "email",
  "phone_number",
  "bank_card_number",
]);
const MAX_OFFSET = 1_000_000;

export interface ReadText extends Formatted {
  /** Given entities that Telegram did not take as they were: dropped or cut, without a word to the bot. */
  readonly altered_entities: readonly Entity[];
}

export function readFormatted(text: string, mode: string, entities: unknown): ReadText {
  if (mode === "") return withGiven(text, entities);
  const parse = PARSERS[mode.toLowerCase()];
  if (parse === undefined) throw badRequest("unsupported parse_mode");
  try {
    return { ...trimmed(parse(cleaned(text))), altered_entities: [] };
  } catch (error) {
    if (error instanceof Unparsable) throw badRequest(`can't parse entities: ${error.message}`);
    throw error;
  }
}

function withGiven(text: string, given: unknown): ReadText {
  const entities = readEntities(text, given);
  const fixed = fixEntities(entities);
  const isKept = (entity: Entity): boolean =>
    fixed.some(
      ({ type, offset, length }) => type === entity.type && offset === entity.offset && length === entity.length,
    );
  const moved = fixed.map((entity) => {
    const offset = cleaned(text.slice(0, entity.offset)).length;
    return { ...entity, offset, length: cleaned(text.slice(0, entity.offset + entity.length)).length - offset };
  });
  return {
    ...trimmed({ text: cleaned(text), entities: moved }),
    altered_entities: entities.filter((entity) => !isKept(entity)),
  };
}

/** Carriage returns go, and other control characters become spaces: they are not shown. */
function cleaned(text: string): string {
  return text.replaceAll("\r", "").replaceAll(/[\0-\x08\x0b\x0c\x0e-\x1f]/g, " ");
}

function readEntities(text: string, given: unknown): readonly Entity[] {
  if (given === undefined) return [];
  if (!Array.isArray(given)) throw badRequest("can't parse entities: expected an Array of MessageEntity");
  const read = given.map(readEntity).filter((entity) => entity !== undefined);
  for (const entity of read) checkPlace(text, entity);
  return read;
}

function readEntity(given: unknown): Entity | undefined {
  const problem = (why: string): Error => badRequest(`can't parse MessageEntity: ${why}`);
  if (typeof given !== "object" || given === null) throw problem("expected an Object");
  const { type, offset, length, url, language, user, custom_emoji_id } = given as Partial<Entity>;
  for (const [name, value] of Object.entries({ offset, length })) {
    if (value === undefined) throw problem(`Can't find field "${name}"`);
    if (!Number.isSafeInteger(value)) throw problem(`Field "${name}" must be of type Number`);
  }
  if (type === undefined) throw problem(`Can't find field "type"`);
  if (typeof type !== "string") throw problem(`Field "type" must be of type String`);
  if (type === "") throw problem("Type is not specified");
  if (FOUND.has(type)) return undefined;
  if (!SETTABLE.has(type)) throw problem("Unsupported type specified");
  if (type === "text_link") {
    if (typeof url !== "string") throw problem(`Can't find field "url"`);
    const why = whyNoLink(url);
    if (why !== undefined) throw badRequest(`entity URL '${url}' is invalid: ${why}`);
  }
  return {
    type,
    offset: Number(offset),
    length: Number(length),
    ...(type === "text_link" ? { url } : {}),
    ...(type === "pre" && typeof language === "string" && language !== "" ? { language } : {}),
    ...(type === "text_mention" ? { user } : {}),
    ...(type === "custom_emoji" ? { custom_emoji_id } : {}),
  };
}

function checkPlace(text: string, { offset, length }: Entity): void {
  if (offset < 0 || offset > MAX_OFFSET) throw badRequest(`receive an entity with incorrect offset ${offset}`);
  if (length < 0 || length > MAX_OFFSET) throw badRequest(`receive an entity with incorrect length ${length}`);
  if (offset + length > text.length)
    throw badRequest(
      `entity beginning at UTF-16 offset ${offset} ends after the end of the text at UTF-16 offset ${text.length}`,
    );
  if (isInside(text, offset))
    throw badRequest(`entity begins in a middle of a UTF-16 symbol at byte offset ${byteOffset(text, offset)}`);
  if (isInside(text, offset + length))
    throw badRequest(
      `entity beginning at UTF-16 offset ${offset} ends in a middle of a UTF-16 symbol at byte offset ${byteOffset(text, offset + length)}`,
    );
}

/** Between the two halves of one character. */
function isInside(text: string, at: number): boolean {
  return at > 0 && /^[\udc00-\udfff]/.test(text.slice(at, at + 1)) && /[\ud800-\udbff]$/.test(text.slice(at - 1, at));
}

/** White space around the text is not sent, but what an entity holds at the beginning stays. */
function trimmed({ text, entities }: Formatted): Formatted {
  const first = Math.min(text.length, ...entities.map(({ offset }) => offset));
  const cut = Math.min(first, text.length - text.trimStart().length);
  const kept = text.slice(cut).trimEnd();
  const moved = entities
    .map((entity) => {
      const offset = entity.offset - cut;
      return { ...entity, offset, length: Math.min(entity.length, kept.length - offset) };
    })
    .filter(({ length }) => length > 0);
  return { text: kept, entities: moved };
}
