import type { Span } from "../shapes/find-shape.ts";

/**
 * Secrets that were not found by reading up to them: known values, words of a command, decoded text. Later rules treat
 * them like the markers that will replace them.
 */
export class Borders {
  /** Both sorted by start. Kept apart since any number of known values may follow a span that is added. */
  readonly #known: readonly Span[];
  readonly #beside: Span[];
  #nextKnown = 0;
  #nextBeside = 0;
  #floor = -1;

  constructor(known: readonly Span[], beside: readonly Span[]) {
    this.#known = known.toSorted((a, b) => a.start - b.start);
    this.#beside = beside.toSorted((a, b) => a.start - b.start);
  }

  /** Its end is after the matched word; few spans are further ahead. */
  add(span: Span): void {
    let at = this.#beside.length;
    while (at > this.#nextBeside && (this.#beside[at - 1] as Span).start > span.start) at--;
    this.#beside.splice(at, 0, span);
  }

  /** The last end before a word's end, or -1. Words arrive in order. */
  floorAt(wordEnd: number): number {
    for (let span = this.#next(); span !== undefined && span.end < wordEnd; span = this.#next()) {
      this.#floor = Math.max(this.#floor, span.end);
      if (this.#isKnownNext()) this.#nextKnown++;
      else this.#nextBeside++;
    }
    return this.#floor;
  }

  /**
   * Whether the word that ends here is part of a secret, so that it will not be in the redacted text. Known values do
   * not count, since one may be the beginning of a longer token.
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
