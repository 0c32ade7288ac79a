const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

export const LINE_ENDS = ["lf", "crlf", "cr", "mixed", "none"] as const;
export type LineEnds = (typeof LINE_ENDS)[number];

/**
 * Number of line feeds in these bytes, the same line count as in search and editing. Constant time per byte: a gigabyte
 * of blank lines takes no longer than any other.
 */
export function countLineFeeds(bytes: Uint8Array): number {
  if (bytes.length < 8) return countSingly(bytes);
  const first = -bytes.byteOffset & 3; // words are aligned to four bytes
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + first, (bytes.length - first) >> 2);
  const last = first + words.length * 4;
  return countSingly(bytes.subarray(0, first)) + countInWords(words) + countSingly(bytes.subarray(last));
}

function countSingly(bytes: Uint8Array): number {
  let count = 0;
  for (const byte of bytes) if (byte === LINE_FEED) count++;
  return count;
}

/** Four bytes at a time: each of the four lanes of a word counts separately, and is flushed before it can overflow. */
function countInWords(words: Int32Array): number {
  let count = 0;
  for (let at = 0; at < words.length;) {
    const end = Math.min(at + 255, words.length);
    let lanes = 0;
    for (; at < end; at++) {
      const word = (words[at] ?? 0) ^ 0x0a0a0a0a; // a byte is 0 where a line feed was
      const others = ((word & 0x7f7f7f7f) + 0x7f7f7f7f) | word; // the high bit of a byte is set where it is not 0
      lanes = (lanes + ((~others & 0x80808080) >>> 7)) | 0;
    }
    count += (lanes & 0xff) + ((lanes >>> 8) & 0xff) + ((lanes >>> 16) & 0xff) + (lanes >>> 24);
  }
  return count;
}

/** End of the first `lines` lines, including their line feeds; undefined if there are fewer. */
export function endOfLines(bytes: Uint8Array, lines: number): number | undefined {
  let at = 0;
  for (let count = 0; count < lines; count++) {
    const found = bytes.indexOf(LINE_FEED, at);
    if (found < 0) return undefined;
    at = found + 1;
  }
  return at;
}

/** The kinds of line ends in a text. */
export function lineEndsOf(bytes: Uint8Array): LineEnds {
  const found = new Set<LineEnds>();
  if (!bytes.includes(CARRIAGE_RETURN)) return bytes.includes(LINE_FEED) ? "lf" : "none";
  for (let at = 0; at < bytes.length; at++) {
    if (bytes[at] === LINE_FEED) found.add(bytes[at - 1] === CARRIAGE_RETURN ? "crlf" : "lf");
    else if (bytes[at] === CARRIAGE_RETURN && bytes[at + 1] !== LINE_FEED) found.add("cr");
  }
  const [only = "none"] = found;
  return found.size > 1 ? "mixed" : only;
}
