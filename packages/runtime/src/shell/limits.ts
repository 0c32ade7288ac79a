/**
 * The parser's time grows with the length of the text times the number of openings that may stay open, and with the
 * length times the nesting depth. Both are counted beforehand, so that the time is bounded by design: about 5 ms for
 * the worst 8 kB that pass.
 */
const MAX_LENGTH = 32_768;
/** Length times the openings whose end the parser may not find. */
const MAX_SEARCHED = 1_500_000;
/** Maximum nesting of brackets, counted without regard to quotes. */
const MAX_OPEN = 64;

interface Searched {
  /** An opening that plain text does not close in the same line. */
  readonly shape: RegExp;
  /** Cost relative to `{a,`. */
  readonly weight: number;
  /** Counted only in text that contains this. */
  readonly within?: string;
}

// oxfmt-ignore
const SEARCHED: readonly Searched[] = [
  { shape: /<</g,                                    weight: 1 },
  { shape: /(?<!\$)\{(?=\S)(?![^\s'"`\\{}]*\})/g,    weight: 1 },
  { shape: /\$\{(?:[\s|]|(?![^'"`\\${}\n]*\}))/g,    weight: 2 },
  { shape: /\$\(\((?![^'"`\\()\n]*\)\))/g,           weight: 1 },
  { shape: /\$\[/g,                                  weight: 8 },
  { shape: /[^\s[$]\[(?![^'"`\\()[\]\n]*\])/g,       weight: 2 },
  { shape: /(?<=[\s(])\[/g,                          weight: 1, within: "=(" }, // `a=( [ [`
];
const BRACKET = /\\.|[(){}]/gs;

const TOO_DEEP = "it is nested too deeply to be examined";

/** Why a text would take the parser too long, or undefined. */
export function tooCostly(text: string): string | undefined {
  if (text.length > MAX_LENGTH) {
    return `it is ${text.length} characters long; at most ${MAX_LENGTH} can be examined`;
  }
  return isSearchedLong(text) || nestsDeeply(text) ? TOO_DEEP : undefined;
}

function isSearchedLong(text: string): boolean {
  let searched = 0;
  for (const { shape, weight, within } of SEARCHED) {
    if (within !== undefined && !text.includes(within)) continue;
    for (const _ of text.matchAll(shape)) if ((searched += weight) * text.length > MAX_SEARCHED) return true;
  }
  return false;
}

/** Each kind separately, so that one does not end the other. */
function nestsDeeply(text: string): boolean {
  let round = 0;
  let curly = 0;
  for (const [bracket] of text.matchAll(BRACKET)) {
    if (bracket === "(") round++;
    else if (bracket === "{") curly++;
    else if (bracket === ")") round = Math.max(0, round - 1);
    else if (bracket === "}") curly = Math.max(0, curly - 1);
    if (round + curly > MAX_OPEN) return true;
  }
  return false;
}
