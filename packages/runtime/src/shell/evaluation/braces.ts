/** More words than this from one pair of braces are not expanded: the word is dynamic. */
const MAX_WORDS = 64;
/** The same for the number of braces in one word: each is examined from each of those around it. */
const MAX_BRACES = 32;
/** The same for the characters in all of the words, and for those examined to find the ends of braces. */
const MAX_CHARACTERS = 32_768;

/**
 * Brace expansion, as source text: `a{b,c}` gives `ab` and `ac`. Undefined if there are too many words or the braces
 * contain something that is not plain. Quoted text stays unchanged.
 */
export function expandBraces(text: string): readonly string[] | undefined {
  const braces = text.split("{", MAX_BRACES + 2).length - 1;
  if (braces > MAX_BRACES || braces * text.length > MAX_CHARACTERS) return undefined;
  let words = [""];
  let from = 0;
  let at = 0;
  while (at < text.length) {
    const next = readPiece(text, at);
    if (next === undefined) return undefined;
    if (next.choices !== undefined) {
      const before = text.slice(from, at);
      words = words.flatMap((word) => (next.choices ?? []).map((choice) => word + before + choice));
      if (words.length > MAX_WORDS || words.length * text.length > MAX_CHARACTERS) return undefined;
      from = next.end;
    }
    at = next.end;
  }
  const rest = text.slice(from);
  return words.map((word) => word + rest);
}

interface Piece {
  /** Undefined for literal text. */
  readonly choices: readonly string[] | undefined;
  readonly end: number;
}

function readPiece(text: string, at: number): Piece | undefined {
  const character = text.charAt(at);
  if (character === "{" && text.charAt(at - 1) !== "$") {
    const inner = readBraces(text, at);
    if (inner !== undefined)
      return inner.choices === undefined ? undefined : { choices: inner.choices, end: inner.end };
  }
  return { choices: undefined, end: endOfQuoted(text, at) };
}

/** One character, or a complete quoted text or expansion. */
function endOfQuoted(text: string, at: number): number {
  const character = text.charAt(at);
  if (character === "\\") return Math.min(at + 2, text.length);
  if (character === "'" || character === '"' || character === "`") {
    let end = at + 1;
    while (end < text.length && text.charAt(end) !== character) {
      if (text.charAt(end) === "\\" && character !== "'") end++;
      end++;
    }
    return Math.min(end + 1, text.length);
  }
  if (character === "$" && /[({]/.test(text.charAt(at + 1))) return endOfExpansion(text, at + 1);
  return at + 1;
}

function endOfExpansion(text: string, at: number): number {
  let open = 0;
  for (let end = at; end < text.length; end++) {
    const character = text.charAt(end);
    if (character === "(" || character === "{") open++;
    else if (character === ")" || character === "}") open--;
    if (open === 0) return end + 1;
  }
  return text.length;
}

/** Undefined if these braces do not expand; `choices` is undefined if they expand to too much. */
function readBraces(
  text: string,
  at: number,
): { readonly choices: readonly string[] | undefined; readonly end: number } | undefined {
  const parts: string[] = [];
  let start = at + 1;
  let open = 1;
  let end = start;
  while (end < text.length && open > 0) {
    const character = text.charAt(end);
    if (character === "{") open++;
    else if (character === "}") open--;
    else if (character === "," && open === 1) {
      parts.push(text.slice(start, end));
      start = end + 1;
    }
    end = "{},".includes(character) ? end + 1 : endOfQuoted(text, end);
  }
  if (open > 0) return undefined;
  parts.push(text.slice(start, end - 1));
  if (parts.length === 1) return readRange(parts[0] ?? "", end);
  if (parts.length > MAX_WORDS) return { choices: undefined, end };
  const choices: string[] = [];
  for (const part of parts) {
    const inner = expandBraces(part);
    if (inner === undefined || choices.length > MAX_WORDS) return { choices: undefined, end };
    choices.push(...inner);
  }
  return { choices, end };
}

function readRange(inner: string, end: number): { choices: readonly string[] | undefined; end: number } | undefined {
  const range = /^(?:(-?\d{1,9})\.\.(-?\d{1,9})|([A-Za-z])\.\.([A-Za-z]))(?:\.\.-?\d+)?$/.exec(inner);
  if (range === null) return undefined;
  const isLetters = range[3] !== undefined;
  const from = isLetters ? (range[3] ?? "").charCodeAt(0) : Number(range[1]);
  const to = isLetters ? (range[4] ?? "").charCodeAt(0) : Number(range[2]);
  if (Math.abs(to - from) >= MAX_WORDS) return { choices: undefined, end };
  const direction = to < from ? -1 : 1;
  const numbers = Array.from({ length: Math.abs(to - from) + 1 }, (_, index) => from + index * direction);
  return { choices: numbers.map((number) => (isLetters ? String.fromCharCode(number) : String(number))), end };
}
