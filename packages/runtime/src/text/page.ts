import { endOfCharacter, startOfCharacter } from "./characters.ts";
import { endOfLines } from "./lines.ts";

const LINE_FEED = 0x0a;

export interface PageSize {
  readonly lines: number;
  readonly bytes: number;
  /** Ends after a whole line, unless one line alone is over the limit. */
  readonly whole_lines: boolean;
}

export interface Cut {
  /** How many bytes the page has. */
  readonly length: number;
  /** What ended it; undefined where it has all of the bytes. */
  readonly full: "lines" | "bytes" | undefined;
}

/**
 * The first page of some bytes. Never ends inside a character, and has at least one where there is one. To be sure of
 * where a character ends it needs to see 4 bytes more than `size.bytes`, where there are so many.
 */
export function cutPage(bytes: Uint8Array, size: PageSize): Cut {
  const window = bytes.subarray(0, size.bytes);
  const byLines = endOfLines(window, size.lines);
  if (byLines !== undefined && byLines < bytes.length) return { length: byLines, full: "lines" };
  if (bytes.length <= size.bytes) return { length: bytes.length, full: undefined };
  const lineEnd = size.whole_lines ? window.lastIndexOf(LINE_FEED) : -1;
  if (lineEnd >= 0) return { length: lineEnd + 1, full: "bytes" };
  const piece = startOfCharacter(bytes, size.bytes);
  const length = piece > 0 ? piece : endOfCharacter(bytes, 0);
  return { length, full: length < bytes.length ? "bytes" : undefined };
}
