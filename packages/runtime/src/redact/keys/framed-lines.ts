import type { SecretMatch } from "../shapes/find-shape.ts";
import {
  bodiesOf,
  bodyLike,
  frameOf,
  isAlone,
  isBase64,
  isLineEnd,
  isOver,
  LEAST,
  lineAfter,
  lineBefore,
  longestBody,
  LONGEST_FRAMED,
  mayHoldBody,
  mixOf,
  spanOf,
} from "./listed-lines.ts";
import type { Body, FramedLine, Line } from "./listed-lines.ts";
import { REDACTION_MARKER } from "../../protocol/marker.ts";
import type { View } from "../text/text-view.ts";

/**
 * Lines of a private key with other text before or after them: the author in `git blame`, the `$` of `cat -A`, the
 * other side of `diff -y`, a tag, a name. Any text counts, as long as it is the same on each line.
 */

/** At most this much of the rest of a block is read to find its last line. */
const AHEAD = 8192;

/** Lines already scanned, each framed like the one before. */
export interface Walk {
  readonly from: number;
  readonly last: FramedLine;
}

/**
 * The part of the line ending here that belongs to a private key; undefined if none does, or if the text so far does
 * not show it yet (`view.short`).
 */
export function findFramedLine(view: View, lineEnd: number): SecretMatch | undefined {
  const mayHold = mayHoldBody(view, lineEnd);
  const mayGoOn = view.keyEnd >= 0 && view.keyEnd > lineEnd - 2 * LONGEST_FRAMED;
  if (!mayHold && !mayGoOn) return undefined;
  const line = lineBefore(view.text, lineEnd, Math.max(0, view.floor));
  if (line === undefined || (view.keyEnd > line.start && view.keyEnd <= line.end)) return undefined;
  const before = mayGoOn ? keyLineBefore(view, line) : undefined;
  const next = before === undefined ? undefined : bodyLike(before, line);
  if (next !== undefined && isBase64(next.text) && isOver(line, next)) return keySpans(view, line, next);
  const body = mayHold ? longestBody(line) : undefined;
  if (body === undefined) return undefined;
  if (view.listedTo >= Math.max(0, line.start - 4)) {
    view.listedTo = Math.max(view.listedTo, line.end);
    return undefined;
  }
  const end = walk(view, { line, body });
  if (view.short || end === "plain" || end === "marker") return undefined;
  return end === "private" || isOneOfMany(view, { line, body }) ? keySpans(view, line, body) : undefined;
}

/** Everything that resembles the body of a key: `diff -y` and `paste` put two on a line. */
function keySpans(view: View, line: Line, body: Body): SecretMatch | undefined {
  const others = bodiesOf(line).filter((each) => isApart(each, body) && isBeside(line, each, body));
  const bodies = [...others, body].toSorted((a, b) => a.column - b.column);
  const spans = bodies
    .map((each) => spanOf(line, each))
    .map(({ start, end }) => ({ start: Math.max(start, view.floor), end }))
    .filter(({ start, end }) => start < end);
  view.keyEnd = spanOf(line, body).end;
  const last = spans.pop();
  return last === undefined ? undefined : { ...last, before: spans };
}

function isApart(each: Body, body: Body): boolean {
  return each.column > body.column + body.text.length || each.column + each.text.length < body.column;
}

function isBeside(line: Line, each: Body, { text }: Body): boolean {
  if (each.text === text || isFull(line, each)) return true;
  return each.text.length >= LEAST && each.text.length % 4 === 0 && each.text.endsWith("=") && isAlone(line, each);
}

/** The line before, if it belonged to a key. Lines that consist only of signs may lie between. */
function keyLineBefore(view: View, line: Line): FramedLine | undefined {
  let end = line.start;
  for (let skipped = 0; skipped < 4; skipped++) {
    while (end > 0 && isLineEnd(view.text, end - 1)) end -= view.text.charCodeAt(end - 1) < 32 ? 1 : 2;
    const before = lineBefore(view.text, end);
    if (before === undefined || line.start - before.start > LONGEST_FRAMED + 8) return undefined;
    if (/[A-Za-z0-9]/.test(before.text)) {
      const body = bodiesOf(before).find((each) => spanOf(before, each).end === view.keyEnd);
      return body === undefined ? undefined : { line: before, body };
    }
    end = before.start;
  }
  return undefined;
}

type End = "private" | "plain" | "open" | "marker";

/** What ends the lines framed like this one. Reads no further than it did for the line before. */
function walk(view: View, first: FramedLine): End {
  const known = view.walk;
  const from = first.line.end;
  let last = known !== undefined && known.from <= from && from <= known.last.line.end ? known.last : first;
  let end: End | undefined;
  while (end === undefined && last.line.end < from + AHEAD) {
    const next = lineAfter(view, last.line.end);
    if (next === undefined || view.short) break;
    if (next.text.includes(REDACTION_MARKER)) return "marker";
    end = endIn(next, last);
    const body = end === undefined ? bodyLike(last, next) : undefined;
    if (body === undefined || !isBase64(body.text)) break;
    last = { line: next, body };
  }
  view.walk = { from, last };
  return end ?? "open";
}

const LAST_LINE = /-----END ([A-Z0-9 ]{0,40})|(Private-MAC)|---- END /;

function endIn({ text }: Line, { line, body }: FramedLine): End | undefined {
  const match = LAST_LINE.exec(text);
  if (match === null) return undefined;
  if (match[2] === undefined && match[1]?.includes("PRIVATE") !== true) return "plain";
  const isFramed =
    match.index === body.column || frameOf(text.slice(0, match.index)) === frameOf(line.text.slice(0, body.column));
  return isFramed ? "private" : "open";
}

/** Line widths of keys: PEM, PGP and PuTTY; OpenSSH. */
export const WIDTHS: ReadonlySet<number> = new Set([64, 70]);
/** Truncated lines, as in `diff -y`. Narrower than 32-byte hashes and mail lines. */
const LEAST_CUT = 45;
const MAIL = new Set([72, 76]);

/** How close lines are that may be framed differently: `set -x` prints each one twice. */
const NEAR = 3;
/** A line of a key was folded to at most this many lines. */
const MAX_FOLDS = 3;

/** Whether lines of the same width follow: one for a width that keys have, two for any other. */
function isOneOfMany(view: View, first: FramedLine): boolean {
  if (!isFull(first.line, first.body)) return isFolded(view, first);
  const width = first.body.text.length;
  if (WIDTHS.has(width) && (isNearKey(view, first.line) || isNearSame(view, first))) return true;
  const second = nextFramed(view, first);
  const third = second?.body.text.length === width && !view.short ? nextFramed(view, second) : undefined;
  if (third?.body.text.length === width && isFull(third.line, third.body)) return true;
  return !view.short && isFolded(view, first);
}

function isNearKey({ keyEnd }: View, { start }: Line): boolean {
  return keyEnd >= 0 && keyEnd <= start && start - keyEnd <= LONGEST_FRAMED;
}

function isNearSame(view: View, { line, body }: FramedLine): boolean {
  let next = lineAfter(view, line.end);
  for (let count = 1; next !== undefined && !view.short; count++) {
    const each = next;
    if (each.text.includes(REDACTION_MARKER)) return false;
    if (bodiesOf(each).some((other) => other.text.length === body.text.length && isFull(each, other))) return true;
    next = count < NEAR ? lineAfter(view, each.end) : undefined;
  }
  return false;
}

/** Pure base64 lines that make up a line of a key, and the first of the next ones: `fold -w 50`. */
function isFolded(view: View, first: FramedLine): boolean {
  let joined = "";
  let each: FramedLine | undefined = first;
  for (let count = 0; each !== undefined && count < MAX_FOLDS && !view.short; count++) {
    if (each.body.text !== each.line.text.trim()) return false;
    joined += each.body.text;
    each = nextFramed(view, each);
    if (WIDTHS.has(joined.length)) return each?.body.text.length === first.body.text.length && isDense(joined);
  }
  return false;
}

function nextFramed(view: View, framed: FramedLine): FramedLine | undefined {
  const line = lineAfter(view, framed.line.end);
  const body = line === undefined ? undefined : bodyLike(framed, line);
  return line === undefined || body === undefined ? undefined : { line, body };
}

/** A line as wide as in a key, in which letters and digits alternate as often as in random data. */
function isFull(line: Line, body: Body): boolean {
  const { text } = body;
  if (text.length < LEAST_CUT || text.includes("=") || MAIL.has(text.length) || !isAlone(line, body)) return false;
  return isDense(text);
}

/** The identifiers of RSA's and NIST's algorithms at each base64 offset: a line with one may have no digit. */
const IDENTIFIERS = /KoZIhvc|qGSIb3|qhkiG9w|YIZIAWUD|hkgBZQM|GSAFlA/;

/** Letters of both cases and digits alternate as often as in random data; words, paths and hashes do not. */
export function isDense(text: string): boolean {
  if (IDENTIFIERS.test(text)) return true;
  const { changes, kinds } = mixOf(text);
  return changes >= 20 && (kinds & 7) === 7;
}
