import { extend } from "./text/extent.ts";
import type { Tail } from "./text/extent.ts";
import type { Span } from "./shapes/find-shape.ts";
import { gluedStart, withGlued } from "./glued.ts";
import type { KnownValues } from "./encodings/known-values.ts";
import { REDACTION_MARKER } from "../protocol/marker.ts";
import { endsInPlainWord } from "./assignments/plain-word.ts";
import { scan } from "./scan.ts";
import { mergeSpans } from "./text/spans.ts";
import { createView, LOOK_BACK } from "./text/text-view.ts";
import type { View } from "./text/text-view.ts";

/**
 * Redacts a text that arrives in chunks. The concatenated output is the redacted full text, wherever the chunks were
 * cut. Each of two passes holds back at most 80 KiB while it awaits the end of a private key or of a very long cookie
 * header; otherwise 8 KiB, and usually only the last word. A secret of any length is consumed without being
 * buffered.
 */
export interface StreamRedactor {
  /** Returns the settled text. Line ends settle most of it. */
  push(chunk: string): string;
  /**
   * After a pause in the input: returns the last word, if it is held only because the following text would settle it,
   * and it does not read as the start of a secret.
   */
  pause(): string;
  /** Returns the rest. Nothing may be pushed afterwards. */
  end(): string;
  /** Something was replaced so far. */
  readonly redacted: boolean;
}

/** Up to this much held text is examined again with each chunk, so that short lines and words are released at once. */
const CHEAP_LOOK = 256;

const LAST_LETTERS = 2;

export function createStream(known: KnownValues | undefined): StreamRedactor {
  return new TwoPasses(known);
}

/**
 * The second pass reads the output of the first. A rule may judge a value that contains another secret differently once
 * a marker replaces that secret; the second pass redacts it now, not when the output is redacted again. It begins at
 * the first marker: before that, it would read the same text as the first pass.
 */
class TwoPasses implements StreamRedactor {
  readonly #first: Pass;
  readonly #second: Pass;
  #hasBegun = false;

  constructor(known: KnownValues | undefined) {
    this.#first = new Pass(known);
    this.#second = new Pass(known);
  }

  push(chunk: string): string {
    return this.#readAgain(() => this.#first.push(chunk));
  }

  pause(): string {
    const text = this.#first.pause();
    if (!this.#hasBegun) return text;
    return (text === "" ? "" : this.#second.push(text)) + this.#second.pause();
  }

  end(): string {
    const text = this.#readAgain(() => this.#first.end());
    return this.#hasBegun ? text + this.#second.end() : text;
  }

  #readAgain(read: () => string): string {
    const before = this.#hasBegun ? undefined : this.#first.save();
    const text = read();
    if (before !== undefined) {
      if (!this.#first.redacted && !text.includes(REDACTION_MARKER)) return text;
      this.#second.goOn(before);
      this.#hasBegun = true;
    }
    return text === "" ? "" : this.#second.push(text);
  }

  get redacted(): boolean {
    return this.#first.redacted || this.#second.redacted;
  }
}

type Saved = Readonly<Pick<View, "text" | "floor" | "decodedTo" | "unquotedTo" | "plainEnd" | "listedTo" | "keyEnd">>;

class Pass implements StreamRedactor {
  readonly #known: KnownValues | undefined;
  /** Some released text, for rules that look back, followed by the held text. */
  #text = "";
  /** Text before this is released. */
  #out = 0;
  /** Text before this is settled by rules and known values. */
  #ruled = 0;
  #matched = 0;
  #floor = -1;
  #decodedTo = -1;
  #unquotedTo = -1;
  #plainEnd = -1;
  #listedTo = -1;
  #keyEnd = -1;
  #open: Tail | undefined;
  /** Found by rules, not yet released. */
  #spans: Span[] = [];
  /** Known values found, as far back as rules look, and spans that rules found besides those they read. */
  #values: Span[] = [];
  #beside: Span[] = [];
  /** Where the last released secret ended. One that continues from there needs no second marker. */
  #lastEnd = -1;
  /** How much was held after the last examination. */
  #held = 0;
  #isEnded = false;
  redacted = false;

  constructor(known: KnownValues | undefined) {
    this.#known = known;
  }

  push(chunk: string): string {
    if (this.#isEnded) throw new Error("Cannot push to a redaction stream: it has ended");
    this.#text += chunk;
    return this.#isWorthALook(chunk) ? this.#advance(false) : "";
  }

  /** Rules read the word again with the text after it: only the released position changes. */
  pause(): string {
    // Known values have many forms, which begin with nearly every letter: a possible start within a word means nothing.
    const isValue = this.#matched < this.#text.length - LAST_LETTERS || this.#matched <= this.#out;
    // After a word released by an earlier pause, rules may still wait for text that makes the next word a secret.
    const isUndecided = this.#open !== undefined || this.#spans.length > 0 || this.#ruled < this.#out;
    if (this.#isEnded || isUndecided || isValue || !endsInPlainWord(this.#text, this.#out)) return "";
    const word = this.#text.slice(this.#out);
    this.#out = this.#text.length;
    this.#held = 0;
    return word;
  }

  end(): string {
    this.#isEnded = true;
    return this.#advance(true);
  }

  /** The released text and the rules' state for it. Their state for the rest describes the text before redaction. */
  save(): Saved {
    const out = this.#out;
    return {
      text: this.#text.slice(0, out),
      floor: this.#floor > out ? -1 : this.#floor,
      decodedTo: Math.min(this.#decodedTo, out),
      unquotedTo: Math.min(this.#unquotedTo, out),
      plainEnd: Math.min(this.#plainEnd, out),
      listedTo: Math.min(this.#listedTo, out),
      keyEnd: this.#keyEnd > out ? -1 : this.#keyEnd,
    };
  }

  /** Begins where another pass was that had found nothing by then. */
  goOn({ text, floor, decodedTo, unquotedTo, plainEnd, listedTo, keyEnd }: Saved): void {
    this.#text = text;
    this.#out = this.#ruled = this.#matched = text.length;
    this.#floor = floor;
    this.#decodedTo = decodedTo;
    this.#unquotedTo = unquotedTo;
    this.#plainEnd = plainEnd;
    this.#listedTo = listedTo;
    this.#keyEnd = keyEnd;
  }

  /** Examining all held text again for each new character would take quadratic time, unless it is short. */
  #isWorthALook(chunk: string): boolean {
    if (this.#held < CHEAP_LOOK) return true;
    const pending = this.#text.length - this.#out;
    if (pending >= this.#held + 64 + (this.#held >> 3)) return true;
    return this.#held < 4096 && (chunk.includes("\n") || chunk.endsWith(REDACTION_MARKER));
  }

  #advance(final: boolean): string {
    const view = createView(this.#text, {
      final,
      floor: this.#floor,
      decodedTo: this.#decodedTo,
      unquotedTo: this.#unquotedTo,
      plainEnd: this.#plainEnd,
      listedTo: this.#listedTo,
      keyEnd: this.#keyEnd,
      known: this.#known,
    });
    this.#matched = this.#known?.find(view, this.#matched, this.#values) ?? this.#text.length;
    if (this.#open !== undefined) this.#swallow(view, this.#open);
    if (this.#open === undefined) {
      const known = { spans: this.#values, settled: this.#matched };
      const { settled, open } = scan(view, this.#ruled, { spans: this.#spans, beside: this.#beside, known });
      this.#ruled = settled;
      this.#open = open;
      this.#floor = view.floor;
      this.#decodedTo = view.decodedTo;
      this.#unquotedTo = view.unquotedTo;
      this.#plainEnd = view.plainEnd;
      this.#listedTo = view.listedTo;
      this.#keyEnd = view.keyEnd;
    }
    const limit = Math.min(this.#ruled, this.#matched);
    const result = this.#release(limit, final);
    this.#forget();
    this.#held = this.#text.length - this.#out;
    return result;
  }

  /** Consumes more of a secret that had not ended. */
  #swallow(view: View, tail: Tail): void {
    const { end, open } = extend(view, this.#ruled, tail);
    if (end > this.#ruled) this.#spans.push({ start: this.#ruled, end });
    this.#ruled = end;
    view.floor = end;
    this.#floor = end;
    if (!open) this.#open = undefined;
  }

  /** A token that counts only if a secret follows it is held until that is known. */
  #beforeGlued(found: readonly Span[], settled: number): number {
    // A token that ends within a secret is part of it.
    if (found.some(({ start, end }) => start < settled && settled < end)) return settled;
    const floor = found.findLast(({ end }) => end <= settled)?.end ?? this.#lastEnd;
    const next = found.find(({ start }) => start > settled)?.start ?? settled;
    const limit = Math.min(gluedStart(this.#text, settled, floor), gluedStart(this.#text, next, floor));
    return Math.max(this.#out, Math.min(settled, limit));
  }

  #release(settled: number, final: boolean): string {
    let result = "";
    const found = mergeSpans([...this.#spans, ...this.#values]).filter(({ end }) => end > this.#out);
    const limit = final ? settled : this.#beforeGlued(found, settled);
    const left = found.filter(({ start }) => start >= limit);
    const ready = found.slice(0, found.length - left.length);
    for (const { start, end } of withGlued(this.#text, ready, this.#lastEnd)) {
      if (start > this.#out) {
        result += this.#text.slice(this.#out, start);
        this.#out = start;
      }
      if (this.#lastEnd !== this.#out) result += REDACTION_MARKER;
      this.redacted = true;
      this.#out = Math.max(this.#out, Math.min(end, limit));
      this.#lastEnd = this.#out;
      if (end > limit) left.unshift({ start: limit, end });
    }
    if (limit > this.#out) {
      result += this.#text.slice(this.#out, limit);
      this.#out = limit;
    }
    this.#spans = left;
    return result;
  }

  /** Drops text that no rule will look back at. */
  #forget(): void {
    const cut = Math.min(this.#out, this.#ruled, this.#matched) - LOOK_BACK;
    if (cut < LOOK_BACK) return;
    this.#text = this.#text.slice(cut);
    this.#out -= cut;
    this.#ruled -= cut;
    this.#matched -= cut;
    this.#floor = Math.max(-1, this.#floor - cut);
    this.#lastEnd = Math.max(-1, this.#lastEnd - cut);
    this.#decodedTo = Math.max(-1, this.#decodedTo - cut);
    this.#unquotedTo = Math.max(-1, this.#unquotedTo - cut);
    this.#plainEnd = Math.max(-1, this.#plainEnd - cut);
    this.#listedTo = Math.max(-1, this.#listedTo - cut);
    this.#keyEnd = Math.max(-1, this.#keyEnd - cut);
    const move = ({ start, end }: Span): Span => ({ start: start - cut, end: end - cut });
    this.#spans = this.#spans.map(move);
    this.#values = this.#values.map(move).filter(({ end }) => end > 0);
    this.#beside = this.#beside.map(move).filter(({ end }) => end > 0);
  }
}
