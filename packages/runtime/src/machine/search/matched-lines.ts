import type { SearchLine } from "../../contract/search.ts";
import { REDACTION_MARKER } from "../../protocol/marker.ts";
import type { FileContent } from "./file-content.ts";
import type { LineMessage } from "./rg-messages.ts";

/** The file that a message is about. */
export interface NamedFile {
  /** The message is certainly about the file at this path; otherwise the file's content must match the message. */
  readonly isVerified: boolean;
  /** Undefined if no file exists at this path. */
  content(): FileContent | undefined;
}

export interface LinesOptions {
  readonly path: string;
  readonly key: string;
  /** Only lines with a higher number are returned. */
  readonly after: number;
}

/** The lines of a message, if the file contains them. */
export function* linesOf(message: LineMessage, file: NamedFile, options: LinesOptions): Generator<SearchLine> {
  const { path, key, after } = options;
  // Most messages are about one line, so this cheap check skips unwanted ones.
  if (message.line <= after && !isMany(message.head)) return;
  const isLong = message.length > message.headLength;
  const content = file.isVerified && !isLong ? undefined : file.content();
  if (!file.isVerified && (content === undefined || !isInFile(message, content))) return;
  const is_match = message.type === "match";
  const text = typeof message.head === "string" ? message.head : message.head.toString("utf8");
  let { line } = message;
  for (let at = 0; at < text.length || at === 0; line++) {
    const newline = text.indexOf("\n", at);
    const end = newline < 0 ? text.length : newline;
    if (line > after) {
      const isFirst = at === 0;
      const isLast = newline < 0;
      const whole = text.slice(at, text[end - 1] === "\r" && newline >= 0 ? end - 1 : end);
      if (looksLikeKeyBody(whole) && isOfKey(file, message.offset + Buffer.byteLength(text.slice(0, at)))) {
        yield { path, key, line, is_match, text: REDACTION_MARKER, cut_before: 0, cut_after: 0 };
        if (newline < 0) return;
        at = newline + 1;
        continue;
      }
      const beyond = isLong && isLast ? content : undefined;
      const { text: shown, cut_before, cut_after } = cut(whole, { message, isFirst, beyond });
      yield { path, key, line, is_match, text: shown, cut_before, cut_after };
    }
    if (newline < 0) return;
    at = newline + 1;
  }
}

/** Returns true if the file can no longer be read, so that the line is not shown. */
function isOfKey(file: NamedFile, offset: number): boolean {
  const content = file.content();
  return content === undefined || isInPrivateKey(content, offset);
}

function isMany(head: string | Buffer): boolean {
  const newline = head.indexOf("\n");
  return newline >= 0 && newline + 1 < head.length;
}

function isInFile({ head, headLength, offset }: LineMessage, content: FileContent): boolean {
  const bytes = content.read(offset, headLength);
  return typeof head === "string" ? bytes.toString("utf8") === head : bytes.equals(head);
}

interface CutOptions {
  readonly message: LineMessage;
  readonly isFirst: boolean;
  /** The file, if parts of this line or of later lines were not stored. */
  readonly beyond: FileContent | undefined;
}

/** Bytes read around a distant match: enough to fill the width with the widest characters. */
const BEFORE_BYTES = 1024;
const AROUND_BYTES = 4096;

function cut(line: string, { message, isFirst, beyond }: CutOptions): CutLine {
  const { start, headLength } = message;
  if (beyond !== undefined && isFirst && start >= headLength) return cutFarMatch(message, beyond);
  const shown = cutLine(line, isFirst ? start : 0);
  if (beyond === undefined) return shown;
  return { ...shown, cut_after: shown.cut_after + lengthWithoutEnd(message, beyond) - headLength };
}

/** Reads a match beyond the stored part of its line from the file. */
function cutFarMatch(message: LineMessage, content: FileContent): CutLine {
  const { start, offset } = message;
  const length = lengthWithoutEnd(message, content);
  const around = content.read(offset + start - BEFORE_BYTES, Math.min(AROUND_BYTES, length - start + BEFORE_BYTES));
  const skipped = continuationsAt(around);
  const shown = cutLine(around.toString("utf8", skipped), BEFORE_BYTES - skipped);
  const cut_before = start - BEFORE_BYTES + skipped + shown.cut_before;
  return { text: shown.text, cut_before, cut_after: Math.max(0, length - cut_before - Buffer.byteLength(shown.text)) };
}

/** Number of bytes at the beginning that belong to a preceding character. */
function continuationsAt(bytes: Buffer): number {
  let count = 0;
  while (count < 3 && ((bytes[count] ?? 0) & 0xc0) === 0x80) count++;
  return count;
}

function lengthWithoutEnd({ offset, length }: LineMessage, content: FileContent): number {
  return content.read(offset + length - 1, 1)[0] === NEWLINE ? length - 1 : length;
}

const NEWLINE = 10;

/** Maximum characters shown of a line. More is rarely read, and a page has limited space. */
const WIDTH = 500;
/** Characters shown before a match if the beginning of the line is cut. */
const BEFORE = 100;
/** A word at the edge is shown completely or not at all: the redactor would not recognize half a secret. */
const MAX_WORD = 200;
const WORD = /[\w+/=.~-]/;

interface CutLine {
  readonly text: string;
  /** In bytes. */
  readonly cut_before: number;
  readonly cut_after: number;
}

/** Shortens a line to the width: its beginning, or the text around a later match, which starts at `matchByte`. */
function cutLine(line: string, matchByte: number): CutLine {
  if (line.length <= WIDTH) return { text: line, cut_before: 0, cut_after: 0 };
  const matchStart = Buffer.from(line).toString("utf8", 0, matchByte).length;
  const from = matchStart <= WIDTH - BEFORE ? 0 : edgeAfter(line, matchStart - BEFORE, matchStart);
  const until = from + WIDTH >= line.length ? line.length : edgeBefore(line, from + WIDTH);
  return {
    text: line.slice(from, until),
    cut_before: Buffer.byteLength(line.slice(0, from)),
    cut_after: Buffer.byteLength(line.slice(until)),
  };
}

/** The first word start from `at` on, or `at` if that is too far. */
function edgeAfter(line: string, at: number, limit: number): number {
  for (let place = at; place < limit; place++) {
    if (!WORD.test(line[place - 1] ?? " ")) return place;
  }
  return isLowSurrogate(line, at) ? at + 1 : at;
}

/** The last word end before `at`, or `at` if that is too far. */
function edgeBefore(line: string, at: number): number {
  for (let place = at; place > at - MAX_WORD; place--) {
    if (!WORD.test(line[place] ?? " ") && !isLowSurrogate(line, place)) return place;
  }
  return isLowSurrogate(line, at) ? at - 1 : at;
}

function isLowSurrogate(line: string, at: number): boolean {
  const code = line.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff;
}

/** A line of only base64, as in the body of a private key. */
const BODY = /^[\s"'>|+-]*[A-Za-z0-9+/]{40,}={0,2}[\s"',\\]*$/;
const MAX_LINE = 4096;
/** Longer than any private key: one of 16,384 bits has 13 kB. */
const KEY_BYTES = 16_384;

function looksLikeKeyBody(line: string): boolean {
  return line.length <= MAX_LINE && BODY.test(line);
}

/**
 * Whether an offset in a file is inside a private key. A search shows single lines, but the redactor recognizes a key
 * by its first line: without this check a key could be read by searching for it line by line.
 */
function isInPrivateKey(content: FileContent, offset: number): boolean {
  const from = Math.max(0, offset - KEY_BYTES);
  const before = content.read(from, offset - from).toString("latin1");
  const begin = before.lastIndexOf("-----BEGIN ");
  if (begin < 0 || before.includes("-----END ", begin)) return false;
  return /^-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY/.test(before.slice(begin, begin + 80));
}
