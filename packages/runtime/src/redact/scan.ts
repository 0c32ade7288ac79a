import { Borders } from "./text/borders.ts";
import { encodedSpans } from "./encodings/encoded.ts";
import type { DecodedPart } from "./encodings/encoded.ts";
import { extend } from "./text/extent.ts";
import type { Tail } from "./text/extent.ts";
import type { SecretMatch, Span } from "./shapes/find-shape.ts";
import { ANCHORS, RULES } from "./secret-rules.ts";
import { CODE, isIn, isSpace } from "./text/character-sets.ts";
import { findLastKeyLine } from "./keys/key-lines.ts";
import { unquotedSpans } from "./encodings/quoted-words.ts";
import { mergeSpans } from "./text/spans.ts";
import { createView } from "./text/text-view.ts";
import type { View } from "./text/text-view.ts";

/** How far rules have read. No later text changes anything before `settled`. */
interface Progress {
  readonly settled: number;
  /** The last secret continued beyond the text: its tail. */
  readonly open: Tail | undefined;
}

/** No word of a rule is longer than this, including the part of a secret that may precede it. */
const HOLD = 96;
/** The same for a line of a listing, which may contain a line of a key. */
const HOLD_LINE = 256;

/** The state before scanning, extended by what rules find. */
interface ScanState {
  /** Secrets found by rules. */
  readonly spans: Span[];
  /** Those of them that rules did not read up to: other secrets may precede them. */
  readonly beside: Span[];
  readonly known?: { readonly spans: readonly Span[]; /** Up to here they are all found. */ readonly settled: number };
}

/**
 * Finds secrets from `from` on and appends their spans, in order. In a text that may continue it stops before
 * undecided text. Linear: one table step per character, and one bounded examination per matched word.
 */
export function scan(view: View, from: number, { spans, beside, known }: ScanState): Progress {
  const { text } = view;
  const limit = known?.settled ?? Infinity;
  const borders = new Borders(known?.spans ?? [], beside);
  const addBeside = (found: Span): void => {
    spans.push(found);
    beside.push(found);
    borders.add(found);
  };
  view.values = known === undefined ? [] : mergeSpans(known.spans);
  view.valuesTo = limit;
  let settled = from;
  let { floor } = view;
  const changes: Change[] = [];
  const cursor: Cursor = { at: from, state: 0 };
  for (let hit = nextHit(text, cursor); hit !== undefined; hit = nextHit(text, cursor)) {
    const { at } = cursor;
    view.floor = Math.max(view.floor, borders.floorAt(at));
    const { plainEnd, listedTo, keyEnd } = view;
    const found = tryRules(view, at, hit);
    // The first line of a public block that is part of a secret will be redacted, so it cannot begin a block.
    if (borders.hides(at)) {
      view.plainEnd = plainEnd;
      view.listedTo = listedTo;
    }
    if (!view.final && isChanged(view, { plainEnd, listedTo, keyEnd })) {
      changes.push({ at: at - wordLength(hit), plainEnd, listedTo, keyEnd });
    }
    if (view.short || at > limit) {
      // Text that is read again must give the same result: borders are reset.
      view.short = false;
      view.floor = floor;
      settled = Math.max(settled, at - HOLD_LINE);
      restore(view, changes, settled);
      return { settled, open: undefined };
    }
    if (found === undefined) continue;
    if (found.isBeside === true) {
      for (const each of besideOf(found)) addBeside(each);
      continue;
    }
    const { end, open } =
      found.tail === undefined ? { end: found.end, open: false } : extend(view, found.end, found.tail);
    addSpans(spans, found, { end, floor: view.floor });
    view.floor = end;
    floor = end;
    settled = end;
    changes.length = 0;
    if (open) return { settled, open: found.tail };
    cursor.at = end;
    cursor.state = 0;
  }
  view.floor = Math.max(floor, borders.floorAt(text.length + 1));
  const last = view.final ? findLastKeyLine(view) : undefined;
  if (last !== undefined) addSpans(spans, last, { end: last.end, floor });
  view.floor = floor;
  settled = view.final ? text.length : Math.max(settled, lastBorder(text));
  restore(view, changes, settled);
  return { settled, open: undefined };
}

type Known = Readonly<Pick<View, "plainEnd" | "listedTo" | "keyEnd">>;

/** The state of base64 blocks before the word that begins at a position changed it. */
interface Change extends Known {
  readonly at: number;
}

function isChanged(view: View, { plainEnd, listedTo, keyEnd }: Known): boolean {
  return view.plainEnd !== plainEnd || view.listedTo !== listedTo || view.keyEnd !== keyEnd;
}

/** Restores the state at a position, so that text read again from there is read as before. */
function restore(view: View, changes: readonly Change[], settled: number): void {
  const change = changes.find(({ at }) => at >= settled);
  if (change === undefined) return;
  view.plainEnd = change.plainEnd;
  view.listedTo = change.listedTo;
  view.keyEnd = change.keyEnd;
}

/** Of the longest matching word. */
function wordLength([longest = 0]: readonly number[]): number {
  return RULES[longest]?.word.length ?? 0;
}

interface Cursor {
  at: number;
  state: number;
}

/** Advances to the end of the next matching word and returns its rules. A separate loop: all text passes it. */
function nextHit(text: string, cursor: Cursor): readonly number[] | undefined {
  const { classes, next, firstHit, hits, width } = ANCHORS;
  let { at, state } = cursor;
  while (at < text.length) {
    state = next[state + (classes[text.charCodeAt(at++)] as number)] as number;
    if (state < firstHit) continue;
    cursor.at = at;
    cursor.state = state;
    return hits[(state - firstHit) / width];
  }
  return undefined;
}

/** Whether the text contains a word of any rule. */
export function hasAnchor(text: string): boolean {
  return nextHit(text, { at: 0, state: 0 }) !== undefined;
}

function besideOf({ before = [], start, end, decoded }: SecretMatch): readonly Span[] {
  const own = end > start ? [...before, { start, end }] : before;
  return decoded === undefined ? own : [...own, ...scanDecoded(decoded)];
}

function scanDecoded(decoded: DecodedPart): readonly Span[] {
  const spans: Span[] = [];
  const view = createView(decoded.text, {
    isDecoded: true,
    isBare: decoded.isUnquoted,
    floor: decoded.isBehind ? 0 : -1,
    plainEnd: decoded.isColoured === true ? Infinity : -1,
  });
  scan(view, 0, { spans, beside: [] });
  return decoded.isUnquoted ? unquotedSpans(decoded, spans) : encodedSpans(decoded, spans);
}

function tryRules(view: View, end: number, hits: readonly number[]): SecretMatch | undefined {
  for (const hit of hits) {
    const { word, find, hint, next, isBare } = RULES[hit] as (typeof RULES)[number];
    if (view.isBare && isBare !== true) continue;
    if (next !== undefined && end < view.text.length && !isIn(next, view.text.charCodeAt(end))) continue;
    const start = end - word.length;
    if (hint !== undefined && !isHinted(view, start + hint.offset, hint.code)) continue;
    const found = find(view, { start, end });
    if (view.short || found !== undefined) return found;
  }
  return undefined;
}

function isHinted({ text, final }: View, at: number, code: number): boolean {
  // Undecided beyond an end that is not final; the rule itself will report that.
  return at < text.length ? text.charCodeAt(at) === code : !final;
}

function addSpans(spans: Span[], found: SecretMatch, { end, floor }: { end: number; floor: number }): void {
  for (const each of found.before ?? []) if (each.end > each.start) spans.push(each);
  const start = Math.max(found.start, floor);
  if (end > start) spans.push({ start, end });
}

const LONG = 24;
const LONG_WORD = /^[A-Za-z0-9+/="',;\\]{24}$/;

/** Words contain no white space, so none is cut after one. Text before half a line end is held with it. */
function lastBorder(text: string): number {
  const limit = Math.max(0, text.length - HOLD);
  let at = text.length;
  const blanks = /[ \t]{0,7}\r?$/.exec(text.slice(-8))?.[0].length ?? 0;
  if (text.endsWith("\r") || (blanks > 0 && LONG_WORD.test(text.slice(-blanks - LONG, -blanks)))) at -= blanks;
  while (at > limit && (!isSpace(text.charCodeAt(at - 1)) || text.charCodeAt(at - 1) === CODE.escape)) at--;
  return Math.min(at, longWordStart(text));
}

/** It may contain colors. */
const LONG_WORDS = /(?:[A-Za-z0-9+/](?:\x1b\[[\d;?]{0,16}[A-Za-z]){0,4}){24}/;

/** In an unfinished line: the start of a word that may be a line of a key once the line is complete. */
function longWordStart(text: string): number {
  const from = Math.max(
    0,
    text.length - HOLD_LINE,
    Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r", text.length - 2)) + 1,
  );
  const word = LONG_WORDS.exec(text.slice(from))?.index;
  return word === undefined ? text.length : from + word;
}
