/** ASCII characters as a table: one lookup per character, whatever the set. */
export type CharacterSet = Uint8Array;

/** A set in the syntax of a regular expression's brackets: `setOf("A-Za-z0-9_-")`. */
export function setOf(members: string): CharacterSet {
  const set = new Uint8Array(128);
  for (let i = 0; i < members.length; i++) {
    const from = members.charCodeAt(i);
    const isRange = members[i + 1] === "-" && i + 2 < members.length;
    set.fill(1, from, (isRange ? members.charCodeAt(i + 2) : from) + 1);
    if (isRange) i += 2;
  }
  return set;
}

export function isIn(set: CharacterSet, code: number): boolean {
  return code >= 0 && code < 128 && set[code] === 1;
}

/** White space and control characters: no secret on one line contains them. */
export function isSpace(code: number): boolean {
  if (code < 128) return (code >= 0 && code <= 32) || code === 127;
  return code === 0xa0 || code === 0x85 || code === 0x3000 || code === 0x2028 || code === 0x2029;
}

export function isQuote(code: number): boolean {
  return code === CODE.doubleQuote || code === CODE.singleQuote || code === CODE.backtick;
}

export function isNewline(code: number): boolean {
  return code === CODE.newline || code === CODE.return;
}

// oxfmt-ignore
export const CODE = {
  tab: 9, newline: 10, return: 13, escape: 27, space: 32, doubleQuote: 34, dollar: 36, percent: 37, ampersand: 38, singleQuote: 39,
  openParenthesis: 40, star: 42, plus: 43, comma: 44, dash: 45, dot: 46, slash: 47, colon: 58, semicolon: 59, less: 60, equals: 61,
  greater: 62, question: 63, at: 64, openBracket: 91, backslash: 92, closeBracket: 93, backtick: 96, openBrace: 123, pipe: 124,
  fullWidthColon: 0xff1a,
} as const;

// oxfmt-ignore
export const SETS = {
  hex:        setOf("0-9a-fA-F"),
  alphanumeric: setOf("A-Za-z0-9"),
  word:       setOf("A-Za-z0-9_"),
  /** base64url */
  url64:      setOf("A-Za-z0-9_-"),
  dotted:     setOf("A-Za-z0-9_.-"),
  path:       setOf("A-Za-z0-9_./-"),
  /** base64 in both alphabets */
  base64:     setOf("A-Za-z0-9+/=_-"),
  /** Allowed after `Bearer` by RFC 9110, and the colon that some programs add. */
  token68:    setOf("A-Za-z0-9._~+/=:-"),
} as const;
