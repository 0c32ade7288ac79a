/**
 * The parser's time grows with the length of the text times the number of openings that may stay open, and with the
 * length times how deep they nest. Both are counted beforehand, so that the time is bounded by design: about 5 ms for
 * the worst 8 kB that are let through.
 */
const MAX_LENGTH = 32_768;
/** Length times openings that the parser looks for the end of without finding it: `{a,`, `<<a`, `${ a`. */
const MAX_SEARCHED = 1_500_000;
/** How far brackets may nest, by a count that does not know quotes. */
const MAX_OPEN = 64;

const SEARCHED = /(?<!\$)\{(?=\S)|\$\{(?=[\s|])|<</g;
const BRACKET = /[(){}]/g;

const TOO_DEEP = "it is nested too deeply to be read with care";

/** Why a text would take the parser too long, or undefined where it would not. */
export function tooCostly(text: string): string | undefined {
  if (text.length > MAX_LENGTH) {
    return `it is ${text.length} characters long, and at most ${MAX_LENGTH} can be read with care`;
  }
  let searched = 0;
  for (const _ of text.matchAll(SEARCHED)) if (++searched * text.length > MAX_SEARCHED) return TOO_DEEP;
  let open = 0;
  for (const [bracket] of text.matchAll(BRACKET)) {
    if (bracket === "(" || bracket === "{") open++;
    else if (open > 0) open--;
    if (open > MAX_OPEN) return TOO_DEEP;
  }
  return undefined;
}
