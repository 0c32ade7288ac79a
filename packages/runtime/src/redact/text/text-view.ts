import { CODE } from "./character-sets.ts";
import type { CharacterSet } from "./character-sets.ts";
import type { Walk } from "../keys/framed-lines.ts";
import { REDACTION_MARKER } from "../../protocol/marker.ts";

/**
 * The text that rules read. In a stream it is a window: more may arrive, and earlier text is dropped. Rules read it
 * through the functions below, which record when an answer depends on text still to come.
 */
export interface View {
  readonly text: string;
  /** The text is complete. */
  readonly final: boolean;
  /** Where the last redaction ended, or -1. A rule sees a "*" there, as it will when it reads its own output. */
  floor: number;
  /** A rule read beyond the end of a text that may continue: its answer is not final. */
  short: boolean;
  /** Decoded text: it is not decoded again. */
  readonly isDecoded: boolean;
  /** Only rules that recognize a secret by its shape apply, not those that use its surroundings. */
  readonly isBare: boolean;
  /** Known values, to be searched where their first characters are escaped or quoted. */
  readonly known: KnownMatcher | undefined;
  /** Known values found, in order, and the position up to which all are found. */
  values: readonly Stretch[];
  valuesTo: number;
  /** Escaped text before this was decoded and scanned; -1 for none, as in the next three. */
  decodedTo: number;
  /** Before this, quotes within words were removed and the words scanned. */
  unquotedTo: number;
  /** Lines of base64 before this belong to a certificate, a public key or a message. */
  plainEnd: number;
  /** The same for lines with text before or after the base64, from the first line of their block on. */
  listedTo: number;
  /** A line before this belonged to a private key. */
  keyEnd: number;
  /** Lines of base64 in this range were scanned, and their block did not end there. */
  ahead: { readonly from: number; readonly at: number } | undefined;
  /** The same for lines with text before or after the base64. */
  walk: Walk | undefined;
  /**
   * The line last searched for words that may be lines of a key, and the next such word and color after it: the end of
   * the text for none.
   */
  readonly search: { from: number; lineEnd: number; word: number; colour: number };
  /** The last unfinished word that was read, so that the many names in "a:b:c:" do not each read it again. */
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
  /** The length of the longest known value at a position, in any escaped or quoted form; 0 for none. */
  lengthAt(view: View, start: number): number;
}

/**
 * The only function that creates views. All have the same properties in the same order: the engine compiles rules for
 * one kind of object, and reads several times slower with more kinds.
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

/** How far rules look back, at most. The stream keeps this much released text. */
export const LOOK_BACK = 512;

/** The character's code, or -1 past the end. */
export function codeAt(view: View, at: number): number {
  if (at < view.text.length) return view.text.charCodeAt(at);
  if (!view.final) view.short = true;
  return -1;
}

/**
 * The code of the character before, "*" right after a redaction, -1 at the start of the text. In decoded text only the
 * second pass sees all redactions: a letter replaces them there, so that nothing new begins after one.
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

/** Where the run of characters of a set at `at` ends; reads at most `window` of them. */
export function runEnd(view: View, at: number, { of, window }: { of: CharacterSet; window: number }): number {
  const { text } = view;
  const limit = Math.min(at + window, text.length);
  let end = at;
  // Inlined for speed: adversarial texts spend most of their time here.
  for (; end < limit; end++) {
    const code = text.charCodeAt(end);
    if (code >= 128 || of[code] !== 1) return end;
  }
  if (end === text.length && end < at + window && !view.final) view.short = true;
  return end;
}

/** Where the run of characters of a set before `at` begins; reads at most `window`, and none before the floor. */
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

/** Up to `count` characters from `at` on, up to the end of the line. */
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

/** Whether the word is at `at`. */
export function follows(view: View, at: number, word: string): boolean {
  if (view.text.startsWith(word, at)) return true;
  const isCut = view.text.length - at < word.length && word.startsWith(view.text.slice(at));
  if (isCut && !view.final) view.short = true;
  return false;
}

/**
 * A text up to the marker in it. Text after an earlier redaction may have been out of reach before the redaction, so
 * that a rule that reads on would find more the second time.
 */
export function beforeMarker(text: string): string {
  const at = text.indexOf(REDACTION_MARKER);
  return at < 0 ? text : text.slice(0, at);
}

/** The first known value that ends after `at`, as an index into those found. */
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
 * A value as it is, and as it will be read once the known values in it are markers. One that begins with such a value
 * will be skipped.
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

/** Whether a position has a known value, or a part of one. */
export function hasValue(view: View, start: number, end: number): boolean {
  if (end > view.valuesTo && !view.final) view.short = true;
  const value = view.values[valueAfter(view, start)];
  return value !== undefined && value.start < end;
}

/** The end of the known value that covers a position, or the position. */
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

/** Where the spaces and tabs at `at` end; reads at most `limit` of them. */
export function skipBlanks(view: View, at: number, limit = 64): number {
  let end = at;
  while (end < at + limit) {
    const code = codeAt(view, end);
    if (code !== CODE.space && code !== CODE.tab) break;
    end++;
  }
  return end;
}
