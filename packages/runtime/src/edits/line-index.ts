import { findSequence } from "./search-text.ts";

/** How much two lines may differ and still match, from exact to loose. */
// oxfmt-ignore
export const PASSES = [
  { fold: (line: string) => line,                          loose: false },
  { fold: (line: string) => line.trimEnd(),                loose: false },
  { fold: (line: string) => line.trim(),                   loose: true },
  { fold: (line: string) => toPlainPunctuation(line.trim()), loose: true },
] as const;

/** Dashes, quotes and spaces that word processors and models use instead of the plain ones. */
// oxfmt-ignore
const PUNCTUATION: readonly (readonly [RegExp, string])[] = [
  [/[\u2010-\u2015\u2212]/g,                       "-"],
  [/[\u2018-\u201b]/g,                             "'"],
  [/[\u201c-\u201f]/g,                             '"'],
  [/[\u00a0\u2002-\u200a\u202f\u205f\u3000]/g,     " "],
];

function toPlainPunctuation(line: string): string {
  return PUNCTUATION.reduce((text, [pattern, plain]) => text.replace(pattern, plain), line);
}

/** Limit for inputs with thousands of chunks that nearly fit everywhere: about a second of comparing. */
const MAX_STEPS = 150_000_000;

/** The lines of a file as numbers: equal lines have equal numbers. Computed per pass, on first use. */
export class LineIndex {
  readonly #lines: readonly string[];
  readonly #passes = new Map<number, { readonly ids: Map<string, number>; readonly sequence: Int32Array }>();
  #steps = 0;

  constructor(lines: readonly string[]) {
    this.#lines = lines;
  }

  get length(): number {
    return this.#lines.length;
  }

  /** The search gave up: the file and the patch are pathological. */
  get exhausted(): boolean {
    return this.#steps > MAX_STEPS;
  }

  /** Whether the lines match at a position. */
  isAt(pass: number, pattern: readonly string[], at: number): boolean {
    const fold = PASSES[pass]?.fold ?? PASSES[0].fold;
    if (at < 0 || at + pattern.length > this.#lines.length) return false;
    return pattern.every((line, index) => fold(line) === fold(this.#lines[at + index] ?? ""));
  }

  /** The first positions, at most `limit`, at or after `from` where the lines match. */
  find(pass: number, pattern: readonly string[], { from, limit }: { from: number; limit: number }): number[] {
    const { ids, sequence } = this.#pass(pass);
    const fold = PASSES[pass]?.fold ?? PASSES[0].fold;
    const needle = new Int32Array(pattern.length);
    for (const [index, line] of pattern.entries()) {
      const id = ids.get(fold(line));
      if (id === undefined) return [];
      needle[index] = id;
    }
    if (this.exhausted) return [];
    const found = findSequence(sequence, needle, { from, limit, overlapping: true });
    this.#steps += (found.length === limit ? (found.at(-1) ?? 0) + pattern.length : this.length) - from;
    return found;
  }

  #pass(pass: number): { readonly ids: Map<string, number>; readonly sequence: Int32Array } {
    const known = this.#passes.get(pass);
    if (known !== undefined) return known;
    const fold = PASSES[pass]?.fold ?? PASSES[0].fold;
    const ids = new Map<string, number>();
    const sequence = Int32Array.from(this.#lines, (line) => {
      const key = fold(line);
      const id = ids.get(key) ?? ids.size;
      ids.set(key, id);
      return id;
    });
    const made = { ids, sequence };
    this.#passes.set(pass, made);
    return made;
  }
}
