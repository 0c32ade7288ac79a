import { CODE, isIn, isSpace, SETS, setOf } from "./text/character-sets.ts";
import type { Span } from "./shapes/find-shape.ts";
import { scan } from "./scan.ts";
import { mergeSpans } from "./text/spans.ts";
import { createView, runStart } from "./text/text-view.ts";

/** No token that needs an end is shorter, or longer. The longest is less than a stream holds back of a word. */
const SHORTEST = 16;
const LONGEST = 80;
/** Allowed before a token without a space: `\u0022`, `%3D`, a terminal color. */
const BEFORE = 16;

/**
 * The start of a token that ends right before a secret, or `at`. Some tokens have a fixed length, and followed by the
 * secret they match nothing; before the marker that replaces the secret they are tokens.
 */
export function gluedStart(text: string, at: number, floor: number): number {
  const word = text.startsWith(KEY, at) ? wordStart(text, at, floor) : at;
  if (word < at) return word;
  const view = createView(text, { floor });
  const start = runStart(view, at, { of: SETS.url64, window: LONGEST + 1 });
  if (at - start < SHORTEST || at - start > LONGEST) return at;
  const from = Math.max(0, floor, start - BEFORE);
  const spans: Span[] = [];
  scan(createView(text.slice(from, at), { isBare: true, floor: from === floor ? 0 : -1 }), 0, { spans, beside: [] });
  const last = mergeSpans(spans).at(-1);
  return last !== undefined && from + last.end === at ? from + last.start : at;
}

const KEY = "-----BEGIN";
const NOT_IN_WORD = setOf("\"'`=:,;&<>\\%*");

/** The start of a word that a key continues; only line ends and colors can lie between. */
function wordStart(text: string, at: number, floor: number): number {
  const limit = Math.max(0, floor, at - LONGEST);
  let start = at;
  while (start > limit && !isSpace(text.charCodeAt(start - 1)) && !isIn(NOT_IN_WORD, text.charCodeAt(start - 1)))
    start--;
  const word = text.slice(start, at);
  if (word.length === LONGEST || !/[A-Za-z0-9]/.test(word)) return at;
  const before = text.charCodeAt(start - 1);
  if (before === CODE.backslash && /^[nrt]/.test(word)) return at;
  return before === CODE.escape ? start + (/^\[[\d;]*m/.exec(word)?.[0].length ?? 0) : start;
}

/** Spans, in order, including the tokens that end right before them. */
export function withGlued(text: string, spans: readonly Span[], behind = -1): readonly Span[] {
  let floor = behind;
  let isChanged = false;
  const all = spans.map(({ start, end }) => {
    const from = gluedStart(text, start, floor);
    floor = end;
    isChanged ||= from < start;
    return { start: from, end };
  });
  return isChanged ? mergeSpans(all) : spans;
}
