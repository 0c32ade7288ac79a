import { codeRows, markdownRows } from "./markdown.ts";
import type { MarkdownOptions } from "./markdown.ts";
import { plainLayout } from "./plain-layout.ts";
import type { Layout, LaidRows } from "./plain-layout.ts";

/** A longer block is shown in parts: parsing cost grows faster than length. */
const MAX_BLOCK_LENGTH = 4096;
/** Parsing a normal block never takes this long. A reply whose blocks do is shown unformatted from there on. */
const SLOW_MS = 8;
const BUDGET_MS = 1000;

const FENCE = /^ {0,3}(`{3,}|~{3,})([^`\n]*)\n/;
const MAYBE_FENCE = /^ {0,3}(?:`{0,3}|~{0,3})$|^ {0,3}(?:`{3,}|~{3,})[^`\n]*$/;
const HEADING = /^ {0,3}#{1,6}(?: [^\n]*)?\n/;

/**
 * Lays out streamed Markdown: finished blocks become permanent rows, code line by line; the block that is still open is
 * redrawn below them.
 */
export function createMarkdownLayout(paint: MarkdownOptions["paint"]): Layout {
  return new MarkdownLayout(paint);
}

class MarkdownLayout implements Layout {
  readonly #paint: MarkdownOptions["paint"];
  /** The fence that ends the current code block. */
  #fence: string | undefined;
  /** The last row is followed by a blank line. */
  #isApart = false;
  #hasRows = false;
  #spentMs = 0;

  constructor(paint: MarkdownOptions["paint"]) {
    this.#paint = paint;
  }

  reset(): void {
    this.#fence = undefined;
    this.#isApart = false;
    this.#hasRows = false;
    this.#spentMs = 0;
  }

  take(text: string, width: number, isWhole: boolean): LaidRows {
    const rows: string[] = [];
    let used = 0;
    for (;;) {
      if (this.#fence === undefined) used += this.#skipBlank(text.slice(used));
      if (used === text.length || this.#isSpent) break;
      const found = this.#next(text.slice(used), width, isWhole);
      if (found === undefined) break;
      if (found.rows.length > 0) {
        if (this.#isApart && this.#hasRows) rows.push("");
        this.#isApart = false;
        this.#hasRows = true;
      }
      rows.push(...found.rows);
      used += found.used;
    }
    const open = text.slice(used);
    if (!this.#isSpent) return { rows, used, below: open.trim() === "" ? [] : this.#below(open, width) };
    const rest = plainLayout.take(open, width, isWhole);
    return { rows: [...rows, ...rest.rows], used: used + rest.used, below: rest.below };
  }

  get #isSpent(): boolean {
    return this.#spentMs > BUDGET_MS;
  }

  #skipBlank(text: string): number {
    const blank = /^(?:[ \t]*\n)+/.exec(text)?.[0].length ?? 0;
    this.#isApart ||= blank > 0;
    return blank;
  }

  /** The rows and the length of the first block; undefined while it may grow. */
  #next(text: string, width: number, isWhole: boolean): Omit<LaidRows, "below"> | undefined {
    if (this.#fence !== undefined) return this.#nextCode(text, width, isWhole);
    const opened = FENCE.exec(text);
    if (opened !== null) {
      [, this.#fence] = opened;
      return { rows: [], used: opened[0].length };
    }
    const end = endOfBlock(text) ?? (isWhole ? text.length : undefined);
    const used = end ?? (text.length > MAX_BLOCK_LENGTH ? forcedEnd(text) : undefined);
    if (used === undefined) return undefined;
    const part = used > MAX_BLOCK_LENGTH ? forcedEnd(text) : used;
    return { rows: this.#render(text.slice(0, part), width), used: part };
  }

  #nextCode(text: string, width: number, isWhole: boolean): Omit<LaidRows, "below"> | undefined {
    const lineEnd = text.indexOf("\n");
    if (lineEnd < 0 && !isWhole && text.length <= MAX_BLOCK_LENGTH) return undefined;
    const used = lineEnd < 0 ? (isWhole ? text.length : MAX_BLOCK_LENGTH) : lineEnd + 1;
    const line = text.slice(0, used).replace(/\n$/, "");
    const isEnd = line.trim().startsWith(this.#fence ?? "") && /^(.)\1*$/.test(line.trim());
    if (isEnd) this.#fence = undefined;
    return { rows: isEnd ? [] : this.#code(line, width), used };
  }

  #below(open: string, width: number): readonly string[] {
    if (this.#fence !== undefined) return this.#code(open, width);
    return MAYBE_FENCE.test(open) ? [] : this.#render(open, width);
  }

  #code(line: string, width: number): readonly string[] {
    return codeRows(line, { width: width - 2, paint: this.#paint }).map((row) => (row === "" ? "" : `  ${row}`));
  }

  #render(text: string, width: number): readonly string[] {
    const start = performance.now();
    const rows = markdownRows(text.trimEnd(), { width, paint: this.#paint });
    const took = performance.now() - start;
    if (took > SLOW_MS) this.#spentMs += took;
    return rows;
  }
}

/** The end of the first block; undefined while it may grow. */
function endOfBlock(text: string): number | undefined {
  const heading = HEADING.exec(text);
  if (heading !== null) return heading[0].length;
  for (let at = text.indexOf("\n"); at >= 0 && at + 1 < text.length; at = text.indexOf("\n", at + 1)) {
    const rest = text.slice(at + 1, at + 200);
    if (FENCE.test(rest) || HEADING.test(rest)) return at + 1;
    const blank = /^[ \t]*\n/.exec(rest);
    // Indented text after a blank line belongs to the list before it.
    if (blank !== null && /^\S/.test(text.slice(at + 1 + blank[0].length, at + 2 + blank[0].length))) return at + 1;
  }
  return undefined;
}

function forcedEnd(text: string): number {
  const near = text.slice(0, MAX_BLOCK_LENGTH);
  const end = Math.max(near.lastIndexOf("\n"), near.lastIndexOf(" ")) + 1;
  const isHalf = /[\ud800-\udbff]$/.test(near);
  return end > 0 ? end : isHalf ? near.length - 1 : near.length;
}
