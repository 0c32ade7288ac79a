export interface Glob {
  /** Whether the entire path, with "/" between its parts, matches. */
  matches(path: string): boolean;
  /** Whether some path matches both this pattern and the other one, which is given name by name. */
  meets(names: readonly string[]): boolean;
}

/** A pattern with more alternatives is refused: `{a,b}{a,b}…` doubles with each group. */
const MAX_ALTERNATIVES = 256;
const MAX_PATTERN_LENGTH = 1024;

/**
 * The usual file globs: `*` and `?` within one part, `**` across parts, `[a-z]`, `[!a-z]`, `{a,b}`, `\` before a
 * literal. A pattern without "/" matches a name at any depth, as in `.gitignore`; one that begins with "/" or "./"
 * starts at the top. A trailing "/" is dropped. Time is at most pattern length times path length: no pattern can make
 * it hang. Throws `RangeError` on a pattern that is too long or has too many alternatives.
 */
export function compileGlob(pattern: string): Glob {
  if (pattern.length > MAX_PATTERN_LENGTH) {
    throw new RangeError(`The pattern is ${pattern.length} characters long; the maximum is ${MAX_PATTERN_LENGTH}`);
  }
  const trimmed = pattern.replace(/\/+$/, "");
  const fromTop = trimmed.replace(/^\.?\/+/, "");
  const anchored = trimmed.includes("/") ? fromTop : `**/${fromTop}`;
  const alternatives = expandBraces(anchored).map((each) => each.split("/").map(compilePart));
  return {
    matches: (path) => matchesAny(alternatives, path.split("/")),
    meets(names) {
      const parts = names.map(compilePart);
      return alternatives.some((pattern) => meetWithStars(pattern, parts, isManyParts, partsMeet));
    },
  };
}

function partsMeet(one: Part, other: Part): boolean {
  return one !== "**" && other !== "**" && meetWithStars(one, other, isManyCharacters, piecesMeet);
}

/** Two sets are assumed to have a character in common: this errs on the side of a match. */
function piecesMeet(one: Piece, other: Piece): boolean {
  if (typeof one === "string" && one !== "?") return matchesCharacter(other, one.slice(1));
  return typeof other !== "string" || other === "?" || matchesCharacter(one, other.slice(1));
}

/** Whether two patterns with stars have a list of items in common. Time is the product of their lengths. */
function meetWithStars<P>(
  one: readonly P[],
  other: readonly P[],
  isStar: (piece: P) => boolean,
  fits: (one: P, other: P) => boolean,
): boolean {
  // From the end: whether the rests from index `i` of one and index `j` of the other have a match in common.
  let after: boolean[] = [];
  for (let i = one.length; i >= 0; i--) {
    const row: boolean[] = [];
    const a = one[i];
    for (let j = other.length; j >= 0; j--) {
      const b = other[j];
      if (a === undefined) row[j] = b === undefined || (isStar(b) && row[j + 1] === true);
      else if (isStar(a)) row[j] = after[j] === true || (b !== undefined && row[j + 1] === true);
      else if (b === undefined) row[j] = false;
      else row[j] = isStar(b) ? row[j + 1] === true || after[j] === true : after[j + 1] === true && fits(a, b);
    }
    after = row;
  }
  return after[0] === true;
}

type Part = "**" | readonly Piece[];
/** `*`, `?`, a literal character as `\\x`, or a set of ranges. */
type Piece = string | { readonly set: readonly (readonly [number, number])[]; readonly negated: boolean };

function matchesAny(alternatives: readonly (readonly Part[])[], parts: readonly string[]): boolean {
  return alternatives.some((pattern) => matchWithStars(pattern, parts, isManyParts, matchesPart));
}

function isManyParts(part: Part): boolean {
  return part === "**";
}

function matchesPart(part: Part, text: string): boolean {
  return part !== "**" && matchWithStars(part, Array.from(text), isManyCharacters, matchesCharacter);
}

function isManyCharacters(piece: Piece): boolean {
  return piece === "*";
}

function matchesCharacter(piece: Piece, character: string): boolean {
  if (typeof piece === "string") return piece === "?" || piece === `\\${character}`;
  const code = character.codePointAt(0) ?? 0;
  return piece.set.some(([from, to]) => code >= from && code <= to) !== piece.negated;
}

/** Matches a list against a pattern whose stars match any number of items, backtracking only to the last star. */
function matchWithStars<P, T>(
  pattern: readonly P[],
  items: readonly T[],
  isStar: (piece: P) => boolean,
  fits: (piece: P, item: T) => boolean,
): boolean {
  let p = 0;
  let i = 0;
  let star = -1;
  let resume = 0;
  while (i < items.length) {
    const piece = pattern[p];
    if (piece !== undefined && isStar(piece)) {
      star = p++;
      resume = i;
    } else if (piece !== undefined && fits(piece, items[i] as T)) {
      p++;
      i++;
    } else if (star >= 0) {
      p = star + 1;
      i = ++resume;
    } else {
      return false;
    }
  }
  return pattern.slice(p).every(isStar);
}

/** A literal character is kept as `\x`, so that it cannot be taken for `*` or `?`. */
function compilePart(part: string): Part {
  if (part === "**") return "**";
  const characters = Array.from(part);
  const pieces: Piece[] = [];
  for (let i = 0; i < characters.length; i++) {
    const character = characters[i] ?? "";
    if (character === "*") {
      if (pieces.at(-1) !== "*") pieces.push("*");
    } else if (character === "?") {
      pieces.push("?");
    } else if (character === "[" && characters.indexOf("]", i + 2) > 0) {
      const end = characters.indexOf("]", i + 2);
      pieces.push(compileSet(characters.slice(i + 1, end)));
      i = end;
    } else if (character === "\\" && i + 1 < characters.length) {
      pieces.push(`\\${characters[++i]}`);
    } else {
      pieces.push(`\\${character}`);
    }
  }
  return pieces;
}

function compileSet(inner: readonly string[]): Piece {
  const negated = inner[0] === "!" || inner[0] === "^";
  const characters = negated ? inner.slice(1) : inner;
  const set: [number, number][] = [];
  for (let i = 0; i < characters.length; i++) {
    const from = characters[i]?.codePointAt(0) ?? 0;
    if (characters[i + 1] === "-" && i + 2 < characters.length) {
      set.push([from, characters[i + 2]?.codePointAt(0) ?? 0]);
      i += 2;
    } else {
      set.push([from, from]);
    }
  }
  return { set, negated };
}

/** `a{b,c}d` to `abd`, `acd`; inner groups first. A brace without its partner or comma is literal. */
function expandBraces(pattern: string): string[] {
  const done: string[] = [];
  const open = [pattern];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const group = findGroup(next);
    if (group === undefined) {
      done.push(next);
    } else {
      const [start, end] = group;
      for (const choice of next
        .slice(start + 1, end)
        .split(",")
        .reverse()) {
        open.push(next.slice(0, start) + choice + next.slice(end + 1));
      }
    }
    if (done.length + open.length > MAX_ALTERNATIVES) {
      throw new RangeError(`The pattern expands to more than ${MAX_ALTERNATIVES} alternatives`);
    }
  }
  return done;
}

/** The start and end of the first innermost `{…,…}`. */
function findGroup(pattern: string): readonly [number, number] | undefined {
  let start = -1;
  let comma = false;
  for (let i = 0; i < pattern.length; i++) {
    const character = pattern[i];
    if (character === "\\") {
      i++;
    } else if (character === "{") {
      start = i;
      comma = false;
    } else if (character === "," && start >= 0) {
      comma = true;
    } else if (character === "}" && start >= 0) {
      if (comma) return [start, i];
      start = -1;
    }
  }
  return undefined;
}
