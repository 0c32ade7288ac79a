import { CODE, isIn, isNewline, setOf } from "../text/character-sets.ts";
import type { SecretMatch, Span } from "../shapes/find-shape.ts";
import { findFramedLine, isDense, WIDTHS } from "./framed-lines.ts";
import { REDACTION_MARKER } from "../../protocol/marker.ts";
import { codeAt, codeBefore, follows, leftOf, restOfLine, rightOf, runStart } from "../text/text-view.ts";
import type { View } from "../text/text-view.ts";

const BODY = setOf("A-Za-z0-9+/=");
/** Quotes, commas and the like after a line of a key in source code or JSON. */
const BEHIND = setOf(" \t\r\"'`,;|)\\");
/** No line of a key is longer. */
const LONGEST_LINE = 80;
/** Allowed before it on its line: the location in a search result, a number, signs of diffs and quotes. */
const PREFIX =
  /^(?:[^\s:]{1,120}:(?:\d{1,7}[:-])?|[^\s:]{1,120}-\d{1,7}-|[ \t]{0,8}\d{1,7}(?:\t|[:|→] ?| {1,4}))?[ \t"'`>|#+-]{0,40}$/;
const PREFIX_REACH = 180;

/**
 * A line of a private key whose first line is not in the text: `tail -n 3 key.pem`. Recognized by what follows (the
 * end of a private key, not of a certificate), or by its width and characters. `anchor` is the end of the line.
 */
export function findKeyLine(view: View, { start: lineEnd }: Span): SecretMatch | undefined {
  const found = findBareLine(view, lineEnd);
  // Decoded text has no other lines around it.
  return found !== undefined || view.short || view.isDecoded ? found : findFramedLine(view, lineEnd);
}

/** A line with only its location, a number or signs before it. */
function findBareLine(view: View, lineEnd: number): SecretMatch | undefined {
  if (!mayEndBody(view.text, lineEnd)) return undefined;
  const end = bodyEnd(view, lineEnd);
  if (!isIn(BODY, codeBefore(view, end))) return undefined;
  const start = bodyStart(view, end);
  const text = view.text.slice(start, end);
  if (!isBodyText(text) || !isLinePrefix(leftOf(view, start, PREFIX_REACH))) return undefined;
  if (goesOn(view, view.plainEnd, start)) {
    view.plainEnd = lineEnd;
    return undefined;
  }
  if (goesOn(view, view.keyEnd, start)) return keyLine(view, { start, end });
  const after = lookAhead(view, lineEnd);
  if (view.short) return undefined;
  if (after.kind === "plain") view.plainEnd = Math.max(view.plainEnd, after.at);
  const isKey = after.kind === "private" || (after.kind === "open" && WIDTHS.has(text.length) && isDense(text));
  return isKey ? keyLine(view, { start, end }) : undefined;
}

function keyLine(view: View, { start, end }: Span): SecretMatch {
  view.keyEnd = end;
  return { start, end, tail: { kind: "key-body" } };
}

/** A fast check that rules out most lines: four base64 characters, and a digit, a sign or a capital within the word. */
function mayEndBody(text: string, lineEnd: number): boolean {
  let end = lineEnd - 1;
  let isMarked = false;
  for (let i = 0; i < 16 && end >= 0; i++, end--) {
    const code = text.charCodeAt(end);
    if (
      !isIn(BEHIND, code) &&
      code !== CODE.plus &&
      !(code === LETTER_N && text.charCodeAt(end - 1) === CODE.backslash)
    )
      break;
    if (code === CODE.plus) isMarked = true;
  }
  for (let i = 0; i <= LONGEST_LINE; i++) {
    const code = text.charCodeAt(end - i);
    if (!isIn(BODY, code)) return i >= 4 && isMarked;
    if (code < LETTER_A) isMarked = true;
    if (i >= 4 && isMarked) return true;
  }
  return isMarked;
}

/** Whether nothing before a line's body makes it part of something else. */
function isLinePrefix(left: string): boolean {
  const written = Math.max(left.lastIndexOf("\\n"), left.lastIndexOf("\\r"));
  const newline = Math.max(left.lastIndexOf("\n"), left.lastIndexOf("\r"), written < 0 ? -1 : written + 1);
  return (newline >= 0 || left.length < PREFIX_REACH) && PREFIX.test(left.slice(newline + 1));
}

function bodyEnd(view: View, lineEnd: number): number {
  let end = lineEnd;
  for (let i = 0; i < 8 && isIn(BEHIND, codeBefore(view, end)); i++) end--;
  if (leftOf(view, end, 2).endsWith(" +")) end -= 2;
  for (let i = 0; i < 4 && isIn(BEHIND, codeBefore(view, end)); i++) end--;
  return /\\[nr]$/.test(leftOf(view, end, 2)) ? end - 2 : end;
}

function bodyStart(view: View, end: number): number {
  const start = runStart(view, end, { of: BODY, window: LONGEST_LINE + 1 });
  const before = codeBefore(view, start);
  const first = view.text.charCodeAt(start);
  // The letter of a written-out line end, and the sign of a diff.
  if (before === CODE.backslash && (first === LETTER_N || first === LETTER_R)) return start + 1;
  return first === CODE.plus && ((end - start) % 4 === 1 || end - start === 71) ? start + 1 : start;
}

/** Digits, signs and capitals come before it. */
const LETTER_A = 97;
const LETTER_N = 110;
const LETTER_R = 114;

/** Base64, or the checksum of a PGP block, and not a word. */
function isBodyText(text: string): boolean {
  if (text.length < 4 || text.length > LONGEST_LINE) return false;
  return /^(?:[A-Za-z0-9+/]+={0,2}|=[A-Za-z0-9+/]{4})$/.test(text) && /=|\d|[+/]|[a-z][A-Z]/.test(text);
}

/** Allowed between two lines of a block: signs, headers, the location of the next search result. */
const HEADER = /^(?:Version|Comment|Charset|Hash|Subject|x-[\w-]{1,20}): /i;
const PLACE = /[^\s:]{1,120}:(?:\d{1,7}[:-])?|[^\s:]{1,120}-\d{1,7}-|\d{1,7}(?:\t|[:|→] ?)/y;
const MAX_BETWEEN = 200;

/** Whether a line continues the block or key whose last line ended there. */
function goesOn({ text }: View, last: number, start: number): boolean {
  if (last < 0 || start - last > 2 * MAX_BETWEEN) return false;
  if (start <= last) return true;
  const between = text.slice(last, start).replaceAll(REDACTION_MARKER, "");
  if (between.length > MAX_BETWEEN || between.includes("-----")) return false;
  return between.split(/\r?\n|\\[nr]/).every((line) => !/[A-Za-z]/.test(line) || HEADER.test(line) || isPlace(line));
}

function isPlace(line: string): boolean {
  PLACE.lastIndex = 0;
  if (!PLACE.test(line)) return false;
  const rest = line.slice(PLACE.lastIndex);
  return !/[A-Za-z]/.test(rest) || HEADER.test(rest);
}

/** At most this much of the rest of a block is read to find its last line. */
const AHEAD = 8192;
/** For PEM and PGP, a PuTTY key, and a public key in the form of RFC 4716. */
const LAST_LINES = ["-----END ", "Private-MAC", "---- END "] as const;
const LABEL = /^-----END [A-Z0-9 ]{0,40}/;

interface Ahead {
  /** `marker`: an earlier redaction. It does not show what was there when these lines were judged. */
  readonly kind: "private" | "plain" | "open" | "marker";
  readonly at: number;
}

/** What ends the lines of base64 that follow. Reads no further than it did for the line before. */
function lookAhead(view: View, from: number): Ahead {
  const known = view.ahead;
  let at = known !== undefined && known.from <= from && from <= known.at ? known.at : from;
  const limit = from + AHEAD;
  while (at < limit) {
    const next = nextLine(view, at);
    if (next.kind === "end") return { kind: endKind(view, next.at), at: next.at };
    if (next.kind === "cut") view.short = true;
    if (next.kind !== "body") {
      view.ahead = { from, at };
      return { kind: next.kind === "marker" ? "marker" : "open", at };
    }
    at = next.at;
  }
  view.ahead = { from, at };
  return { kind: "open", at };
}

interface NextLine {
  /** More of the body, the last line of a block, a redaction, something else, or undecided until more text arrives. */
  readonly kind: "body" | "end" | "marker" | "other" | "cut";
  /** Where that body ends, or the last line begins. */
  readonly at: number;
}

const GAP = setOf(" \t\r\n\\\"'`,;>|*#)");
const MAX_GAP = 200;

function nextLine(view: View, from: number): NextLine {
  const { text, final } = view;
  let at = from;
  let lineStart = -1;
  for (; at < text.length && at - from < MAX_GAP; at++) {
    const code = text.charCodeAt(at);
    if (code === CODE.star && follows(view, at, REDACTION_MARKER)) break;
    if (isNewline(code)) lineStart = at + 1;
    else if (code === CODE.backslash && /[nr]/.test(text.charAt(at + 1))) lineStart = ++at + 1;
    else if (!isIn(GAP, code) && !(lineStart === at && (code === CODE.plus || isDiffDash(text, at)))) break;
  }
  if (at >= text.length) return { kind: final ? "other" : "cut", at };
  if (restOfLine(view, at, PREFIX_REACH).includes(REDACTION_MARKER)) return { kind: "marker", at };
  if (lineStart < 0) return { kind: "other", at };
  PLACE.lastIndex = at;
  if (PLACE.test(text) && !text.startsWith("Private-MAC", at)) at = PLACE.lastIndex;
  if (LAST_LINES.some((each) => text.startsWith(each, at))) return { kind: "end", at };
  let end = at;
  while (end < text.length && end - at <= LONGEST_LINE && isIn(BODY, text.charCodeAt(end))) end++;
  if (end >= text.length) return final && end > at ? { kind: "body", at: end } : { kind: final ? "other" : "cut", at };
  if (!final && LAST_LINES.some((each) => text.length - at < each.length && each.startsWith(text.slice(at))))
    return { kind: "cut", at };
  const isLine =
    end > at && end - at <= LONGEST_LINE && (isNewline(text.charCodeAt(end)) || isIn(GAP, text.charCodeAt(end)));
  return isLine && !/^[ \t]+[^\s"'+,;]/.test(text.slice(end, end + 40))
    ? { kind: "body", at: end }
    : { kind: "other", at };
}

function isDiffDash(text: string, at: number): boolean {
  return text.charCodeAt(at) === CODE.dash && text.charCodeAt(at + 1) !== CODE.dash;
}

function endKind(view: View, at: number): Ahead["kind"] {
  if (view.text.startsWith("Private-MAC", at)) return "private";
  const label = LABEL.exec(restOfLine(view, at, 64))?.[0] ?? "";
  return label.includes("PRIVATE") ? "private" : "plain";
}

/** The first line of a block that contains no private key: the rest of the block is kept. */
export function keepPublicBlock(view: View, { end }: Span): undefined {
  const line = /^[^\n\\]{0,200}(?=\n|\\)/.exec(rightOf(view, end, 201))?.[0] ?? "";
  const rest = line.replaceAll(REDACTION_MARKER, "").length <= 100 ? line.length : 0;
  view.plainEnd = Math.max(view.plainEnd, end + rest);
  view.listedTo = Math.max(view.listedTo, end + rest);
}

/** The end of a text is the end of its last line. */
export function findLastKeyLine(view: View): SecretMatch | undefined {
  const { text } = view;
  if (text === "" || isNewline(codeAt(view, text.length - 1))) return undefined;
  return findKeyLine(view, { start: text.length, end: text.length });
}
