type Numbers = Uint16Array | Int32Array;

export interface SearchOptions {
  readonly from?: number;
  /** Maximum number of results. */
  readonly limit: number;
  /** Also count occurrences that start inside another one. */
  readonly overlapping: boolean;
}

/** The engine's own search is quadratic in this length, so it is used only for prefixes this long. */
const SHORT = 64;

/** Finds a text in another. Linear time for any input. `find` must not be empty. */
export function findText(text: string, find: string, options: SearchOptions): number[] {
  const beginning = find.slice(0, SHORT);
  const rest = find.slice(SHORT);
  const found: number[] = [];
  let compared = 0;
  let at = text.indexOf(beginning, options.from ?? 0);
  while (at >= 0 && found.length < options.limit) {
    const here = text.startsWith(rest, at + beginning.length);
    if (here) found.push(at);
    else compared += rest.length;
    // Many partial matches: the input is pathological for the simple search.
    if (compared > 2 * text.length) return findSequence(codesOf(text), codesOf(find), options);
    at = text.indexOf(beginning, at + (here && !options.overlapping ? find.length : 1));
  }
  return found;
}

/** The same for numbers: Knuth-Morris-Pratt. */
export function findSequence(haystack: Numbers, needle: Numbers, options: SearchOptions): number[] {
  const found: number[] = [];
  const borders = bordersOf(needle);
  const { length } = needle;
  let matched = 0;
  for (let at = options.from ?? 0; at < haystack.length && found.length < options.limit; at++) {
    while (matched > 0 && haystack[at] !== needle[matched]) matched = borders[matched - 1] ?? 0;
    if (haystack[at] === needle[matched]) matched++;
    if (matched < length) continue;
    found.push(at - length + 1);
    matched = options.overlapping ? (borders[length - 1] ?? 0) : 0;
  }
  return found;
}

/** For each prefix of a sequence: the length of its longest border. */
function bordersOf(needle: Numbers): Int32Array {
  const borders = new Int32Array(needle.length);
  let border = 0;
  for (let at = 1; at < needle.length; at++) {
    while (border > 0 && needle[at] !== needle[border]) border = borders[border - 1] ?? 0;
    if (needle[at] === needle[border]) border++;
    borders[at] = border;
  }
  return borders;
}

function codesOf(text: string): Uint16Array {
  const codes = new Uint16Array(text.length);
  for (let at = 0; at < text.length; at++) codes[at] = text.charCodeAt(at);
  return codes;
}
