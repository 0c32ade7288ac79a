import { CODE, isQuote } from "../text/character-sets.ts";
import { extend } from "../text/extent.ts";
import type { Extent, Tail } from "../text/extent.ts";
import type { SecretMatch } from "../shapes/find-shape.ts";
import { REDACTION_MARKER } from "../../protocol/marker.ts";
import type { Place } from "./value-places.ts";
import { codeAt, createView, follows, restOfLine } from "../text/text-view.ts";
import type { View } from "../text/text-view.ts";

/** At most this much of a value is read to decide whether it is secret. Small: it is read again for each name. */
const QUOTED_WINDOW = 256;
const WORD_WINDOW = 128;

export interface Opening {
  readonly at: number;
  readonly tail: Tail;
}

/** Where a quoted value begins, inside its quotes, including the prefix letters of Python, C# and SQL. */
export function openingQuote(view: View, { at, isElement }: Place): Opening | undefined {
  if (isElement === true) return { at, tail: { kind: "quoted", quote: CODE.less, backslashes: 0 } };
  let start = at;
  if (!isQuote(codeAt(view, at)) && codeAt(view, at) !== CODE.backslash) {
    const prefix = /^(?:[rRbBuUfFlLN]{1,2}|[@$])(?=["'])/.exec(restOfLine(view, at, 3));
    if (prefix === null) return undefined;
    start += prefix[0].length;
  }
  let quoteAt = start;
  while (quoteAt - start < 16 && codeAt(view, quoteAt) === CODE.backslash) quoteAt++;
  const quote = codeAt(view, quoteAt);
  if (!isQuote(quote)) return undefined;
  const isTriple = quoteAt === start && codeAt(view, start + 1) === quote && codeAt(view, start + 2) === quote;
  if (isTriple) return { at: start + 3, tail: { kind: "triple", quote } };
  return { at: quoteAt + 1, tail: { kind: "quoted", quote, backslashes: quoteAt - start } };
}

/** A value that was redacted before: nothing to find, and reading continues after it as it did then. */
export function skipRedacted(view: View, at: number): SecretMatch | undefined {
  if (!follows(view, at, REDACTION_MARKER)) return undefined;
  const end = at + REDACTION_MARKER.length;
  return { start: end, end };
}

/** A value as far as it was read. With a tail, its end was not reached. */
interface Reading {
  readonly end: number;
  readonly tail?: Tail;
}

/** How many characters after the last one are needed to see whether a word ends there. */
const MARGIN = 64;

/** Reads as much of a value as deciding needs. No tail if its end was reached. */
export function readTo(view: View, at: number, tail: Tail): Reading {
  const limit = pastMarker(view, at + (tail.kind === "word" ? WORD_WINDOW : QUOTED_WINDOW));
  const isCut = limit + MARGIN < view.text.length;
  const window: View = isCut
    ? createView(view.text.slice(0, limit + MARGIN), { final: false, floor: view.floor })
    : view;
  const { end, open } = tail.kind === "word" ? readWord(view, at, { window, tail }) : extend(window, at, tail);
  if (open && !isCut) view.short = true;
  return !open && end <= limit ? { end } : { end: Math.min(end, limit), tail };
}

/** The end of the marker that covers `at`, or `at` itself: half a marker does not count. */
function pastMarker({ text }: View, at: number): number {
  const from = Math.max(0, at - REDACTION_MARKER.length + 1);
  const marker = text.slice(from, at + REDACTION_MARKER.length - 1).indexOf(REDACTION_MARKER);
  return marker < 0 ? at : from + marker + REDACTION_MARKER.length;
}

/** Where a word ends does not depend on where reading began, so reading can continue from there. */
function readWord(view: View, at: number, { window, tail }: { window: View; tail: Tail & { kind: "word" } }): Extent {
  const { style } = tail;
  const { word } = view;
  const isSame = word !== undefined && word.style === style && word.start <= at && at <= word.end;
  const extent = extend(window, isSame ? word.end : at, tail);
  view.word = { style, start: isSame ? word.start : at, end: extent.end };
  return extent;
}
