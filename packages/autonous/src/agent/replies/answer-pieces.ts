import type { End } from "../outcome.ts";
import type { Run } from "../agent-run.ts";

/** How often an answer is continued that the limit of the output has cut off. */
export const MAX_CONTINUATIONS = 3;

/** What the model is told after a piece of an answer. */
export const CONTINUE =
  "Your answer was cut off by the length limit. Continue it exactly where it stopped: begin with the next character, repeat nothing, add no introduction.";

/** A repetition that is shorter may be what the text says. */
const MIN_OVERLAP = 20;
const MIN_LINE = 8;
const MAX_OVERLAP = 2000;

/** The last characters of a piece that may be the first half of a secret: the redactor knows secrets only as a whole. */
const HALF_SECRET = /(?=[^\s"'`]*\d)[\w+/=.:~-]{8,}$/;

/** A piece without a last word that may be half of a secret. The model sees the piece without it, and writes all of it. */
export function withoutHalfSecret(piece: string): string {
  const last = piece.slice(-MAX_OVERLAP).split(/\s/).at(-1) ?? "";
  const at = HALF_SECRET.exec(last)?.index;
  const kept = at === undefined ? piece : piece.slice(0, piece.length - last.length + at);
  return kept.trim() === "" ? piece : kept;
}

/** The pieces of an answer as one text, without what a piece repeats of the end of the one before it. */
export function joinPieces(pieces: readonly string[]): string {
  return pieces.reduce((joined, piece) => joined + piece.slice(overlapOf(joined, piece)), "");
}

/** How many characters a piece repeats. Linear: the failure function of Knuth, Morris and Pratt. */
function overlapOf(before: string, piece: string): number {
  const tail = before.slice(-MAX_OVERLAP);
  const head = piece.slice(0, MAX_OVERLAP);
  const fail = new Int32Array(head.length + 1);
  for (let at = 1, matched = 0; at < head.length; at++) {
    while (matched > 0 && head[at] !== head[matched]) matched = fail[matched] ?? 0;
    if (head[at] === head[matched]) matched += 1;
    fail[at + 1] = matched;
  }
  let matched = 0;
  for (const character of tail.split("")) {
    while (matched > 0 && (matched === head.length || character !== head[matched])) matched = fail[matched] ?? 0;
    if (character === head[matched]) matched += 1;
  }
  const isLine = matched >= MIN_LINE && tail.at(-matched - 1) === "\n";
  const isRepeated = matched >= MIN_OVERLAP || isLine;
  return isRepeated && /\w{3}/.test(head.slice(0, matched)) ? matched : 0;
}

/** The last line of an answer that is shown as cut. */
export const CUT_NOTE =
  "[The answer was cut off at the output limit. Set AUTONOUS_MAX_OUTPUT_TOKENS higher for longer answers.]";

/** An answer without its end is still an answer; its last lines say that it was cut, and why. */
export function cutAnswer(run: Run, why?: string): End {
  const note = why === undefined ? CUT_NOTE : `${CUT_NOTE}\n[It could not be continued: ${why}]`;
  return { answer: `${run.redact(joinPieces(run.pieces)).trim()}\n\n${note}`, cut: true };
}

/** The pieces of an answer are kept if the rest of it fails. */
export function withPieces(run: Run, end: End): End {
  const isFailed = end !== "parked" && "code" in end && end.code !== "Cancelled";
  return isFailed && run.pieces.length > 0 ? cutAnswer(run, end.message) : end;
}
