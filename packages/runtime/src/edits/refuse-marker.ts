import { ToolError } from "../protocol/errors.ts";
import type { ErrorDetails } from "../protocol/errors.ts";
import { REDACTION_MARKER } from "../protocol/marker.ts";
import { toLineFeeds } from "./find-text.ts";
import { lineNumbers, describeLines, describeRange } from "./text-lines.ts";
import { nearestPassage } from "./nearest-passage.ts";
import { findText } from "./search-text.ts";

/**
 * Redacted text must not be written back (spec 2): throws `InvalidArguments` if a change would add the redaction marker
 * to a text that does not contain it. A text that already contains it is about redaction, or was redacted when it was
 * written (a log, a test, these sources): there the marker is ordinary text.
 */
export function refuseMarker(before: string | undefined, after: string, path: string): void {
  if (!after.includes(REDACTION_MARKER) || before?.includes(REDACTION_MARKER) === true) return;
  const offsets = findText(after, REDACTION_MARKER, { limit: SHOWN_MARKERS, overlapping: false });
  const lines = [...new Set(lineNumbers(after, offsets))];
  const message =
    `Cannot write "${REDACTION_MARKER}" to "${path}" (${describeLines(lines)} of the new text): it replaces a secret that ` +
    "was redacted when the text was shown, and would take the secret's place";
  const hint = "Leave lines with a secret out of the change: edit the text before and after them.";
  throw new ToolError("InvalidArguments", message, { path, lines, hint });
}

const SHOWN_MARKERS = 100;

interface MarkedText {
  readonly path: string;
  readonly find: string;
  readonly field: string;
  readonly facts: ErrorDetails;
}

/** The error for search text that contains a redaction marker: it cannot match. */
export function makeRedactedError(text: string, { path, find, field, facts }: MarkedText): ToolError {
  const place = locateRedacted(text, find);
  const where = place === undefined ? "" : ` (${describeRange(place.start_line, place.end_line)})`;
  const message =
    `Cannot edit "${path}": ${field} contains "${REDACTION_MARKER}", which is not in the file: it replaces a secret that ` +
    `was redacted when the text was shown${where}`;
  const hint = `Choose text before or after the secret${where}, without the secret itself.`;
  return new ToolError("NoMatch", message, { ...facts, ...place, hint });
}

interface Place {
  readonly start_line: number;
  readonly end_line: number;
}

/** Covers a private key of 16,384 bits in PEM; longer secrets are not searched. */
const LONGEST_SECRET = 16_000;
/** Only for a hint, so it may give up on pathological text. */
const MAX_PIECES = 20;
const MAX_TRIES = 100;

/** Finds the text around redaction markers, with the markers as wildcards; undefined if it is not unique. */
function locateRedacted(text: string, find: string): Place | undefined {
  const pieces = toLineFeeds(find).split(REDACTION_MARKER, MAX_PIECES);
  const known = pieces.filter((piece) => piece.trim() !== "");
  const [first, ...rest] = known;
  if (first === undefined) return undefined;
  const plain = toLineFeeds(text);
  for (const start of findText(plain, first, { limit: MAX_TRIES, overlapping: false })) {
    const end = followPieces(plain, rest, start + first.length);
    if (end === undefined) continue;
    const [start_line = 1, end_line = 1] = lineNumbers(plain, [start + leadingSpace(first), end]);
    return { start_line, end_line };
  }
  const nearest = nearestPassage(plain, find);
  return nearest === undefined ? undefined : { start_line: nearest.start_line, end_line: nearest.end_line };
}

/** End of the last piece if each one closely follows the previous one. */
function followPieces(text: string, pieces: readonly string[], from: number): number | undefined {
  let at = from;
  for (const piece of pieces) {
    const found = text.slice(at, at + LONGEST_SECRET + piece.length).indexOf(piece);
    if (found < 0) return undefined;
    at += found + piece.trimEnd().length;
  }
  return at;
}

function leadingSpace(piece: string): number {
  return piece.length - piece.trimStart().length;
}
