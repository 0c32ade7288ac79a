import type { End } from "../outcome.ts";
import type { Run } from "../agent-run.ts";

/** How often a truncated answer is continued. */
export const MAX_CONTINUATIONS = 3;

/** Sent to the model after a truncated part of an answer. */
export const CONTINUE =
  "Your answer was cut off by the length limit. Continue it exactly where it stopped: begin with the next character, repeat nothing, add no introduction.";

/** A shorter repetition may be intended. */
const MIN_OVERLAP = 20;
const MIN_LINE = 8;
const MAX_OVERLAP = 2000;

/** The end of a part that may be the first half of a secret, which the redactor would not recognize. */
const HALF_SECRET = /(?=[^\s"'`]*\d)[\w+/=.:~-]{8,}$/;

/** Drops a last word that may be half of a secret. The model sees the shortened part and writes the word again. */
export function dropPartialSecret(piece: string): string {
  const last = piece.slice(-MAX_OVERLAP).split(/\s/).at(-1) ?? "";
  const at = HALF_SECRET.exec(last)?.index;
  const kept = at === undefined ? piece : piece.slice(0, piece.length - last.length + at);
  return kept.trim() === "" ? piece : kept;
}

/** Joins the parts of an answer, without text that a part repeats from the end of the previous one. */
export function joinPieces(pieces: readonly string[]): string {
  return pieces.reduce((joined, piece) => joined + piece.slice(overlapOf(joined, piece)), "");
}

/** Length of the repeated text. Linear time (Knuth-Morris-Pratt failure function). */
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

/** The last line of a truncated answer. */
export const CUT_NOTE =
  "[The answer was cut off at the output limit. Set AUTONOUS_MAX_OUTPUT_TOKENS higher for longer answers.]";

/** A truncated answer is still an answer; its last lines say why it was truncated. */
export function cutAnswer(run: Run, why?: string): End {
  const note = why === undefined ? CUT_NOTE : `${CUT_NOTE}\n[It could not be continued: ${why}]`;
  return { answer: `${run.redact(joinPieces(run.pieces)).trim()}\n\n${note}`, cut: true };
}

/** If the continuation fails, the parts so far are returned. */
export function withPieces(run: Run, end: End): End {
  const isFailed = end !== "parked" && "code" in end && end.code !== "Cancelled";
  return isFailed && run.pieces.length > 0 ? cutAnswer(run, end.message) : end;
}
