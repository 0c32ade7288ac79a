import { CODE } from "./characters.ts";
import type { CharacterSet } from "./characters.ts";
import type { Walk } from "./framed-lines.ts";
import { REDACTION_MARKER } from "../protocol/marker.ts";

/**
 * The text that rules look at. In a stream it is a window: more may come, and what lies before it is gone.
 * A rule reads through the functions below, so that it is noticed when its answer hangs on text still to come.
 */
export interface View {
  readonly text: string;
  /** No more text will come. */
  readonly final: boolean;
  /** Where the last redaction ended, or -1. A rule sees a "*" there, as it will when it reads its own output. */
  floor: number;
  /** A rule looked past the end of a text that may go on: its answer does not count yet. */
  short: boolean;
  /** The text is one that was decoded: it is not decoded again. */
  readonly isDecoded: boolean;
  /** Only rules that know a secret by its own look count, not those that go by what stands around it. */
  readonly isBare: boolean;
  /** Known values, to be looked for where their first characters are escaped or quoted. */
  readonly known: KnownMatcher | undefined;
  /** Known values that were found, in order, and up to where they are all found. */
  values: readonly Stretch[];
  valuesTo: number;
  /** Up to here what is escaped was decoded and looked at; -1 for nothing, as in the next three. */
  decodedTo: number;
  /** Up to here quotes within words were removed and the words looked at. */
  unquotedTo: number;
  /** Up to here lines of base64 are those of a certificate, a public key or a message. */
  plainEnd: number;
  /** The same for lines that have something before or behind the base64, from the first line of their block on. */
  listedTo: number;
  /** Up to here a line was one of a private key. */
  keyEnd: number;
  /** Lines of base64 from one place to another were looked through, and their block has not ended there. */
  ahead: { readonly from: number; readonly at: number } | undefined;
  /** The same for lines that have something before or behind the base64. */
  walk: Walk | undefined;
  /**
   * The line that was looked at last for words that may be lines of a key, and the next such word, and colour, from there
   * on: the end of the text for none.
   */
  readonly search: { from: number; lineEnd: number; word: number; colour: number };
  /** The last word without an end that was read, so that the many names in "a:b:c:" do not each read it anew. */
  word: { readonly style: string; readonly start: number; readonly end: number } | undefined;
}

type Options = Partial<
  Omit<View, "text" | "short" | "ahead" | "walk" | "search" | "word" | "known" | "values" | "valuesTo">
> & {
  readonly known?: KnownMatcher | undefined;
};

interface Stretch {
  readonly start: number;
  readonly end: number;
}

interface KnownMatcher {
  /** The length of the longest known value that stands at a place, however it is escaped or quoted; 0 for none. */
  lengthAt(view: View, start: number): number;
}

/**
 * The one place that makes views. All of them have the same properties in the same order: the engine compiles rules
 * for one kind of object, and reads several times slower when it meets others.
 */
export function createView(text: string, options: Options = {}): View {
  const { final = true, floor = -1, isDecoded = false, isBare = false, known } = options;
  const { decodedTo = -1, unquotedTo = -1, plainEnd = -1, listedTo = -1, keyEnd = -1 } = options;
  return {
    text,
    final,
    floor,
    short: false,
    isDecoded,
    isBare,
    known,
    values: [],
    valuesTo: Infinity,
    decodedTo,
    unquotedTo,
    plainEnd,
    listedTo,
    keyEnd,
    ahead: undefined,
    walk: undefined,
    search: { from: 0, lineEnd: 0, word: -1, colour: -1 },
    word: undefined,
  };
}

const LETTER = 120;

/** How far rules look back, at most. The stream keeps that much of what it has already given out. */
export const LOOK_BACK = 512;

/** The character's code, or -1 past the end. */
export function codeAt(view: View, at: number): number {
  if (at < view.text.length) return view.text.charCodeAt(at);
  if (!view.final) view.short = true;
  return -1;
}

/**
 * The code of the character before, "*" right after a redaction, -1 at the start of the text. In a text that was decoded
 * only the second look sees all redactions: there a letter stands for them, so that nothing new begins behind one.
 */
export function codeBefore(view: View, at: number): number {
  if (at <= view.floor) return view.isDecoded ? LETTER : CODE.star;
  return at <= 0 ? -1 : view.text.charCodeAt(at - 1);
}

/** Up to `count` characters before `at`. */
export function leftOf(view: View, at: number, count: number): string {
  if (at - count >= view.floor || view.floor < 0) return view.text.slice(Math.max(0, at - count), at);
  return `${view.isDecoded ? "x" : "*"}${view.text.slice(view.floor, at)}`;
}

/** Where the characters of a set from `at` on end; at most `window` of them are passed. */
export function runEnd(view: View, at: number, { of, window }: { of: CharacterSet; window: number }): number {
  const { text } = view;
  const limit = Math.min(at + window, text.length);
  let end = at;
  // Written out rather than called: this is where the time goes on texts that are made to be slow.
  for (; end < limit; end++) {
    const code = text.charCodeAt(end);
    if (code >= 128 || of[code] !== 1) return end;
  }
  if (end === text.length && end < at + window && !view.final) view.short = true;
  return end;
}

/** Where the characters of a set before `at` begin; at most `window` of them are passed, and none before the floor. */
export function runStart(view: View, at: number, { of, window }: { of: CharacterSet; window: number }): number {
  const { text } = view;
  const limit = Math.max(at - window, view.floor, 0);
  let start = at;
  for (; start > limit; start--) {
    const code = text.charCodeAt(start - 1);
    if (code >= 128 || of[code] !== 1) return start;
  }
  return start;
}

/** Up to `count` characters from `at` on, none beyond the end of the line. */
export function restOfLine(view: View, at: number, count: number): string {
  const { text } = view;
  const limit = Math.min(at + count, text.length);
  let end = at;
  for (; end < limit; end++) {
    const code = text.charCodeAt(end);
    if (code === 10 || code === 13) break;
  }
  if (end === text.length && end < at + count && !view.final) view.short = true;
  return text.slice(at, end);
}

/** Whether the word stands at `at`. */
export function follows(view: View, at: number, word: string): boolean {
  if (view.text.startsWith(word, at)) return true;
  const isCut = view.text.length - at < word.length && word.startsWith(view.text.slice(at));
  if (isCut && !view.final) view.short = true;
  return false;
}

/**
 * A text up to the marker in it. What stands behind an earlier redaction may have been out of reach when the secret was
 * still there, so that a rule that reads on would find more the second time.
 */
export function beforeMarker(text: string): string {
  const at = text.indexOf(REDACTION_MARKER);
  return at < 0 ? text : text.slice(0, at);
}

/** The first known value that ends behind `at`: where it stands among those found. */
function valueAfter({ values }: View, at: number): number {
  let low = 0;
  for (let high = values.length; low < high;) {
    const middle = (low + high) >> 1;
    if ((values[middle] as Stretch).end > at) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * A value as it stands, and as it will be read when the known values in it are markers. One that begins with such a
 * value will be skipped.
 */
export function readingsOf(view: View, start: number, end: number): readonly string[] {
  if (end > view.valuesTo && !view.final) view.short = true;
  const written = view.text.slice(start, end);
  let text = "";
  let at = start;
  for (let i = valueAfter(view, start); i < view.values.length; i++) {
    const value = view.values[i] as Stretch;
    if (value.start >= end) break;
    if (value.start <= start) return [written];
    // A backslash that the shell removes is redacted with it.
    const isEscaped = value.start > at && view.text.charCodeAt(value.start - 1) === CODE.backslash;
    text += view.text.slice(at, value.start - (isEscaped ? 1 : 0)) + REDACTION_MARKER;
    at = value.end;
  }
  return at === start ? [written] : [written, text + view.text.slice(at, Math.max(at, end))];
}

/** Whether a known value, or a part of one, stands in a place. */
export function hasValue(view: View, start: number, end: number): boolean {
  if (end > view.valuesTo && !view.final) view.short = true;
  const value = view.values[valueAfter(view, start)];
  return value !== undefined && value.start < end;
}

/** The end of the known value that goes across a place, or the place. */
export function pastValue(view: View, at: number): number {
  if (at > view.valuesTo && !view.final) view.short = true;
  const value = view.values[valueAfter(view, at)];
  return value !== undefined && value.start < at ? value.end : at;
}

/** Up to `count` characters from `at` on, across lines. */
export function rightOf(view: View, at: number, count: number): string {
  if (at + count > view.text.length && !view.final) view.short = true;
  return view.text.slice(at, at + count);
}

/** Where the spaces and tabs from `at` on end; at most `limit` of them are passed. */
export function skipBlanks(view: View, at: number, limit = 64): number {
  let end = at;
  while (end < at + limit) {
    const code = codeAt(view, end);
    if (code !== CODE.space && code !== CODE.tab) break;
    end++;
  }
  return end;
}
