/** Maximum characters shown of a line. More is rarely read, and a page has limited space. */
const WIDTH = 500;
/** Characters shown before a match if the beginning of the line is cut. */
const BEFORE = 100;
/** A word at the edge is shown completely or not at all: the redactor would not recognize half a secret. */
const LONGEST_WORD = 200;
const WORD = /[\w+/=.~-]/;

export interface CutLine {
  readonly text: string;
  /** In bytes. */
  readonly cut_before: number;
  readonly cut_after: number;
}

/** Shortens a line to the width: its beginning, or the text around a later match, which starts at `matchByte`. */
export function cutLine(line: string, matchByte: number): CutLine {
  if (line.length <= WIDTH) return { text: line, cut_before: 0, cut_after: 0 };
  const matchStart = Buffer.from(line).toString("utf8", 0, matchByte).length;
  const from = matchStart <= WIDTH - BEFORE ? 0 : edgeAfter(line, matchStart - BEFORE, matchStart);
  const until = from + WIDTH >= line.length ? line.length : edgeBefore(line, from + WIDTH);
  return {
    text: line.slice(from, until),
    cut_before: Buffer.byteLength(line.slice(0, from)),
    cut_after: Buffer.byteLength(line.slice(until)),
  };
}

/** The first word start from `at` on, or `at` if that is too far. */
function edgeAfter(line: string, at: number, limit: number): number {
  for (let place = at; place < limit; place++) {
    if (!WORD.test(line[place - 1] ?? " ")) return place;
  }
  return isLowSurrogate(line, at) ? at + 1 : at;
}

/** The last word end before `at`, or `at` if that is too far. */
function edgeBefore(line: string, at: number): number {
  for (let place = at; place > at - LONGEST_WORD; place--) {
    if (!WORD.test(line[place] ?? " ") && !isLowSurrogate(line, place)) return place;
  }
  return isLowSurrogate(line, at) ? at - 1 : at;
}

function isLowSurrogate(line: string, at: number): boolean {
  const code = line.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff;
}
