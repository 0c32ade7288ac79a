import type { Region, Source } from "./find-text.ts";
import { toLineFeeds } from "./find-text.ts";
import { lineEndAt, lineEndFrom } from "./lines.ts";

const LINE_END = /\r\n?|\n/;
const LINE_ENDS = /\r\n?|\n/g;

export interface Replacement {
  readonly find: string;
  readonly replace: string;
  /** Found only by ignoring line ends or spaces at the ends of lines. */
  readonly loose: boolean;
}

/** Returns the replacement of a region. Called in the order of the regions. */
export type Fit = (region: Region) => string;

/**
 * New lines get the line ends of their surroundings. Common first and last lines of `find` and `replace` are not
 * touched at all. A replacement that contains CR or CRLF is kept, unless `find` was wrong about the line ends; so is
 * one that only changes line ends. CRLF does not get into a file with LF line ends by accident: some clients write CRLF
 * without meaning it.
 */
export function makeFit(source: Source, { find, replace, loose }: Replacement): Fit {
  if (!source.hasReturns && source.text.includes("\n") && toLineFeeds(replace) !== toLineFeeds(find)) {
    const fitting = replace.replaceAll("\r\n", "\n");
    if (fitting !== replace) return makeFit(source, { find, replace: fitting, loose });
  }
  if (!LINE_END.test(replace) || isExplicit({ find, replace, loose })) return () => replace;
  if (!source.hasReturns && !loose) return () => replace;
  const wanted = toLineFeeds(find).split("\n");
  const lines = toLineFeeds(replace).split("\n");
  const endAfter = makeEndAfter(source.text);
  return (region) => {
    const old = source.text.slice(region.start, region.end);
    // The caller matched half of a CRLF, so it was intended.
    if (region.end < source.text.length && old.endsWith("\r") && source.text[region.end] === "\n") return replace;
    return fitLines(old, { wanted, lines, fallback: () => endAfter(region.end) });
  };
}

function isExplicit({ find, replace, loose }: Replacement): boolean {
  if (replace.includes("\r")) return !loose || !find.includes("\r");
  return !loose && toLineFeeds(find) === replace;
}

interface Texts {
  readonly wanted: readonly string[];
  readonly lines: readonly string[];
  /** The line end used nearby. */
  readonly fallback: () => string;
}

function fitLines(old: string, { wanted, lines, fallback }: Texts): string {
  const oldLines = old.split(LINE_END);
  const oldEnds = old.match(LINE_ENDS) ?? [];
  const [oldLast, last] = [oldLines.length - 1, lines.length - 1];
  const most = Math.min(oldLast, last);
  let head = 0;
  while (head < most && wanted[head] === lines[head]) head++;
  let tail = 0;
  while (tail < most - head && wanted[oldLast - tail] === lines[last - tail]) tail++;
  const parts: string[] = [];
  for (let at = 0; at <= last; at++) {
    const fromEnd = last - at;
    const oldAt = at < head ? at : oldLast - fromEnd;
    parts.push(at < head || fromEnd < tail ? (oldLines[oldAt] ?? "") : (lines[at] ?? ""));
    if (at === last) break;
    const end = at < head || fromEnd > tail ? oldEnds[Math.min(at, oldLast - tail - 1)] : oldEnds[oldLast - fromEnd];
    parts.push(end ?? oldEnds.at(-1) ?? fallback());
  }
  return parts.join("");
}

/** The line end after a position, else the one before the last line. Positions must be ascending. */
function makeEndAfter(text: string): (place: number) => string {
  let at = -1;
  let last: string | undefined;
  return (place) => {
    if (at < place) at = lineEndFrom(text, place);
    return lineEndAt(text, at) || (last ??= lastLineEnd(text));
  };
}

function lastLineEnd(text: string): string {
  const feed = text.lastIndexOf("\n");
  const at = Math.max(feed, text.lastIndexOf("\r"));
  if (at < 0) return "\n";
  return at === feed && text[at - 1] === "\r" ? "\r\n" : (text[at] ?? "\n");
}
