import type { MessageEntity } from "grammy/types";

/** What one message takes, in the units that JavaScript counts in, which are never fewer than Telegram's. */
export const MESSAGE_LIMIT = 4096;
/** More of them in one message are passed over. */
const MOST_ENTITIES = 100;
/** A border before this part of a message leaves too much of it empty: the next finer border is looked for. */
const LEAST_FULL = 0.4;

export interface Part {
  readonly text: string;
  /** Its blocks of code. Text with entities is taken as it is: nothing in it can be wrong. */
  readonly entities: readonly MessageEntity.PreMessageEntity[];
}

interface Block {
  readonly start: number;
  readonly end: number;
  readonly language: string;
}

/**
 * A text as messages. Cut between paragraphs, else lines, sentences, words; a block of code stays whole where it fits
 * into one message, and goes on as a block in the next where it does not. Nothing but blanks is lost at a cut.
 */
export function splitText(text: string, limit: number = MESSAGE_LIMIT): readonly Part[] {
  const { plain, blocks } = findBlocks(text.toWellFormed());
  const parts: Part[] = [];
  let passed = 0; // blocks that lie before the part in hand: looked at no more
  for (let start = skipBlank(plain, 0); start < plain.length;) {
    while ((blocks[passed]?.end ?? Number.POSITIVE_INFINITY) <= start) passed++;
    const near = nearBlocks(blocks, passed, start + limit);
    const end = plain.length - start <= limit ? plain.length : findCut(plain, { start, limit, blocks: near });
    const part = partOf(plain, { start, end, blocks: near });
    if (part.text !== "") parts.push(part);
    start = skipBlank(plain, end);
  }
  return parts;
}

function nearBlocks(blocks: readonly Block[], from: number, before: number): readonly Block[] {
  let to = from;
  while ((blocks[to]?.start ?? Number.POSITIVE_INFINITY) < before) to++;
  return blocks.slice(from, to);
}

const OPENING = /^ {0,3}(`{3,}|~{3,})[ \t]*([\w+#.-]*)[^`]*$/;

/** The text without its fences, and where the code is. A fence that is never closed holds all that follows. */
function findBlocks(text: string): { readonly plain: string; readonly blocks: readonly Block[] } {
  const blocks: Block[] = [];
  const kept: string[] = [];
  let length = 0;
  let open: { readonly fence: string; readonly language: string; readonly start: number } | undefined;
  const close = (): void => {
    if (open !== undefined && length > open.start)
      blocks.push({ start: open.start, end: length - 1, language: open.language });
    open = undefined;
  };
  for (const line of text.split("\n")) {
    const fence = OPENING.exec(line);
    if (open === undefined && fence !== null) {
      open = { fence: fence[1] ?? "", language: fence[2] ?? "", start: length };
    } else if (open !== undefined && isClosing(line, open.fence)) close();
    else {
      kept.push(line);
      length += line.length + 1;
    }
  }
  close();
  return { plain: kept.join("\n"), blocks };
}

function isClosing(line: string, fence: string): boolean {
  const text = line.trim();
  return text.length >= fence.length && text === (fence[0] ?? "").repeat(text.length);
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

/** Where there is no border at all. Half a character would be none. */
function hardCut(plain: string, start: number, end: number): number {
  const isInsidePair = /[\ud800-\udbff]/.test(plain.charAt(end - 1));
  return isInsidePair && end - 1 > start ? end - 1 : end;
}

/** What stands further to the right is not worth a message of blanks. */
const MOST_INDENT = 200;

/** Blank lines before a part are not shown; what indents its first line is. */
function skipBlank(plain: string, from: number): number {
  let at = from;
  for (let i = from; i < plain.length; i++) {
    if (plain[i] === "\n") at = i + 1;
    else if (!/\s/.test(plain.charAt(i))) return Math.max(at, i - MOST_INDENT);
  }
  return plain.length;
}

function partOf(plain: string, { start, end, blocks }: Omit<Cutting, "limit"> & { readonly end: number }): Part {
  const text = plain.slice(start, end).trimEnd();
  const last = start + text.length;
  const entities = blocks.flatMap((block): MessageEntity.PreMessageEntity[] => {
    const from = Math.max(block.start, start);
    const length = Math.min(block.end, last) - from;
    if (length <= 0) return [];
    const { language } = block;
    return [{ type: "pre", offset: from - start, length, ...(language === "" ? {} : { language }) }];
  });
  return { text, entities: entities.slice(0, MOST_ENTITIES) };
}
