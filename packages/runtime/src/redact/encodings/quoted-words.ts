import { CODE, isIn, isQuote, isSpace, setOf, SETS } from "../text/character-sets.ts";
import { decode, findKnownAround } from "./encoded.ts";
import type { DecodedPart } from "./encoded.ts";
import type { SecretMatch, Span } from "../shapes/find-shape.ts";
import { codeAt, codeBefore } from "../text/text-view.ts";
import type { View } from "../text/text-view.ts";

/** Characters that the shell removes from a word: `gh''p_x`, `"gh"p_x` and `\g\h\p_x` are all the word ghp_x. */
export const QUOTES_IN_WORDS: readonly string[] = ["'", '"', "\\"];

/** Allowed after such a quote within a word. */
export const AFTER_QUOTE = setOf("A-Za-z0-9_'\"`$\\-");

/** How much of a word is read around a quote: at most what the stream holds of a word, and a long token. */
const BEFORE = 80;
const AFTER = 400;
const OVERLAP = 100;
/** No token is shorter, including its quotes. */
const SHORTEST = 18;

/** After a backslash these are line ends, tabs and the like, which occur everywhere in source code and JSON. */
const WRITTEN_OUT = setOf("nrtbfvux0");

/** A shell word with quotes in it, as the program receives it, to be scanned for tokens. */
export function findQuotedWord(view: View, { start, end }: Span): SecretMatch | undefined {
  if (view.isDecoded) return undefined;
  const known = findKnownAround(view, view.text.charCodeAt(start - 1) === CODE.dollar ? start - 1 : start);
  if (view.unquotedTo > start || !isWithinWord(view, start, end)) return known;
  const from = wordStart(view, start);
  const to = wordEnd(view, end);
  if (view.short) return undefined;
  const isCut = to === end + AFTER;
  view.unquotedTo = isCut ? to - OVERLAP : to;
  if (to - from < SHORTEST) return known;
  return { start, end: start, ...known, isBeside: true, decoded: unquote(decode(view, { from, to, rest: to })) };
}

function isWithinWord(view: View, start: number, end: number): boolean {
  const next = codeAt(view, end);
  const before = codeBefore(view, start);
  if (view.text.charCodeAt(start) === CODE.backslash) {
    return isQuote(next) ? isIn(SETS.url64, before) : isIn(SETS.url64, next) && !isIn(WRITTEN_OUT, next);
  }
  const isBefore = isIn(SETS.url64, before) || (isQuote(before) && isIn(SETS.url64, codeBefore(view, start - 1)));
  return isBefore && (isIn(SETS.url64, next) || isQuote(next) || next === CODE.dollar || next === CODE.backslash);
}

function wordStart({ text, floor }: View, at: number): number {
  const limit = Math.max(0, at - BEFORE, floor);
  let start = at;
  while (start > limit && !isSpace(text.charCodeAt(start - 1))) start--;
  return start;
}

function wordEnd(view: View, at: number): number {
  let end = at;
  for (; end < at + AFTER; end++) {
    const code = codeAt(view, end);
    if (code < 0 || isSpace(code)) break;
  }
  return end;
}

function unquote({ text, starts, rest, isBehind }: DecodedPart): DecodedPart {
  const newStarts = new Int32Array(text.length + 1);
  let result = "";
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const isDropped = code === CODE.backslash || isQuote(code);
    if (isDropped || (code === CODE.dollar && isQuote(text.charCodeAt(at + 1)))) continue;
    newStarts[count++] = starts[at] as number;
    result += text[at] ?? "";
  }
  newStarts[count] = starts[text.length] as number;
  return { text: result, starts: newStarts, rest, isUnquoted: true, isBehind };
}

/** Maps tokens to the original text; only those with a quote inside. */
export function unquotedSpans({ starts }: DecodedPart, spans: readonly Span[]): readonly Span[] {
  return spans.flatMap(({ start, end }) => {
    const from = starts[start] ?? 0;
    const last = starts[end - 1] ?? 0;
    return last - from > end - 1 - start ? [{ start: from, end: last + 1 }] : [];
  });
}
