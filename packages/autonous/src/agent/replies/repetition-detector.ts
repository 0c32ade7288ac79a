/** Consecutive repetitions of a passage that count as endless. */
const REPEATS = 10;
/** Minimum length of the repetition and maximum length of its passage, in characters. */
const MIN_LENGTH = 500;
const MAX_PASSAGE = 400;
const WINDOW_CHARACTERS = MAX_PASSAGE * REPEATS;
/** Characters between two checks. */
const STRIDE = 100;

/** Lines where repetition is normal: fences, lists, tables, headings, quotes, rules. */
const FORM = /^\s{0,20}(?:```|~~~|[-*+]\s|\d{1,9}[.)]\s|[|+]|#{1,6}\s|>)/;
const FENCE = /^\s{0,20}(?:```|~~~)/;
/** A reply in the plain protocol, or data: a file written by a call may repeat a line. */
const OBJECT = /^\s{0,20}(?:.*<\/think>\s*)?\{/;
const END_OF_OBJECT = /\}\s*$/;
const WORDY = /\p{L}/u;

/** Detects a model that repeats itself endlessly, while its reply arrives. */
export class RepetitionDetector {
  /** Prose since the last line of another kind. */
  #prose = "";
  #line = "";
  #isCode = false;
  #isObject = false;
  #unseen = 0;

  /** Returns whether the reply repeats itself. Time is roughly linear in the text. */
  push(text: string): boolean {
    for (const piece of text.split(/(?<=\n)/)) {
      this.#line += piece;
      if (!this.#isCode && OBJECT.test(this.#line)) this.#isObject = true;
      if (!this.#isCode && !this.#isObject && !FORM.test(this.#line)) this.#prose += piece;
      this.#unseen += piece.length;
      if (piece.endsWith("\n")) this.#endLine();
    }
    this.#prose = this.#prose.slice(-WINDOW_CHARACTERS);
    this.#line = this.#line.slice(-WINDOW_CHARACTERS);
    if (this.#unseen < STRIDE) return false;
    this.#unseen = 0;
    return isRepetitive(this.#prose);
  }

  #endLine(): void {
    if (FENCE.test(this.#line)) this.#isCode = !this.#isCode;
    if (FORM.test(this.#line) || this.#isObject) this.#prose = "";
    if (/^\S/.test(this.#line) && END_OF_OBJECT.test(this.#line)) this.#isObject = false;
    this.#line = "";
  }
}

/** Whether a text ends in one passage repeated at least ten times. Read backwards, that is a periodic prefix. */
export function isRepetitive(text: string): boolean {
  const backwards = text.slice(-WINDOW_CHARACTERS).split("").reverse();
  const borders = new Int32Array(backwards.length); // the longest border of each prefix (Knuth, Morris, Pratt)
  for (let at = 1, border = 0; at < backwards.length; at++) {
    while (border > 0 && backwards[at] !== backwards[border]) border = borders[border - 1] ?? 0;
    if (backwards[at] === backwards[border]) border += 1;
    borders[at] = border;
    const length = at + 1;
    const period = length - border;
    const isLong = length >= MIN_LENGTH && period <= MAX_PASSAGE && length >= period * REPEATS;
    if (isLong) return WORDY.test(backwards.slice(0, period).join(""));
  }
  return false;
}
