import type { Span } from "./find-shape.ts";

/**
 * Secrets that were found, but not by reading up to them: known values, words of a command, what was decoded. For the
 * rules that come to them later they are what the markers there will be.
 */
export class Borders {
  /** Both by their starts. They are apart since a text may have any number of known values ahead of a span that is added. */
  readonly #known: readonly Span[];
  readonly #beside: Span[];
  #nextKnown = 0;
  #nextBeside = 0;
  #floor = -1;

  constructor(known: readonly Span[], beside: readonly Span[]) {
    this.#known = known.toSorted((a, b) => a.start - b.start);
    this.#beside = beside.toSorted((a, b) => a.start - b.start);
  }

  /** Its end lies ahead of the word that was noticed: few others are behind it. */
  add(span: Span): void {
    let at = this.#beside.length;
    while (at > this.#nextBeside && (this.#beside[at - 1] as Span).start > span.start) at--;
    this.#beside.splice(at, 0, span);
  }

  /** The last end before a word's end, or -1. Words come in order. */
  floorAt(wordEnd: number): number {
    for (let span = this.#next(); span !== undefined && span.end < wordEnd; span = this.#next()) {
      this.#floor = Math.max(this.#floor, span.end);
      if (this.#isKnownNext()) this.#nextKnown++;
      else this.#nextBeside++;
    }
    return this.#floor;
  }

  /**
   * Whether the word that ends there is part of a secret, so that it will not be there to be noticed. Known values do
   * not count: one may be the beginning of a longer token.
   */
  hides(wordEnd: number): boolean {
    const span = this.#next();
    return span !== undefined && !this.#isKnownNext() && span.start < wordEnd;
  }

  #next(): Span | undefined {
    return this.#isKnownNext() ? this.#known[this.#nextKnown] : this.#beside[this.#nextBeside];
  }

  #isKnownNext(): boolean {
    const known = this.#known[this.#nextKnown];
    const beside = this.#beside[this.#nextBeside];
    return known !== undefined && (beside === undefined || known.start <= beside.start);
  }
}
