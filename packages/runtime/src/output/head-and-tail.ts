import type { OutputLimits } from "../contract/context.ts";
import type { Excerpt } from "./excerpt.ts";
import { excerptHead } from "./excerpt.ts";

export interface Gap {
  readonly bytes: number;
  readonly lines: number;
}

/** For the text that describes the gap. */
const NOTE_BYTES = 200;

/**
 * The beginning and the end of a text that arrives in pieces and may be endless. Holds no more than about twice the
 * limits. A text within the limits is returned unchanged.
 */
export class HeadAndTail {
  readonly #limits: OutputLimits;
  /** The entire text until it exceeds the limits; then its beginning. */
  #head = "";
  /** The text after the beginning, as far as it may be shown. */
  #tail = "";
  #isOver = false;
  #bytes = 0;
  #feeds = 0;

  constructor(limits: OutputLimits) {
    this.#limits = limits;
  }

  /** It exceeds what can be shown. */
  get isOver(): boolean {
    return this.#isOver;
  }

  push(text: string): void {
    if (text === "") return;
    this.#bytes += Buffer.byteLength(text);
    this.#feeds += countFeeds(text);
    if (this.#isOver) {
      this.#tail = this.#trimmed(this.#tail + text);
      return;
    }
    this.#head += text;
    if (this.#bytes <= this.#limits.bytes && this.#feeds <= this.#limits.lines) return;
    this.#isOver = true;
    const { lines, bytes } = this.#limits;
    const head = excerptHead(this.#head, { lines: Math.ceil(lines / 2), bytes: Math.ceil(bytes / 2) }).text;
    this.#tail = this.#trimmed(this.#head.slice(head.length));
    this.#head = head;
  }

  /** `describe` returns a description of the gap, on one line. */
  end(describe: (gap: Gap) => string): Excerpt {
    if (!this.#isOver) return { text: this.#head, truncated_lines: false, truncated_bytes: false };
    const { lines, bytes } = this.#limits;
    const headFeeds = countFeeds(this.#head);
    const headBytes = Buffer.byteLength(this.#head);
    const tail = lastOf(this.#tail, { lines: lines - headFeeds - 2, bytes: bytes - headBytes - NOTE_BYTES });
    const gap = {
      bytes: this.#bytes - headBytes - Buffer.byteLength(tail),
      lines: this.#feeds - headFeeds - countFeeds(tail),
    };
    const text = `${withLineEnd(this.#head)}${describe(gap)}\n${tail}`;
    return { text, truncated_lines: this.#feeds > lines, truncated_bytes: this.#bytes > bytes };
  }

  /** No character has more than three bytes per unit, so this many units are always enough. */
  #trimmed(text: string): string {
    return text.length > 2 * this.#limits.bytes ? text.slice(-this.#limits.bytes) : text;
  }
}

/** The end of a text within limits: whole lines, or the end of a line that alone exceeds the limit. */
function lastOf(text: string, limits: OutputLimits): string {
  const bytes = Buffer.from(text);
  let from = Math.max(0, bytes.length - Math.max(0, limits.bytes));
  while (from < bytes.length && ((bytes[from] ?? 0) & 0xc0) === 0x80) from++;
  const fitting = bytes.toString("utf8", from);
  const isWhole = from === 0 || bytes[from - 1] === 10;
  const firstEnd = fitting.indexOf("\n");
  const whole = isWhole || firstEnd < 0 || firstEnd === fitting.length - 1 ? fitting : fitting.slice(firstEnd + 1);
  const spare = countFeeds(whole) - Math.max(0, limits.lines);
  let at = 0;
  for (let skipped = 0; skipped < spare; skipped++) at = whole.indexOf("\n", at) + 1;
  return whole.slice(at);
}

function countFeeds(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

function withLineEnd(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}
