const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const LONGEST = 4; // bytes per UTF-8 character

/**
 * Start of the character that a cut at `at` would split; `at` itself if it splits none. The two bytes of a CRLF count
 * as one character. Invalid UTF-8 is split only where a decoder resynchronizes, so that the pieces decode to the same
 * text as the whole.
 */
export function startOfCharacter(bytes: Uint8Array, at: number): number {
  const next = bytes[at];
  if (next === undefined || at === 0) return at;
  if (next === LINE_FEED && bytes[at - 1] === CARRIAGE_RETURN) return at - 1;
  if (!isContinuation(next)) return at;
  for (let back = 1; back < LONGEST && back <= at; back++) {
    const byte = bytes[at - back] ?? 0;
    if (isContinuation(byte)) continue;
    return promisedLength(byte) > back ? at - back : at;
  }
  return at;
}

/** End of the character that starts at `at`. */
export function endOfCharacter(bytes: Uint8Array, at: number): number {
  let end = at + 1;
  while (end < bytes.length && startOfCharacter(bytes, end) !== end) end++;
  return Math.min(end, bytes.length);
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

/** Length in bytes of a character with this first byte. */
function promisedLength(first: number): number {
  if (first < 0xc0) return 1;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : LONGEST;
}
