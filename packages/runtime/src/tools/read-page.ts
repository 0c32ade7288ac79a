import type { OpenedFile, OutputLimits } from "../contract/context.ts";
import { startOfCharacter } from "../text/characters.ts";
import { BOM_BYTES, decodeLeniently } from "../text/encoding.ts";
import { countLineFeeds, lineEndsOf } from "../text/lines.ts";
import type { LineEnds } from "../text/lines.ts";
import { cutPage } from "../text/page.ts";
import type { PageEnd, PageSize } from "../text/page.ts";
import { readExactly } from "./survey-file.ts";
import type { Place } from "./survey-file.ts";

const LINE_FEED = 0x0a;
/** A page reads this far beyond its ends, to find where characters begin and end. */
const LOOK_BEHIND = 3;
const LOOK_AHEAD = 4;

export interface PageRequest {
  readonly path: string;
  readonly place: Place;
  readonly bom: boolean;
  readonly limit?: number | undefined;
  readonly limit_bytes?: number | undefined;
  /** The entire file, if it is in memory. */
  readonly whole?: Buffer;
}

export interface Page {
  readonly text: string;
  readonly start_line: number | null;
  readonly end_line: number | null;
  readonly offset_bytes: number;
  readonly end_bytes: number;
  readonly line_ends: LineEnds;
  readonly valid_utf8: boolean;
  readonly bom: boolean;
  readonly truncated_lines: boolean;
  readonly truncated_bytes: boolean;
  /** Where the next page begins, if there is one. */
  readonly next: Place | undefined;
  readonly notes: readonly string[];
  /** The text before and after it, as far as a secret cut by the page may extend. */
  readonly around?: { readonly before: string; readonly after: string };
}

/** No shape of a secret is longer: a private key of 16,384 bits is 13 kB. */
const SECRET_BYTES = 16_384;

/**
 * A page of text from a position on. A position inside a character moves to its beginning; a byte order mark is
 * skipped. For byte ranges the end stays as requested, so that adjacent ranges miss nothing.
 */
export async function readPage(file: OpenedFile, request: PageRequest, limits: OutputLimits): Promise<Page> {
  const asked = sizeOf(request, limits);
  const { at, moved, bytes } = await readFrom(file, request, asked);
  const size = asked.whole_lines ? asked : { ...asked, bytes: Math.min(asked.bytes + moved, limits.bytes) };
  const { cut, text, valid, shrunk } = fit(bytes, size, limits);
  const shown = bytes.subarray(0, cut.length);
  const { line } = request.place;
  const end = at + cut.length;
  const feeds = countLineFeeds(shown);
  const endsInLine = shown.at(-1) !== LINE_FEED;
  const isMore = end < file.size;
  const end_line = line === null ? null : line + feeds - (endsInLine && shown.length > 0 ? 0 : 1);
  return {
    text,
    start_line: line,
    end_line,
    offset_bytes: at,
    end_bytes: end,
    line_ends: lineEndsOf(shown),
    valid_utf8: valid,
    bom: request.bom,
    truncated_lines: cut.full === "lines" && size.lines === limits.lines,
    truncated_bytes: cut.full === "bytes" && (shrunk || size.bytes === limits.bytes),
    next: isMore ? { at: end, line: line === null ? null : line + feeds } : undefined,
    notes: [
      ...(valid ? [] : ["Not all of this is valid UTF-8: \ufffd replaces bytes that could not be decoded"]),
      ...(isMore && endsInLine && size.whole_lines ? [longLine(end_line)] : []),
    ],
    ...(at === 0 && !isMore ? {} : { around: await readAround(file, request, { at, end }) }),
  };
}

async function readAround(
  file: OpenedFile,
  { path, whole }: PageRequest,
  { at, end }: { readonly at: number; readonly end: number },
): Promise<NonNullable<Page["around"]>> {
  const span = async (from: number, to: number): Promise<string> => {
    const bytes = whole?.subarray(from, to) ?? (await readExactly(file, { path, at: from, length: to - from }));
    return decodeLeniently(bytes).text;
  };
  const before = await span(Math.max(0, at - SECRET_BYTES), at);
  return { before, after: await span(end, Math.min(file.size, end + SECRET_BYTES)) };
}

function longLine(line: number | null): string {
  return `${line === null ? "This line" : `Line ${line}`} is longer than a page and continues on the next one`;
}

/** Bytes are returned as requested; if our own limit ends the page, it ends after a line. */
function sizeOf({ limit, limit_bytes }: PageRequest, limits: OutputLimits): PageSize {
  return {
    lines: Math.min(limit ?? limits.lines, limits.lines),
    bytes: Math.min(limit_bytes ?? limits.bytes, limits.bytes),
    whole_lines: limit_bytes === undefined || limit_bytes > limits.bytes,
  };
}

/** The bytes from the position on, as many as a page can need, and how far the position moved. */
async function readFrom(
  file: OpenedFile,
  { path, place, bom, whole }: PageRequest,
  size: PageSize,
): Promise<{ readonly at: number; readonly moved: number; readonly bytes: Buffer }> {
  const wanted = bom ? Math.max(place.at, BOM_BYTES) : place.at;
  const behind = Math.min(wanted, LOOK_BEHIND);
  const from = wanted - behind;
  const length = Math.min(file.size - from, behind + size.bytes + LOOK_AHEAD);
  const window = whole?.subarray(from, from + length) ?? (await readExactly(file, { path, at: from, length }));
  const begin = startOfCharacter(window, behind);
  return { at: from + begin, moved: behind - begin, bytes: window.subarray(begin) };
}

interface FittedText {
  readonly cut: PageEnd;
  readonly text: string;
  readonly valid: boolean;
  readonly shrunk: boolean;
}

/** Replacement characters are longer than the bytes they replace: a page that grew over the limit is cut again. */
function fit(bytes: Buffer, size: PageSize, limits: OutputLimits): FittedText {
  const cut = cutPage(bytes, size);
  const decoded = decodeLeniently(bytes.subarray(0, cut.length));
  const grown = decoded.valid ? 0 : Buffer.byteLength(decoded.text) - cut.length;
  if (cut.length + grown <= limits.bytes || grown === 0) return { cut, ...decoded, shrunk: false };
  // No prefix grows by more than the entire text did, and no byte grows to more than three.
  const safe = Math.max(limits.bytes - grown, Math.floor(limits.bytes / 3), 1);
  const smaller = cutPage(bytes, { ...size, bytes: Math.min(safe, cut.length - 1) });
  return { cut: smaller, ...decodeLeniently(bytes.subarray(0, smaller.length)), shrunk: true };
}
