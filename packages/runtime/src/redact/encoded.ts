import { isNewline } from "./characters.ts";
import type { Found, Span } from "./find-shape.ts";
import type { View } from "./view.ts";

/** A part of a text with its escapes decoded, and where in the text each of its characters stands. */
export interface Decoded {
  readonly text: string;
  /** `starts[i]` to `ends[i]` is what character `i` was written as. */
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

/** Escapes that a secret, or the sign before it, may be written with where it need not be. */
// oxfmt-ignore
export const ESCAPE_WORDS: readonly string[] = [
  "\\u", "\\x", "\\0", "\\1", "&#", "&quot;",
  "%3d", "%3a", "%22", "%25", "%2d", "%2e", "%30", "%31", "%32", "%33", "%34", "%35", "%36", "%37", "%38", "%39",
  "%4", "%5", "%6", "%7",
];

const ESCAPE =
  /\\+u\{([0-9a-fA-F]{1,6})\}|\\+u([0-9a-fA-F]{4})|\\+U([0-9a-fA-F]{8})|\\+x([0-9a-fA-F]{2})|\\+([01][0-7]{2})|&#[xX]([0-9a-fA-F]{1,6});|&#(\d{1,7});|&(quot|apos|amp|lt|gt|equals|colon|lowbar|num|percnt);|%([0-9a-fA-F]{2})/g;
// oxfmt-ignore
const NAMED: Readonly<Record<string, string>> = {
  quot: '"', apos: "'", amp: "&", lt: "<", gt: ">", equals: "=", colon: ":", lowbar: "_", num: "#", percnt: "%",
};
/** How much around an escape is decoded, within its line. A secret is found from either end of it. */
const BEFORE = 400;
const AFTER = 624;
/** Encoded, and encoded again, and once more. */
const ROUNDS = 3;

/** The text around an escape, decoded, to be looked at like any other. `anchor` is the beginning of the escape. */
export function findEncoded(view: View, { start }: Span): Found | undefined {
  if (view.isDecoded === true || (view.decodedTo ?? -1) > start) return undefined;
  if (view.text.slice(start, start + 16).search(ESCAPE) !== 0) return undefined;
  const from = lineStart(view, start);
  const to = lineEnd(view, start);
  if (view.short) return undefined;
  view.decodedTo = to === from + BEFORE + AFTER ? to - BEFORE : to;
  return { start, end: start, isBeside: true, decoded: decode(view.text, from, to) };
}

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

function decode(text: string, from: number, to: number): Decoded {
  let decoded: Decoded = {
    text: text.slice(from, to),
    starts: Array.from({ length: to - from }, (_, i) => from + i),
    ends: Array.from({ length: to - from }, (_, i) => from + i + 1),
  };
  for (let round = 0; round < ROUNDS; round++) {
    const next = decodeOnce(decoded);
    if (next.text.length === decoded.text.length) break;
    decoded = next;
  }
  return decoded;
}

function decodeOnce({ text, starts, ends }: Decoded): Decoded {
  let result = "";
  const newStarts: number[] = [];
  const newEnds: number[] = [];
  let at = 0;
  const copy = (until: number): void => {
    result += text.slice(at, until);
    for (; at < until; at++) {
      newStarts.push(starts[at] ?? 0);
      newEnds.push(ends[at] ?? 0);
    }
  };
  for (const match of text.matchAll(ESCAPE)) {
    const character = characterOf(match);
    if (character === undefined) continue;
    copy(match.index);
    at = match.index + match[0].length;
    result += character;
    for (let i = 0; i < character.length; i++) {
      newStarts.push(starts[match.index] ?? 0);
      newEnds.push(ends[at - 1] ?? 0);
    }
  }
  copy(text.length);
  return { text: result, starts: newStarts, ends: newEnds };
}

function characterOf(match: RegExpExecArray): string | undefined {
  const [, braced, short, long, byte, octal, hexEntity, entity, name, percent] = match;
  if (name !== undefined) return NAMED[name];
  const hex = braced ?? short ?? long ?? byte ?? hexEntity ?? percent;
  const code =
    hex === undefined ? Number.parseInt(octal ?? entity ?? "", octal === undefined ? 10 : 8) : Number.parseInt(hex, 16);
  return code > 0x10_ffff ? undefined : String.fromCodePoint(code).toWellFormed();
}

/** How far before a secret an escape may stand that it is found by. */
const NEAR = 80;

/** The places of secrets in a decoded text, in the text itself; only those that an escape hid. */
export function encodedSpans({ text, starts, ends }: Decoded, spans: readonly Span[]): readonly Span[] {
  return spans.flatMap(({ start, end }) => {
    const near = Math.max(0, start - NEAR);
    const isEscaped = (ends[end - 1] ?? 0) - (starts[near] ?? 0) > end - near;
    return isEscaped && end <= text.length ? [{ start: starts[start] ?? 0, end: ends[end - 1] ?? 0 }] : [];
  });
}
