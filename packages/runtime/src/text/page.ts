import { endOfCharacter, startOfCharacter } from "./characters.ts";
import { endOfLines } from "./lines.ts";

const LINE_FEED = 0x0a;

export interface PageSize {
  readonly lines: number;
  readonly bytes: number;
  /** Ends after a complete line, unless one line alone exceeds the limit. */
  readonly whole_lines: boolean;
}

export interface PageEnd {
  /** Size of the page in bytes. */
  readonly length: number;
  /** The limit that ended it; undefined if it has all of the bytes. */
  readonly full: "lines" | "bytes" | undefined;
}

/**
 * The first page of some bytes. Never ends inside a character, and has at least one if the input has. To find the end
 * of a character it needs 4 bytes beyond `size.bytes`, if the input has them.
 */
export function cutPage(bytes: Uint8Array, size: PageSize): PageEnd {
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
