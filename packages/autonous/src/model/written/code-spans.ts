interface Span {
  readonly start: number;
  readonly end: number;
}

const FENCE_LINE = /^[ \t]*(`{3,}|~{3,})([^\n]*)$/gm;
const TICKS = /`+/g;

/**
 * Finds code in Markdown: fences, and spans between backticks. Must be queried with ascending positions. Linear time.
 */
export class CodeSpans {
  readonly #text: string;
  readonly #fences: readonly (Span & { readonly mark: string; readonly isBare: boolean })[];
  readonly #ticks: readonly (Span & { next: number })[];
  #fence = 0;
  #tick = 0;
  #blank = -1;
  #closed = { fence: -1, end: 0 };

  constructor(text: string) {
    this.#text = text;
    this.#fences = [...text.matchAll(FENCE_LINE)].map(({ 0: line, 1: mark = "", 2: rest = "", index }) => ({
      start: index,
      end: index + line.length,
      mark,
      isBare: rest.trim() === "",
    }));
    this.#ticks = pairTicks(text);
  }

  /** The first code at or after a position. An unclosed fence extends to the end of the text. */
  nextFrom(at: number): Span | undefined {
    while ((this.#fences[this.#fence]?.start ?? Number.POSITIVE_INFINITY) < at) this.#fence += 1;
    const fence = this.#fences[this.#fence];
    const inline = this.#inlineFrom(at, fence?.start ?? Number.POSITIVE_INFINITY);
    if (inline !== undefined || fence === undefined) return inline;
    if (this.#closed.fence !== this.#fence) this.#closed = { fence: this.#fence, end: this.#endOfFence(fence.mark) };
    return { start: fence.start, end: this.#closed.end };
  }

  #endOfFence(mark: string): number {
    for (let index = this.#fence + 1; index < this.#fences.length; index++) {
      const close = this.#fences[index];
      if (close?.isBare === true && close.mark.startsWith(mark)) return close.end;
    }
    return this.#text.length;
  }

  #inlineFrom(at: number, before: number): Span | undefined {
    while ((this.#ticks[this.#tick]?.start ?? Number.POSITIVE_INFINITY) < at) this.#tick += 1;
    for (let index = this.#tick; index < this.#ticks.length; index++) {
      const open = this.#ticks[index];
      if (open === undefined || open.start >= before) return undefined;
      const close = this.#ticks[open.next];
      if (close !== undefined && close.start < this.#blankAfter(open.end)) return { start: open.start, end: close.end };
      this.#tick = index + 1;
    }
    return undefined;
  }

  /** A span of code ends with its paragraph. */
  #blankAfter(at: number): number {
    if (this.#blank < at) {
      const found = this.#text.indexOf("\n\n", at);
      this.#blank = found === -1 ? Number.POSITIVE_INFINITY : found;
    }
    return this.#blank;
  }
}

/** Each run of backticks, with the index of the next one of the same length. */
function pairTicks(text: string): readonly (Span & { next: number })[] {
  const runs = [...text.matchAll(TICKS)].map(({ 0: run, index }) => ({
    start: index,
    end: index + run.length,
    next: -1,
  }));
  const last = new Map<number, number>();
  for (let index = runs.length - 1; index >= 0; index--) {
    const run = runs[index];
    if (run === undefined) continue;
    const length = run.end - run.start;
    run.next = last.get(length) ?? -1;
    last.set(length, index);
  }
  return runs;
}
