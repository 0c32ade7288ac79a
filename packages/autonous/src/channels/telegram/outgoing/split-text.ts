import type { MessageEntity } from "grammy/types";
import { endOf, firstIndex, trimEntity } from "./rich-text.ts";
import type { RichText } from "./rich-text.ts";

/** What one message takes, in the units that JavaScript counts in, which are never fewer than Telegram's. */
export const MESSAGE_LIMIT = 4096;
/** Telegram ignores what is beyond. */
export const MAX_ENTITIES = 100;
/** A border before this part of a message leaves too much of it empty: the next finer border is looked for. */
const LEAST_FULL = 0.4;
/** A message may be this much shorter so that all of its formatting fits. */
const LEAST_FORMATTED = 0.25;

/**
 * A text as messages. Cut between paragraphs, else lines, sentences, words; a block of code stays in one piece where it fits
 * into one message, and goes on as a block in the next where it does not, as all formatting does. Nothing but blanks is
 * lost at a cut. The entities have to be in order, outer ones first.
 */
export function splitText({ text: plain, entities }: RichText, limit: number = MESSAGE_LIMIT): readonly RichText[] {
  const parts: RichText[] = [];
  let passed = 0; // entities that end before the part that is made: looked at no more
  for (let start = skipBlank(plain, 0); start < plain.length;) {
    while (passed < entities.length && endOf(entities[passed] as MessageEntity) <= start) passed++;
    const near = entities
      .slice(
        passed,
        firstIndex(entities, ({ offset }) => offset >= start + limit),
      )
      .filter((entity) => endOf(entity) > start);
    const most = roomFor(near, { start, limit });
    const blocks = near.filter(({ type }) => type === "pre").map((pre) => ({ start: pre.offset, end: endOf(pre) }));
    const end = plain.length - start <= most ? plain.length : findCut(plain, { start, limit: most, blocks });
    const part = partOf(plain, { start, end, entities: near });
    if (part.text !== "") parts.push(part);
    start = skipBlank(plain, end);
  }
  return parts;
}

interface Block {
  readonly start: number;
  readonly end: number;
}

/** How long the part may be so that no entity in it is one too many. */
function roomFor(near: readonly MessageEntity[], { start, limit }: Omit<Cutting, "blocks">): number {
  const surplus = near[MAX_ENTITIES];
  return surplus === undefined ? limit : Math.max(Math.ceil(limit * LEAST_FORMATTED), surplus.offset - start);
}

interface Cutting {
  readonly start: number;
  readonly limit: number;
  readonly blocks: readonly Block[];
}

function findCut(plain: string, { start, limit, blocks }: Cutting): number {
  const end = start + limit;
  const cutBlock = blocks.find((block) => block.start < end && block.end > end);
  if (cutBlock !== undefined) {
    const fits = cutBlock.end - cutBlock.start <= limit;
    if (fits && plain.slice(start, cutBlock.start).trim() !== "") return cutBlock.start;
    return (
      start + (lastBorder(plain.slice(start, end), CODE_BORDERS, () => true) ?? hardCut(plain, start, end) - start)
    );
  }
  const isFree = (offset: number): boolean =>
    !blocks.some((block) => block.start < start + offset && start + offset < block.end);
  return start + (lastBorder(plain.slice(start, end), PROSE_BORDERS, isFree) ?? hardCut(plain, start, end) - start);
}

/** From the best border to the least. A cut comes after what is found. */
const PROSE_BORDERS = [/\n[ \t]*\n/g, /\n/g, /[.!?…]\s|[。！？]/gu, /\s/g] as const;
const CODE_BORDERS = [/\n/g, /\s/g] as const;

function lastBorder(
  window: string,
  borders: readonly RegExp[],
  isFree: (offset: number) => boolean,
): number | undefined {
  const least = window.length * LEAST_FULL;
  for (const border of borders) {
    const offsets = Array.from(window.matchAll(border), (match) => match.index + match[0].length);
    const last = offsets.findLast((offset) => offset < least || isFree(offset));
    if (last !== undefined && last >= least) return last;
  }
  return undefined;
}

/** Where nothing else separates the text. A surrogate pair is not halved. */
function hardCut(plain: string, start: number, end: number): number {
  const isInsidePair = /[\ud800-\udbff]/.test(plain.charAt(end - 1));
  return isInsidePair && end - 1 > start ? end - 1 : end;
}

/** What stands further to the right is not worth a message of blanks. */
const MAX_INDENT = 200;

/** Blank lines before a part are not shown; what indents its first line is. */
function skipBlank(plain: string, from: number): number {
  let at = from;
  for (let i = from; i < plain.length; i++) {
    if (plain[i] === "\n") at = i + 1;
    else if (!/\s/.test(plain.charAt(i))) return Math.max(at, i - MAX_INDENT);
  }
  return plain.length;
}

interface Cut {
  readonly start: number;
  readonly end: number;
  readonly entities: readonly MessageEntity[];
}

function partOf(plain: string, { start, end, entities }: Cut): RichText {
  const text = plain.slice(start, end).trimEnd();
  const moved = entities.flatMap((entity) => {
    const from = Math.max(entity.offset, start);
    const length = Math.min(endOf(entity), start + text.length) - from;
    return length <= 0 ? [] : trimEntity(text, { ...entity, offset: from - start, length });
  });
  return { text, entities: moved.slice(0, MAX_ENTITIES) };
}
