import { createHash, hash } from "node:crypto";
import type { OpenedFile, ToolContext } from "../contract/context.ts";
import { ToolError } from "../protocol/errors.ts";
import { BOM_BYTES, startsWithBom } from "../text/encoding.ts";
import { countLineFeeds, endOfLines } from "../text/lines.ts";

const LINE_FEED = 0x0a;
const CHUNK = 256 * 1024;
/** Bytes to read and hash before other work gets a turn: some milliseconds. */
const CHUNKS_PER_TURN = 16;
const CHUNKS_PER_REPORT = 256;
/** Above this a file is neither hashed nor counted: it would take seconds, too long for a page. */
const MAX_SURVEYED = 4 * 1024 ** 3;

/** The requested start. */
export type Start = { readonly line: number } | { readonly byte: number };

export interface Place {
  readonly at: number;
  /** The line of this byte, from 1; null if the lines before it were not counted. */
  readonly line: number | null;
}

export interface Survey {
  /** For the entire file. Null above `MAX_SURVEYED`. */
  readonly sha256: string | null;
  readonly total_lines: number | null;
  /** Undefined if the file ends before the requested line. */
  readonly place: Place | undefined;
}

/** The same for a file that is completely in memory. */
export function surveyBytes(bytes: Uint8Array, start: Start): Survey {
  const isEmpty = bytes.length === BOM_BYTES && startsWithBom(bytes);
  return {
    sha256: hash("sha256", bytes, "hex"),
    total_lines: isEmpty ? 0 : countLineFeeds(bytes) + (endsOpen(bytes) ? 1 : 0),
    place: placeIn(bytes, start, { at: 0, feeds: 0 }),
  };
}

/**
 * Hashes a file, counts its lines and finds the start position in one pass, with one chunk in memory. A file that is
 * too large for that is read only up to the start position.
 */
export async function surveyFile(
  file: OpenedFile,
  { path, start }: { readonly path: string; readonly start: Start },
  context: Pick<ToolContext, "signal" | "progress">,
): Promise<Survey> {
  const whole = file.size <= MAX_SURVEYED;
  if (!whole && "byte" in start) return { sha256: null, total_lines: null, place: { at: start.byte, line: null } };
  const digest = createHash("sha256");
  const into = Buffer.allocUnsafeSlow(CHUNK);
  let place: Place | undefined;
  let feeds = 0;
  let open = false;
  let chunks = 0;
  for (let at = 0; at < file.size;) {
    const chunk = await readExactly(file, { path, at, length: Math.min(CHUNK, file.size - at), into });
    const feedsAfter = feeds + countLineFeeds(chunk);
    // Finding a line in a chunk takes longer than counting its lines, so only the chunk that contains it is searched.
    if ("byte" in start || start.line - 1 <= feedsAfter) place ??= placeIn(chunk, start, { at, feeds });
    if (!whole && place !== undefined) return { sha256: null, total_lines: null, place };
    if (whole) digest.update(chunk);
    feeds = feedsAfter;
    open = endsOpen(chunk);
    at += chunk.length;
    chunks++;
    if (chunks % CHUNKS_PER_REPORT === 0) context.progress(at / file.size, `scanning "${path}"`);
    if (chunks % CHUNKS_PER_TURN === 0) await letOthersRun(context.signal);
  }
  return { sha256: whole ? digest.digest("hex") : null, total_lines: feeds + (open ? 1 : 0), place };
}

interface StartRequest {
  readonly path: string;
  readonly at: number;
  readonly length: number;
  readonly into?: Buffer;
}

/** The content from when the file was opened. Throws `Stale` if the file has been truncated since. */
export async function readExactly(file: OpenedFile, { path, at, length, into }: StartRequest): Promise<Buffer> {
  const bytes = await file.read(at, length, into);
  if (bytes.length === length) return bytes;
  throw new ToolError("Stale", `Cannot read "${path}": it was truncated while being read`, { path });
}

/** The requested position, if it is in a chunk that begins at `before.at`, after `before.feeds` line feeds. */
function placeIn(chunk: Uint8Array, start: Start, before: { at: number; feeds: number }): Place | undefined {
  if ("byte" in start) {
    const within = start.byte - before.at;
    if (within > chunk.length) return undefined;
    return { at: start.byte, line: before.feeds + 1 + countLineFeeds(chunk.subarray(0, within)) };
  }
  const end = endOfLines(chunk, start.line - 1 - before.feeds);
  // A line begins after a line feed only if something follows it.
  const begun = end !== undefined && (end < chunk.length || (before.at === 0 && start.line === 1));
  return begun ? { at: before.at + end, line: start.line } : undefined;
}

function endsOpen(bytes: Uint8Array): boolean {
  return bytes.length > 0 && bytes[bytes.length - 1] !== LINE_FEED;
}

export async function letOthersRun(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  signal.throwIfAborted();
}
