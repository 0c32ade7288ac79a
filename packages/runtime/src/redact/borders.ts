import type { Span } from "./find-shape.ts";

interface Border extends Span {
  readonly isKnown: boolean;
}

/**
 * Secrets that were found, but not by reading up to them: known values, words of a command, what was decoded. For the
 * rules that come to them later they are what the markers there will be.
 */
export class Borders {
  /** By their starts. */
  readonly #spans: Border[];
  #next = 0;
  #floor = -1;

  constructor(known: readonly Span[], beside: readonly Span[]) {
    this.#spans = [
      ...known.map(({ start, end }) => ({ start, end, isKnown: true })),
      ...beside.map(({ start, end }) => ({ start, end, isKnown: false })),
    ].sort((a, b) => a.start - b.start);
  }

  /** Its end lies ahead of the word that was noticed: few others are behind it. */
  add({ start, end }: Span): void {
    let at = this.#spans.length;
    while (at > this.#next && (this.#spans[at - 1] as Border).start > start) at--;
    this.#spans.splice(at, 0, { start, end, isKnown: false });
  }

  /** The last end before a word's end, or -1. Words come in order. */
  floorAt(wordEnd: number): number {
    for (let span = this.#spans[this.#next]; span !== undefined && span.end < wordEnd;) {
      this.#floor = Math.max(this.#floor, span.end);
      span = this.#spans[++this.#next];
    }
    return this.#floor;
  }

  /**
   * Whether the word that ends there is part of a secret, so that it will not be there to be noticed. Known values do
   * not count: one may be the beginning of a longer token.
   */
  hides(wordEnd: number): boolean {
    const span = this.#spans[this.#next];
    return span !== undefined && !span.isKnown && span.start < wordEnd;
  }
}
