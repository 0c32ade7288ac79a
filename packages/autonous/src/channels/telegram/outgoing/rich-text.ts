import type { MessageEntity } from "grammy/types";

/** Text as Telegram takes it: no parse mode, the formatting as entities that say what is bold, code or a link. */
export interface RichText {
  readonly text: string;
  readonly entities: readonly MessageEntity[];
}

export type Mark =
  | { readonly type: "bold" | "italic" | "strikethrough" | "code" | "blockquote" }
  | { readonly type: "pre"; readonly language?: string }
  | { readonly type: "text_link"; readonly url: string };

export function plainText(text: string): RichText {
  return { text, entities: [] };
}

export function joinRich(parts: readonly RichText[], between = ""): RichText {
  const texts: string[] = [];
  const entities: MessageEntity[] = [];
  let length = 0;
  for (const part of parts) {
    if (length > 0 || texts.length > 0) length += between.length;
    for (const entity of part.entities) entities.push({ ...entity, offset: entity.offset + length });
    texts.push(part.text);
    length += part.text.length;
  }
  return { text: texts.join(between), entities };
}

/**
 * Without secrets that were not seen before the marks of Markdown were removed (`ghp_**a1**B2`, `ghp\\_a1B2`). Where there
 * is one, the text has no formatting: its places mean other characters then.
 */
export function redactRich({ text, entities }: RichText, redact: (text: string) => string): RichText {
  const redacted = redact(text);
  if (redacted !== text) return plainText(redacted);
  return { text, entities: entities.filter((each) => each.type !== "text_link" || redact(each.url) === each.url) };
}

/** All of it bold, code, a link … */
export function markAll({ text, entities }: RichText, mark: Mark): RichText {
  return { text, entities: [{ ...mark, offset: 0, length: text.length }, ...entities] };
}

/** The text with something before each of its lines but the first. Blank lines and blocks of code stay as they are. */
export function indentLines(rich: RichText, before: string): RichText {
  const { text, entities } = rich;
  const blocks = entities.filter(({ type }) => type === "pre");
  const places = lineStarts(text).filter(
    (at) => text[at] !== "\n" && at < text.length && !blocks.some((pre) => at >= pre.offset && at < endOf(pre)),
  );
  const countUpTo = (limit: number): number => {
    const found = firstIndex(places, (at) => at > limit);
    return found * before.length;
  };
  const pieces = places.map((at, index) => `${before}${text.slice(at, places[index + 1])}`);
  return {
    text: `${text.slice(0, places[0])}${pieces.join("")}`,
    entities: entities.map((entity) => {
      const offset = entity.offset + countUpTo(entity.offset);
      const end = endOf(entity) + countUpTo(endOf(entity) - 1);
      return { ...entity, offset, length: end - offset };
    }),
  };
}

function lineStarts(text: string): readonly number[] {
  const starts: number[] = [];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

export function endOf({ offset, length }: Pick<MessageEntity, "offset" | "length">): number {
  return offset + length;
}

/** Of a sorted list in which everything from some place on is so: that place, by halving. */
export function firstIndex<Item>(sorted: readonly Item[], isSo: (item: Item) => boolean): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isSo(sorted[middle] as Item)) high = middle;
    else low = middle + 1;
  }
  return low;
}

const SOLID: ReadonlySet<string> = new Set(["pre", "code", "text_link"]);
/** Which of two that share characters stays: the one named first. */
const STRONGEST = ["pre", "text_link", "code"];

/**
 * Entities as Telegram's rules want them: none in the middle of a character, none empty or with blanks at its ends,
 * nothing inside of code, one in another of the same kind dropped, code in a link shown as the link. In order, the outer
 * ones first. Expects entities that came of a tree: two that share characters are nested.
 */
export function tidyRich({ text, entities }: RichText): RichText {
  const trimmed = entities.flatMap((entity) => trimEntity(text, entity));
  const solid = withoutOverlap(trimmed.filter(({ type }) => SOLID.has(type)));
  const closed = solid.filter(({ type }) => type !== "text_link");
  const others = trimmed
    .filter(({ type }) => !SOLID.has(type))
    .flatMap((entity) => (isQuote(entity) ? [entity] : outside(entity, closed)))
    .flatMap((entity) => trimEntity(text, entity));
  return { text, entities: inOrder([...withoutSame(inOrder(others)), ...solid]) };
}

function isQuote({ type }: MessageEntity): boolean {
  return type === "blockquote" || type === "expandable_blockquote";
}

function inOrder(entities: readonly MessageEntity[]): readonly MessageEntity[] {
  return entities.toSorted((one, other) => one.offset - other.offset || other.length - one.length);
}

/** Blanks indent the first line of code, also in a quote: there only line ends are taken off. Gives nothing where nothing is left. */
export function trimEntity(text: string, entity: MessageEntity): readonly MessageEntity[] {
  const isIndented = entity.type === "pre" || isQuote(entity);
  const blank = isIndented ? /[\n\r]/ : /\s/;
  let start = Math.max(0, entity.offset);
  let end = Math.min(text.length, endOf(entity));
  if (isInsidePair(text, start)) start++;
  if (isInsidePair(text, end)) end--;
  while (start < end && blank.test(text.charAt(start))) start++;
  while (end > start && /\s/.test(text.charAt(end - 1))) end--;
  return end > start ? [{ ...entity, offset: start, length: end - start }] : [];
}

/** Between the two halves of one character. */
function isInsidePair(text: string, at: number): boolean {
  return /[\ud800-\udbff]/.test(text.charAt(at - 1)) && /[\udc00-\udfff]/.test(text.charAt(at));
}

function withoutOverlap(entities: readonly MessageEntity[]): readonly MessageEntity[] {
  const kept: MessageEntity[] = [];
  const rank = ({ type }: MessageEntity): number => STRONGEST.indexOf(type);
  for (const entity of inOrder(entities)) {
    const last = kept.at(-1);
    if (last === undefined || endOf(last) <= entity.offset) kept.push(entity);
    else if (rank(entity) < rank(last)) kept[kept.length - 1] = entity;
  }
  return kept;
}

/** What of it lies outside of code. */
function outside(entity: MessageEntity, code: readonly MessageEntity[]): readonly MessageEntity[] {
  const end = endOf(entity);
  const parts: MessageEntity[] = [];
  let start = entity.offset;
  for (let at = firstIndex(code, (each) => endOf(each) > start); at < code.length; at++) {
    const hole = code[at];
    if (hole === undefined || hole.offset >= end) break;
    if (hole.offset > start) parts.push({ ...entity, offset: start, length: hole.offset - start });
    start = Math.max(start, endOf(hole));
  }
  return start < end ? [...parts, { ...entity, offset: start, length: end - start }] : parts;
}

function withoutSame(entities: readonly MessageEntity[]): readonly MessageEntity[] {
  const ends = new Map<string, number>();
  return entities.filter((entity) => {
    if (entity.offset < (ends.get(entity.type) ?? 0)) return false;
    ends.set(entity.type, endOf(entity));
    return true;
  });
}
