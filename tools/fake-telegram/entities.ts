/** Formatted text as the Bot API reads it, with its complaints. */
import { byteOffset, Unparsable } from "./formatted.ts";
import type { Entity, Formatted } from "./formatted.ts";
import { parseHtml } from "./html.ts";
import { parseMarkdown, parseMarkdownV2 } from "./markdown.ts";
import { badRequest } from "./refusal.ts";

const PARSERS: Readonly<Record<string, (text: string) => Formatted>> = {
  html: parseHtml,
  markdown: parseMarkdown,
  markdownv2: parseMarkdownV2,
};

export function readFormatted(text: string, mode: string, entities: unknown): Formatted {
  if (mode === "") return trimmed({ text: cleaned(text), entities: readEntities(text, entities) });
  const parse = PARSERS[mode.toLowerCase()];
  if (parse === undefined) throw badRequest("unsupported parse_mode");
  try {
    return trimmed(parse(cleaned(text)));
  } catch (error) {
    if (error instanceof Unparsable) throw badRequest(`can't parse entities: ${error.message}`);
    throw error;
  }
}

/** Carriage returns go, and other control characters become spaces: nobody sees them. */
function cleaned(text: string): string {
  return text.replaceAll("\r", "").replaceAll(/[\0-\x08\x0b\x0c\x0e-\x1f]/g, " ");
}

function readEntities(text: string, given: unknown): readonly Entity[] {
  if (given === undefined) return [];
  if (!Array.isArray(given)) throw badRequest("can't parse entities: expected an Array of MessageEntity");
  return given.map((each: unknown) => {
    const { type, offset, length, ...more } = (
      typeof each === "object" && each !== null ? each : {}
    ) as Partial<Entity>;
    if (typeof type !== "string") throw badRequest(`can't parse MessageEntity: Can't find field "type"`);
    if (!Number.isSafeInteger(offset) || offset === undefined)
      throw badRequest(`can't parse MessageEntity: Field "offset" must be of type Number`);
    if (!Number.isSafeInteger(length) || length === undefined)
      throw badRequest(`can't parse MessageEntity: Field "length" must be of type Number`);
    if (offset < 0 || length < 0) throw badRequest("receive an entity with incorrect offset or length");
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
    return { type, offset, length, ...more };
  });
}

/** Between the two halves of one character. */
function isInside(text: string, at: number): boolean {
  return at > 0 && /^[\udc00-\udfff]/.test(text.slice(at, at + 1)) && /[\ud800-\udbff]$/.test(text.slice(at - 1, at));
}

/** White space around the whole is not sent, but what an entity holds at the beginning stays. */
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
