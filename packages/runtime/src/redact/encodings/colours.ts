import { CODE, isIn, setOf } from "../text/character-sets.ts";

const COLOURS = /(?:\x1b\[[\d;?]{0,16}[A-Za-z]){1,8}/y;
const HALF_COLOUR = /\x1b(?:\[[\d;?]{0,16})?$/y;

/**
 * Skips terminal colors, which `grep --color` inserts into words; returns `at` if there are none, and the end of the
 * text if it ends within one.
 */
export function pastColours(text: string, at: number): number {
  if (text.charCodeAt(at) !== CODE.escape) return at;
  COLOURS.lastIndex = at;
  const end = COLOURS.test(text) ? COLOURS.lastIndex : at;
  if (text.charCodeAt(end) !== CODE.escape || text.length - end > 18) return end;
  HALF_COLOUR.lastIndex = end;
  return HALF_COLOUR.test(text) ? text.length : end;
}

const IN_COLOUR = setOf("0-9;?");
const ENDS_COLOUR = setOf("A-Za-z");

/** Whether a color sequence ends right before `at`. */
export function endsColour(text: string, end: number): boolean {
  if (!isIn(ENDS_COLOUR, text.charCodeAt(end - 1))) return false;
  let at = end - 2;
  while (at > end - 20 && isIn(IN_COLOUR, text.charCodeAt(at))) at--;
  return text.charCodeAt(at) === CODE.openBracket && text.charCodeAt(at - 1) === CODE.escape;
}

const SIGNS = setOf("+-");
const BEFORE_SIGN = /[\r\n](?:\x1b\[[\d;]{0,16}m)?$/;

/** Whether a "+" or "-" begins a line, as in a diff. */
export function isDiffSign(text: string, at: number): boolean {
  return isIn(SIGNS, text.charCodeAt(at)) && BEFORE_SIGN.test(text.slice(Math.max(0, at - 20), at));
}
