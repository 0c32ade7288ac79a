import { isNewline, setOf } from "../text/character-sets.ts";
import type { Span } from "../shapes/find-shape.ts";
import { codeAt } from "../text/text-view.ts";
import type { View } from "../text/text-view.ts";

/** A longer line is not one of a listing. A stream keeps at least two of them. */
export const LONGEST_FRAMED = 240;
/** Shorter words are skipped, unless they continue a key. */
export const LEAST = 32;
const LONGEST_BODY = 80;
/** With adjacent characters: the letter of a written-out line end, the sign of a diff. */
const LONGEST_RUN = LONGEST_BODY + 4;

const WORDS = /[A-Za-z0-9+/]{4,}={0,2}/g;
const COLOURS = /\x1b\[[\d;?]{0,16}[A-Za-z]/g;
const LINE_END = /[\r\n]|\\[nr]/;

/** A line as displayed: without colors. */
export interface Line extends Span {
  readonly text: string;
  /** The position of each character of `text`; undefined if nothing was removed. */
  readonly places: readonly number[] | undefined;
}

/** A word of base64 in a line. */
export interface Body {
  readonly column: number;
  readonly text: string;
}

export interface FramedLine {
  readonly line: Line;
  readonly body: Body;
}

/** Lower case, upper case, digits and signs, as bits. */
const KINDS = kindsOf(["a-z", "A-Z", "0-9", "+/"]);

function kindsOf(kinds: readonly string[]): Uint8Array {
  const table = new Uint8Array(128);
  for (const [index, kind] of kinds.entries()) {
    for (const [code, isOne] of setOf(kind).entries()) if (isOne === 1) table[code] = 1 << index;
  }
  return table;
}

interface Mix {
  /** How often the kind of character changes. In random base64, two times in three. */
  readonly changes: number;
  /** The bits of all kinds it contains. */
  readonly kinds: number;
}

export function mixOf(text: string): Mix {
  let changes = 0;
  let kinds = 0;
  let last = 0;
  for (let at = 0; at < text.length; at++) {
    const kind = kindAt(text, at);
    kinds |= kind;
    if (kind !== last && last !== 0) changes++;
    last = kind;
  }
  return { changes, kinds };
}

/** Letters of both cases, and a digit or sign. */
function isMixed(kinds: number): boolean {
  return (kinds & 3) === 3 && kinds > 3;
}

/**
 * Whether the line ending at a position may contain a word that is a line of a key. Nearly all lines do not: the search
 * continues from the line before, and reads one of 32 characters.
 */
export function mayHoldBody(view: View, lineEnd: number): boolean {
  const { text, search } = view;
  if (search.lineEnd < lineEnd) {
    search.from = search.lineEnd;
    search.lineEnd = lineEnd;
  }
  const from = Math.max(search.from, view.floor, lineEnd - LONGEST_FRAMED, 0);
  if (search.word < from) search.word = nextWord(text, from);
  if (search.word < lineEnd) return true;
  if (search.colour < from) search.colour = indexOrEnd(text, "\x1b[", from);
  if (search.colour >= lineEnd) return false;
  const shown = text.slice(from, lineEnd).replaceAll(COLOURS, "");
  return nextWord(shown, 0) < shown.length;
}

function indexOrEnd(text: string, word: string, from: number): number {
  const at = text.indexOf(word, from);
  return at < 0 ? text.length : at;
}

/** The start of the next word that may be a line of a key, or the end of the text. */
function nextWord(text: string, from: number): number {
  let done = from;
  for (let at = from + LEAST - 1; at < text.length; at += LEAST) {
    let kinds = kindAt(text, at);
    if (kinds === 0) continue;
    let start = at;
    for (let kind = kinds; start > done && (kind = kindAt(text, start - 1)) !== 0; start--) kinds |= kind;
    let end = at + 1;
    for (let kind = kinds; (kind = kindAt(text, end)) !== 0; end++) kinds |= kind;
    if (isMixed(kinds) && end - start >= LEAST && end - start <= LONGEST_RUN && isLikeBody(text, start, end))
      return start;
    done = end;
    at = end;
  }
  return text.length;
}

function kindAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code < 128 ? (KINDS[code] as number) : 0;
}

function isLikeBody(text: string, start: number, end: number): boolean {
  return !isMailLine(text, start, end) && mixOf(text.slice(start, end)).changes * 4 >= end - start;
}

/** The longest word of a line that may be a line of a key. */
export function longestBody(line: Line): Body | undefined {
  let longest: Body | undefined;
  for (const each of bodiesOf(line)) {
    const { column, text } = each;
    if (text.length < LEAST || text.length <= (longest?.text.length ?? 0) || !isAlone(line, each)) continue;
    if (isLikeBody(line.text, column, column + text.length)) longest = each;
  }
  return longest;
}

/** A line of only base64, as wide as in mail. If it belongs to a key, the key's last line shows it. */
function isMailLine(text: string, start: number, end: number): boolean {
  if (end - start !== 72 && end - start !== 76) return false;
  return (
    (start === 0 || isNewline(text.charCodeAt(start - 1))) && (end === text.length || isNewline(text.charCodeAt(end)))
  );
}

/** The line that ends at a position, from a limit on; undefined if it is too long. */
export function lineBefore(text: string, lineEnd: number, limit = 0): Line | undefined {
  let start = lineEnd;
  while (start > limit && !isLineEnd(text, start - 1)) {
    start--;
    if (lineEnd - start > LONGEST_FRAMED) return undefined;
  }
  return start >= lineEnd ? undefined : lineOf(text, start, lineEnd);
}

/** Whether a line end ends with this character. */
export function isLineEnd(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (code === 10 || code === 13) return true;
  return (code === 110 || code === 114) && text.charCodeAt(at - 1) === 92;
}

function lineOf(text: string, start: number, end: number): Line {
  const raw = text.slice(start, end);
  if (!raw.includes("\x1b[")) return { start, end, text: raw, places: undefined };
  const places: number[] = [];
  let shown = "";
  let at = 0;
  const keep = (until: number): void => {
    shown += raw.slice(at, until);
    for (; at < until; at++) places.push(start + at);
  };
  for (const { index, 0: colour } of raw.matchAll(COLOURS)) {
    keep(index);
    at = index + colour.length;
  }
  keep(raw.length);
  return { start, end, text: shown, places };
}

export function spanOf({ start, places }: Line, { column, text }: Body): Span {
  const last = column + text.length - 1;
  if (places === undefined) return { start: start + column, end: start + last + 1 };
  return { start: places[column] ?? start, end: (places[last] ?? start) + 1 };
}

export function bodiesOf({ text }: Line): readonly Body[] {
  return Array.from(text.matchAll(WORDS), ({ index, 0: word }) => {
    // Diff signs, before a line and around a word of it.
    const isAdded = word.startsWith("+") && (word.length === 65 || word.length === 71) && isBlank(text, index);
    const isWord = word.startsWith("+") && text[index - 1] === "{";
    const end = isWord && word.endsWith("+") && text[index + word.length] === "}" ? -1 : undefined;
    return isAdded || isWord ? { column: index + 1, text: word.slice(1, end) } : { column: index, text: word };
  });
}

function isBlank(text: string, end: number): boolean {
  return text.slice(0, end).trim() === "";
}

/** Not a part of a token or a URL. */
const PART = /[_%.~]$|[A-Za-z]-$/;
/** Before a hash (SHA-384 is as wide as a line of a key) and in XML signatures. */
const PUBLIC =
  /(?:sha|md)[-_]?\d{1,3}[-_:= ]{1,2}$|sha[-_]?384|(?:certificate|signaturevalue|digestvalue|modulus)\b[^<>]{0,99}>$/i;

/** A separate word that is not a hash or a public key. */
export function isAlone(line: Line, body: Body): boolean {
  if (body.text.length > LONGEST_BODY || !isMixed(mixOf(body.text).kinds) || body.text.startsWith("AAAA")) return false;
  const before = line.text.slice(0, body.column);
  return !PART.test(before.slice(-2)) && !PUBLIC.test(before) && isOver(line, body);
}

/** Whether the word is not followed by signs outside base64. */
export function isOver({ text }: Line, { column, text: body }: Body): boolean {
  return !/^[-_%.~]/.test(text.slice(column + body.length, column + body.length + 1));
}

/** Whether the same text follows two words, ignoring spaces and numbers. */
function restLike(line: Line, body: Body, next: Line, other: Body): boolean {
  const rest = frameOf(line.text.slice(body.column + body.text.length));
  return frameOf(next.text.slice(other.column + other.text.length)).trim() === rest.trim();
}

/** Signs and runs of digits differ from line to line. */
export function frameOf(prefix: string): string {
  return prefix.replaceAll(/\d+/g, "0").replaceAll(/\s+/g, " ");
}

/** The part of a line at the body's position in the line before: same column, or after the same text. */
export function bodyLike({ line, body }: FramedLine, next: Line): Body | undefined {
  const bodies = bodiesOf(next);
  const inColumn = bodies.find(({ column }) => column === body.column);
  if (inColumn !== undefined && (inColumn.text.length === body.text.length || restLike(line, body, next, inColumn)))
    return inColumn;
  const added = bodies.find(({ column, text }) => column === body.column - 1 && text.startsWith("+"));
  if (added !== undefined) return { column: body.column, text: added.text.slice(1) };
  const frame = frameOf(line.text.slice(0, body.column));
  return bodies.find(({ column }) => frameOf(next.text.slice(0, column)) === frame);
}

/** Base64, and not a word. */
export function isBase64(text: string): boolean {
  return text.length <= LONGEST_BODY && /=|\d|[+/]|[a-z][A-Z]/.test(text);
}

/** The next line that has letters or digits; undefined if there is none nearby. */
export function lineAfter(view: View, from: number): Line | undefined {
  const { text } = view;
  let start = from;
  for (let skipped = 0; skipped < 4; skipped++) {
    while (start < text.length && LINE_END.test(text.slice(start, start + 1 + (text.charCodeAt(start) === 92 ? 1 : 0))))
      start += text.charCodeAt(start) === 92 ? 2 : 1;
    let end = start;
    while (end - start <= LONGEST_FRAMED && !isEndAt(view, end)) end++;
    if (view.short || end - start > LONGEST_FRAMED || end === start) return undefined;
    const line = lineOf(text, start, end);
    if (/[A-Za-z0-9]/.test(line.text)) return line;
    start = end;
  }
  return undefined;
}

/** Whether a line ends before this character. */
function isEndAt(view: View, at: number): boolean {
  const code = codeAt(view, at);
  if (code < 0 || code === 10 || code === 13) return true;
  if (code !== 92) return false;
  const next = codeAt(view, at + 1);
  return next === 110 || next === 114;
}
