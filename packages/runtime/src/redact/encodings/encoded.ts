import { CODE, isIn, isNewline, isQuote, isSpace, SETS, setOf } from "../text/character-sets.ts";
import type { SecretMatch, Span } from "../shapes/find-shape.ts";
import { endsColour, isDiffSign, pastColours } from "./colours.ts";
import { codeAt, codeBefore } from "../text/text-view.ts";
import type { View } from "../text/text-view.ts";

/** A part of a text with its escapes decoded, and the original position of each character. */
export interface DecodedPart {
  readonly text: string;
  /** Character `i` was written as `starts[i]` to `starts[i + 1]`. */
  readonly starts: Int32Array;
  /** Where a secret ends that continues beyond the part. */
  readonly rest: number;
  /** Quotes were removed too: a shell word as the program receives it. */
  readonly isUnquoted: boolean;
  /** A redaction is right before it. */
  readonly isBehind: boolean;
  /** Only colors were removed. Lines of a key are recognized by the lines around them, which a part lacks. */
  readonly isColoured?: boolean;
}

/** Escapes that may be used, without need, in a secret or in the sign before it. */
// oxfmt-ignore
export const ESCAPE_WORDS: readonly string[] = [
  "\\u", "\\x", "\\0", "\\1", "&#", "&quot;", "\x1b[",
  "%2", "%3d", "%3a", "%22", "%25", "%2d", "%2e", "%30", "%31", "%32", "%33", "%34", "%35", "%36", "%37", "%38", "%39",
  "%4", "%5", "%6", "%7",
];

// oxfmt-ignore
const NAMED: ReadonlyMap<string, string> = new Map([
  ["quot", '"'], ["apos", "'"], ["amp", "&"], ["lt", "<"], ["gt", ">"], ["equals", "="], ["colon", ":"],
  ["lowbar", "_"], ["num", "#"], ["percnt", "%"],
]);
const LONGEST_NAME = 6;
/** No escape is longer, not counting the backslashes of nesting before it. */
export const LONGEST_ESCAPE = 12;
/** How much text around an escape is decoded, within its line. A secret is found from either end of it. */
const BEFORE = 400;
const AFTER = 2048;
/** The end of a cut part is decoded again with the next one if it contains an escape. */
const OVERLAP = 256;
const ESCAPE_STARTS = setOf("\\&%");
/** At most three levels of encoding. */
const ROUNDS = 3;

/** The decoded text around an escape, to be scanned like any other. `anchor` is the beginning of the escape. */
export function findEncoded(view: View, { start }: Span): SecretMatch | undefined {
  if (view.isDecoded) return undefined;
  const isColour = view.text.charCodeAt(start) === CODE.escape;
  if (isColour && !isBehindText(view, start)) return undefined;
  const known = findKnownAround(view, start);
  if (view.decodedTo > start || isOnlyOfKnown(view, start)) return known;
  if (isColour) {
    if (!isInWord(view, start)) return known;
  } else if (escapeAt(view.text, start) === 0) {
    if (view.text.length - start < LONGEST_ESCAPE && !view.final) view.short = true;
    return known;
  }
  const from = lineStart(view, start);
  const end = lineEnd(view, start);
  const isCut = end === start + AFTER;
  const to = isCut ? beforeEscape(view, end) : end;
  const rest = isCut ? wordEnd(view, to) : to;
  if (view.short) return undefined;
  view.decodedTo = isCut ? to - OVERLAP : to;
  const isColoured = !/[\\&%]/.test(view.text.slice(from, to));
  const decoded = { ...decode(view, { from, to, rest }), isColoured };
  return { start, end: start, ...known, isBeside: true, decoded };
}

/** Whether text precedes the colors directly. Most colors begin a line or follow a diff sign or other colors. */
function isBehindText(view: View, start: number): boolean {
  const before = codeBefore(view, start);
  if (before < 0 || isSpace(before) || isDiffSign(view.text, start - 1)) return false;
  return !endsColour(view.text, start);
}

/** Characters of tokens and names, and the signs after names. */
const TOKEN_PARTS = setOf("A-Za-z0-9+/_.~=:-");

/** Whether colors split a token or a name; colors around words are everywhere. */
function isInWord(view: View, start: number): boolean {
  if (!isIn(TOKEN_PARTS, codeBefore(view, start))) return false;
  const end = pastColours(view.text, start);
  return isIn(TOKEN_PARTS, codeAt(view, end)) || view.short;
}

/** A known value is detected by this many of its first characters. An escape after them is read when it is reached. */
export const NOTICED = 4;

/** Quotes, and the characters before them, are not part of a value. */
const BEFORE_VALUE = setOf("'\"`$\\");

function isEscaping(text: string, at: number): boolean {
  return text.charCodeAt(at) === CODE.backslash && !isIn(BEFORE_VALUE, text.charCodeAt(at + 1));
}

/** A known value that has an escape, or a shell quote, among its first characters. */
export function findKnownAround(view: View, anchor: number): SecretMatch | undefined {
  if (view.known === undefined) return undefined;
  for (let start = anchor; start > anchor - NOTICED && start >= 0; start--) {
    const code = view.text.charCodeAt(start);
    if (start === anchor && code === CODE.escape) continue;
    if (start < anchor && isSpace(code)) return undefined;
    if (isIn(BEFORE_VALUE, code) && !isEscaping(view.text, start)) continue;
    const length = view.known.lengthAt(view, start);
    if (length > 0) return { start, end: start + length, isBeside: true };
  }
  return undefined;
}

/** Encoded spaces and slashes are in most URLs and in no token. */
function isOnlyOfKnown(view: View, start: number): boolean {
  return (
    view.text.charCodeAt(start) === CODE.percent &&
    codeAt(view, start + 1) === DIGIT_2 &&
    !isIn(TOKEN_SIGNS, codeAt(view, start + 2) | 32)
  );
}

const DIGIT_2 = 50;
/** %22 and %25, and those of tokens: %2d, %2e. */
const TOKEN_SIGNS = setOf("25de");

function lineStart({ text, floor }: View, at: number): number {
  const limit = Math.max(0, at - BEFORE, floor);
  let start = at;
  while (start > limit && !isNewline(text.charCodeAt(start - 1))) start--;
  return start;
}

function lineEnd(view: View, at: number): number {
  const { text, final } = view;
  const limit = Math.min(text.length, at + AFTER);
  let end = at;
  while (end < limit && !isNewline(text.charCodeAt(end))) end++;
  if (end === text.length && end < at + AFTER && !final) view.short = true;
  return end;
}

/** A part does not end within an escape. */
function beforeEscape({ text }: View, at: number): number {
  for (let start = at - 1; start > at - LONGEST_ESCAPE; start--) {
    if (isIn(ESCAPE_STARTS, text.charCodeAt(start))) return start;
  }
  return at;
}

/** The next escape is decoded separately, and may also be the quote that ends the word. */
function wordEnd(view: View, at: number): number {
  let end = at;
  for (; end < at + AFTER; end++) {
    const code = codeAt(view, end);
    if (code < 0 || isSpace(code) || isQuote(code) || isIn(ESCAPE_STARTS, code)) break;
  }
  return end;
}

export function decode(view: View, { from, to, rest }: { from: number; to: number; rest: number }): DecodedPart {
  const starts = new Int32Array(to - from + 1);
  for (let i = 0; i < starts.length; i++) starts[i] = from + i;
  const isBehind = from === view.floor;
  let decoded: DecodedPart = { text: view.text.slice(from, to), starts, rest, isUnquoted: false, isBehind };
  for (let round = 0; round < ROUNDS; round++) {
    const next = decodeOnce(decoded);
    if (next.text.length === decoded.text.length) break;
    decoded = next;
  }
  return decoded;
}

function decodeOnce({ text, starts, rest, isBehind }: DecodedPart): DecodedPart {
  const newStarts = new Int32Array(text.length + 1);
  let result = "";
  let count = 0;
  let copied = 0;
  const copy = (until: number): void => {
    result += text.slice(copied, until);
    for (; copied < until; copied++) newStarts[count++] = starts[copied] as number;
  };
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === CODE.escape) {
      const end = pastColours(text, at);
      if (!isIn(TOKEN_PARTS, text.charCodeAt(at - 1)) || !isIn(TOKEN_PARTS, text.charCodeAt(end))) continue;
      copy(at);
      copied = end;
      at = end - 1;
      continue;
    }
    if (!isIn(ESCAPE_STARTS, code)) continue;
    const head = at;
    while (code === CODE.backslash && text.charCodeAt(at + 1) === CODE.backslash) at++;
    const escape = escapeAt(text, at);
    if (escape === 0) continue;
    copy(head);
    const character = String.fromCodePoint(escape >> LENGTH_BITS).toWellFormed();
    result += character;
    for (let i = 0; i < character.length; i++) newStarts[count++] = starts[head] as number;
    at += (escape & LENGTH_MASK) - 1;
    copied = at + 1;
  }
  copy(text.length);
  newStarts[count] = starts[text.length] as number;
  return { text: result, starts: newStarts, rest, isUnquoted: false, isBehind };
}

export const LENGTH_BITS = 5;
export const LENGTH_MASK = (1 << LENGTH_BITS) - 1;

/** The escape at a position: the code of its character, with its length in the lowest bits. 0 if there is none. */
export function escapeAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code === CODE.percent) return numberAt(text, at, { skip: 1, most: 2, radix: 16 });
  if (code === CODE.ampersand) return entityAt(text, at);
  if (code !== CODE.backslash) return 0;
  const kind = text[at + 1] ?? "";
  const digits = DIGITS_AFTER[kind];
  if (digits === undefined) return 0;
  if (kind === "u" && text[at + 2] === "{") return numberAt(text, at, { skip: 3, most: 6, radix: 16, end: "}" });
  return numberAt(text, at, digits);
}

interface Digits {
  /** The text before the digits. */
  readonly skip: number;
  /** The number of digits; with an end, the maximum. */
  readonly most: number;
  readonly radix: 8 | 10 | 16;
  readonly end?: string;
}

// oxfmt-ignore
const DIGITS_AFTER: Readonly<Record<string, Digits>> = {
  u: { skip: 2, most: 4, radix: 16 }, U: { skip: 2, most: 8, radix: 16 }, x: { skip: 2, most: 2, radix: 16 },
  0: { skip: 1, most: 3, radix: 8 },  1: { skip: 1, most: 3, radix: 8 },
};

function numberAt(text: string, at: number, { skip, most, radix, end }: Digits): number {
  const from = at + skip;
  let stop = from;
  let value = 0;
  for (; stop < from + most; stop++) {
    const digit = digitOf(text.charCodeAt(stop));
    if (digit >= radix) break;
    value = value * radix + digit;
  }
  const isWhole = end === undefined ? stop === from + most : stop > from && text[stop] === end;
  if (!isWhole || value > 0x10_ffff) return 0;
  return (value << LENGTH_BITS) + (stop - at) + (end === undefined ? 0 : 1);
}

/** 16 or more if it is not a digit. */
function digitOf(code: number): number {
  if (!isIn(SETS.hex, code)) return 16;
  return code < 58 ? code - 48 : (code & 31) + 9;
}

function entityAt(text: string, at: number): number {
  if (text[at + 1] === "#") {
    const isHex = text[at + 2] === "x" || text[at + 2] === "X";
    const digits = isHex ? ({ skip: 3, most: 6, radix: 16 } as const) : ({ skip: 2, most: 7, radix: 10 } as const);
    return numberAt(text, at, { ...digits, end: ";" });
  }
  for (let end = at + 3; end <= at + 1 + LONGEST_NAME; end++) {
    if (text.charCodeAt(end) !== CODE.semicolon) continue;
    const character = NAMED.get(text.slice(at + 1, end));
    return character === undefined ? 0 : (character.charCodeAt(0) << LENGTH_BITS) + (end + 1 - at);
  }
  return 0;
}

/** How far before a secret the escape that reveals it may be. */
const NEAR = 80;

/** Maps secrets in a decoded text to the original text; only those that an escape hid. */
export function encodedSpans({ text, starts, rest }: DecodedPart, spans: readonly Span[]): readonly Span[] {
  return spans.flatMap(({ start, end }) => {
    const near = Math.max(0, start - NEAR);
    const from = starts[start] ?? 0;
    const to = starts[end] ?? 0;
    if (to - (starts[near] ?? 0) <= end - near) return [];
    return [{ start: from, end: end === text.length ? rest : to }];
  });
}
