import { CODE, isIn, isNewline, isQuote, isSpace, SETS, setOf } from "./character-sets.ts";
import type { CharacterSet } from "./character-sets.ts";
import { pastColours } from "../encodings/colours.ts";
import type { View } from "./text-view.ts";

/**
 * How a secret continues once it is known to be one. Deciding takes a bounded read; the secret itself may have any
 * length, and a stream consumes it piece by piece by the same rule.
 */
export type Tail =
  | { readonly kind: "run"; readonly set: CharacterSet }
  | { readonly kind: "word"; readonly style: WordStyle }
  | { readonly kind: "line" }
  | { readonly kind: "quoted"; readonly quote: number; readonly backslashes: number }
  | { readonly kind: "triple"; readonly quote: number }
  | { readonly kind: "block"; readonly indent: number }
  | { readonly kind: "key-body" };

/**
 * Where an unquoted value ends. `whole`: at white space, as in an .env file. `part`: also at characters that end a
 * value within a line. `encoded`: the signs around it are written %3D and %26.
 */
export type WordStyle = "whole" | "part" | "encoded";

/** `open`: the text ended first. Everything before `end` is settled. */
export interface Extent {
  readonly end: number;
  readonly open: boolean;
}

export function extend(view: View, at: number, tail: Tail): Extent {
  switch (tail.kind) {
    case "run":
      return runExtent(view, at, tail.set);
    case "word":
      return wordExtent(view, at, tail.style);
    case "line":
      return lineExtent(view, at);
    case "quoted":
      return quotedExtent(view, at, tail);
    case "triple":
      return tripleExtent(view, at, tail.quote);
    case "block":
      return blockExtent(view, at, tail.indent);
    case "key-body":
      return keyBodyExtent(view, at);
  }
}

function runExtent(view: View, at: number, set: CharacterSet): Extent {
  const { text } = view;
  for (let end = at; end < text.length; end++) {
    const code = text.charCodeAt(end);
    if (code < 128 && set[code] === 1) continue;
    const next = pastColours(text, end);
    if (next === text.length && next > end && !view.final) return { end, open: true };
    if (next === end || !isIn(set, text.charCodeAt(next))) return { end, open: false };
    end = next;
  }
  return { end: text.length, open: !view.final };
}

function lineExtent(view: View, at: number): Extent {
  const { text } = view;
  let end = at;
  while (end < text.length && !isNewline(text.charCodeAt(end))) end++;
  return { end, open: end === text.length && !view.final };
}

/** How far ahead `wordExtent` reads to see whether a comma or an ampersand begins the next pair. */
const NEXT_PAIR_WINDOW = 48;
const NEXT_PAIR = /(?:amp;)?[\w.%[\]-]{1,40}["']?[=:]/y;
/** A line end, tab or quote as written inside a JSON string or source code. */
const WRITTEN_OUT = /\\{1,32}[nrt"'`]/y;
const ENCODED_END = /%(?:2[267]|3[Bb]|0[Aa])/y;
/** Characters that never end a word. */
const IN_WORD = SETS.token68;
const CLOSERS = setOf(")}]");
const SEPARATORS = setOf(",;&|");

function wordExtent(view: View, at: number, style: WordStyle): Extent {
  const { text } = view;
  let end = at;
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end);
    if (code < 128 && IN_WORD[code] === 1) continue;
    const next = pastColours(text, end);
    if (next === text.length && next > end && !view.final) return { end, open: true };
    if (next > end && isIn(IN_WORD, text.charCodeAt(next))) {
      end = next;
      continue;
    }
    if (isSpace(code)) return { end, open: false };
    if (!view.final && end + NEXT_PAIR_WINDOW > text.length && !hasSpaceAfter(text, end)) return { end, open: true };
    if (style === "whole" ? endsWholeWord(text, end, code) : endsPart(text, end, style)) return { end, open: false };
  }
  return { end, open: !view.final };
}

function hasSpaceAfter(text: string, at: number): boolean {
  for (let i = at; i < text.length; i++) if (isSpace(text.charCodeAt(i))) return true;
  return false;
}

function endsWholeWord(text: string, at: number, code: number): boolean {
  return (code === CODE.comma || code === CODE.semicolon) && isEndOrSpace(text, at + 1);
}

function endsPart(text: string, at: number, style: WordStyle): boolean {
  const code = text.charCodeAt(at);
  if (isQuote(code) || code === CODE.less || code === CODE.greater) return true;
  if (code === CODE.backslash) return stickyEnd(text, WRITTEN_OUT, at) > at;
  if (code === CODE.percent) return style === "encoded" && stickyEnd(text, ENCODED_END, at) > at;
  if (isIn(CLOSERS, code)) return !isIn(SETS.word, text.charCodeAt(at + 1));
  if (!isIn(SEPARATORS, code)) return false;
  const next = text.charCodeAt(at + 1);
  if (isEndOrSpace(text, at + 1) || isQuote(next) || isIn(CLOSERS, next) || isIn(SEPARATORS, next)) return true;
  if (next === CODE.backslash) return true;
  if (code === CODE.pipe) return false;
  return stickyEnd(text, NEXT_PAIR, at + 1) > at + 1;
}

function isEndOrSpace(text: string, at: number): boolean {
  return at >= text.length || isSpace(text.charCodeAt(at));
}

/** More backslashes in a row than this are not counted: no real nesting of quotes has that many. */
const MAX_BACKSLASHES = 64;

/**
 * The end of a quoted string that opened with `backslashes` before its quote, as a string inside JSON inside a string
 * does. Also stops at the end of a line, except for back quotes. A doubled quote does not end it ('it''s').
 */
function quotedExtent(view: View, at: number, tail: { quote: number; backslashes: number }): Extent {
  const { text, final } = view;
  const { quote, backslashes } = tail;
  for (let i = at; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (isNewline(code) && quote !== CODE.backtick) return { end: i, open: false };
    if (code !== CODE.backslash && code !== quote) continue;
    const start = i;
    while (i - start < MAX_BACKSLASHES && text.charCodeAt(i) === CODE.backslash) i++;
    if (i >= text.length && !final) return { end: start, open: true };
    const count = i - start;
    if (text.charCodeAt(i) !== quote) {
      if (count > 0) i--;
      continue;
    }
    if (count < backslashes) return { end: start, open: false };
    if (count % (2 * (backslashes + 1)) !== backslashes) continue;
    if (backslashes > 0 || !isQuote(quote)) return { end: i - backslashes, open: false };
    if (i + 1 >= text.length && !final) return { end: i, open: true };
    if (text.charCodeAt(i + 1) !== quote) return { end: i, open: false };
    i++;
  }
  return { end: text.length, open: !final };
}

function tripleExtent(view: View, at: number, quote: number): Extent {
  const end = view.text.indexOf(String.fromCharCode(quote).repeat(3), at);
  if (end >= 0) return { end, open: false };
  return view.final ? { end: view.text.length, open: false } : { end: Math.max(at, view.text.length - 2), open: true };
}

/** The lines of a YAML block scalar: those indented deeper than the key, and empty lines between them. */
function blockExtent(view: View, at: number, indent: number): Extent {
  const { text, final } = view;
  let newline = text.indexOf("\n", at);
  while (newline >= 0) {
    let next = newline + 1;
    while (next < text.length && next - newline <= indent + 1 && isBlank(text.charCodeAt(next))) next++;
    const end = newline > at && text.charCodeAt(newline - 1) === CODE.return ? newline - 1 : newline;
    if (next >= text.length) return { end, open: !final };
    const isEmpty = isNewline(text.charCodeAt(next));
    if (!isEmpty && next - newline - 1 <= indent) return { end, open: false };
    newline = text.indexOf("\n", next);
  }
  if (final) return { end: text.length, open: false };
  return { end: text.endsWith("\r") ? Math.max(at, text.length - 1) : text.length, open: true };
}

function isBlank(code: number): boolean {
  return code === CODE.space || code === CODE.tab;
}

/** White space, written-out line ends, and characters that join lines of source code. */
const BETWEEN_LINES = /(?:[\s"'+,]|\\{1,4}[nr]){0,200}/y;
const KEY_HEADER = /(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash|MessageID): [^\r\n\\]{0,200}(?=[\r\n\\]|$)/y;
const LINE_ENDED = /[\r\n]|\\[nr]/;
const BODY = setOf("A-Za-z0-9+/=");
const ENDS_LINE = /[\r\n"'\\]|-----|$/y;
/** Shorter pieces belong to a key's body only if they are alone on their line. */
const BODY_LINE = 16;
/** A longer piece cannot be the name of a header. */
const HEADER_NAME = 32;
/** At most this much is read to see whether the next line belongs to the body. */
const BODY_WINDOW = 480;

/** Lines of base64, as in the body of a private key whose end is missing. */
function keyBodyExtent(view: View, at: number): Extent {
  const { text, final } = view;
  let { end } = runExtent(view, at, BODY);
  while (end < text.length) {
    const start = stickyEnd(text, BETWEEN_LINES, end);
    const header = stickyEnd(text, KEY_HEADER, start);
    const piece = header > start ? header : runExtent(view, start, BODY).end;
    if (!final && text.length - end < BODY_WINDOW && !LINE_ENDED.test(text.slice(start))) {
      return { end: piece - start >= HEADER_NAME && header === start ? piece : end, open: true };
    }
    ENDS_LINE.lastIndex = piece;
    const isOwnLine = LINE_ENDED.test(text.slice(end, start)) && ENDS_LINE.test(text);
    if (start === end || piece === start || !(piece - start >= BODY_LINE || isOwnLine)) return { end, open: false };
    end = piece;
  }
  return { end, open: !final };
}

/** Where a sticky pattern tried at `at` ends; `at` if it did not match. */
function stickyEnd(text: string, pattern: RegExp, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}
