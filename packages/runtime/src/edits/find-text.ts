import { lineEndAt, lineEndFrom } from "./text-lines.ts";
import { findText } from "./search-text.ts";

/** A part of a text, from `start` up to `end`, and the edit that found it. */
export interface Region {
  readonly start: number;
  readonly end: number;
  readonly edit: number;
}

export interface TextMatch {
  readonly regions: readonly Region[];
  /** Found only by ignoring the line ends it names, or spaces at the ends of lines. */
  readonly loose: boolean;
}

/** A text that is searched several times. Normalized forms are computed on first use. */
export interface Source {
  readonly text: string;
  readonly hasReturns: boolean;
  /** All line ends converted to LF. */
  readonly plain: () => string;
  /** The same, with spaces and tabs at the ends of lines removed. */
  readonly bare: () => string;
}

export function makeSource(text: string): Source {
  let plain: string | undefined;
  let bare: string | undefined;
  return {
    text,
    hasReturns: text.includes("\r"),
    plain: () => (plain ??= toLineFeeds(text)),
    bare: () => (bare ??= withoutTrailingSpace(text)),
  };
}

export function toLineFeeds(text: string): string {
  return text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
}

/**
 * Where `find` occurs. LF in `find` matches any line end of the text, because a reader sees no difference. CR and CRLF
 * match literally. Only if that finds nothing, all differences in line ends and in spaces and tabs at the ends of lines
 * are ignored.
 */
export function findRegions(source: Source, find: string, wanted: MatchOptions): TextMatch {
  const regions = findAsWritten(source, find, wanted);
  if (regions.length > 0) return { regions, loose: false };
  return { regions: findLoosely(source, find, wanted), loose: true };
}

interface MatchOptions {
  /** Find all occurrences, without overlaps. Otherwise it only matters whether there is more than one. */
  readonly all: boolean;
  /** The edit number for the regions. */
  readonly edit: number;
}

/** An edit that requires a unique match is refused long before this count. */
export const MAX_MATCHES = 1000;

function findAsWritten(source: Source, find: string, { all, edit }: MatchOptions): Region[] {
  const search = { limit: all ? Infinity : MAX_MATCHES, overlapping: !all };
  if (source.hasReturns && find.includes("\n") && !find.includes("\r")) {
    const starts = findText(source.plain(), find, search);
    const spans = starts.map((start) => ({ start, end: start + find.length, takesSpace: false }));
    return toRegions(source.text, spans, { bare: false, startsInSpace: false, edit });
  }
  // A match that starts at the LF of a CRLF would split it.
  const starts = findText(source.text, find, search).filter((at) => find[0] !== "\n" || source.text[at - 1] !== "\r");
  return starts.map((start) => ({ start, end: start + find.length, edit }));
}

/** An occurrence in the normalized text. `takesSpace`: it includes the spaces that were removed after it. */
interface Span {
  readonly start: number;
  readonly end: number;
  readonly takesSpace: boolean;
}

function findLoosely(source: Source, find: string, { all, edit }: MatchOptions): Region[] {
  // White space alone would match everywhere.
  if (find.trim() === "") return [];
  const search = { limit: all ? Infinity : MAX_MATCHES, overlapping: !all };
  const lines = toLineFeeds(find).split("\n");
  const last = lines.pop() ?? "";
  const head = lines.map((line) => `${trimSpaceEnd(line)}\n`).join("");
  const bare = source.bare();
  // Spaces at the end of `find` may be in the middle of a line or at its end; in the second case the line must end
  // there.
  const [asWritten, cut] = [head + last, head + trimSpaceEnd(last)];
  const spans = findText(bare, asWritten, search).map((start) => makeSpan(start, asWritten, false));
  if (cut !== asWritten) {
    for (const start of findText(bare, cut, search)) {
      const end = start + cut.length;
      if (end === bare.length || bare[end] === "\n") spans.push(makeSpan(start, cut, true));
    }
    spans.sort((a, b) => a.start - b.start);
  }
  const regions = toRegions(source.text, spans, { bare: true, startsInSpace: /^[ \t]/.test(find), edit });
  return all ? withoutOverlaps(regions) : regions;
}

function makeSpan(start: number, found: string, takesSpace: boolean): Span {
  return { start, end: start + found.length, takesSpace };
}

function withoutOverlaps(regions: readonly Region[]): Region[] {
  let end = 0;
  return regions.filter((region) => {
    if (region.start < end) return false;
    end = region.end;
    return true;
  });
}

interface Folding {
  /** Spaces and tabs at the ends of lines are removed too. */
  readonly bare: boolean;
  /** The searched text starts with a space: if it starts at the end of a line, the spaces there belong to the match. */
  readonly startsInSpace: boolean;
  readonly edit: number;
}

/** Maps positions in the normalized text back to the original, reading its lines once. */
function toRegions(text: string, spans: readonly Span[], folding: Folding): Region[] {
  const places = spans.flatMap((span, index) => [
    { at: span.start, index, field: "start" as const, behind: !folding.startsInSpace },
    { at: span.end, index, field: "end" as const, behind: span.takesSpace },
  ]);
  places.sort((a, b) => a.at - b.at);
  const regions = spans.map(() => ({ start: 0, end: 0, edit: folding.edit }));
  let line = lineFrom(text, { at: 0, folded: 0, bare: folding.bare });
  for (const { at, index, field, behind } of places) {
    while (at > line.folded + line.length && line.next < text.length) {
      line = lineFrom(text, { at: line.next, folded: line.folded + line.length + 1, bare: folding.bare });
    }
    const region = regions[index];
    if (region === undefined) continue;
    if (at > line.folded + line.length) region[field] = text.length;
    else if (at === line.folded + line.length && behind) region[field] = line.end;
    else region[field] = line.start + (at - line.folded);
  }
  return regions;
}

interface FoldedLine {
  readonly start: number;
  /** Start of its line end. */
  readonly end: number;
  readonly next: number;
  /** Position and length in the normalized text. */
  readonly folded: number;
  readonly length: number;
}

function lineFrom(text: string, { at, folded, bare }: { at: number; folded: number; bare: boolean }): FoldedLine {
  const end = lineEndFrom(text, at);
  const length = (bare ? trimSpaceBack(text, at, end) : end) - at;
  return { start: at, end, next: end + lineEndAt(text, end).length, folded, length };
}

/** Pieces are joined in batches of this size: a list of all of them would take far more memory than the text. */
const PIECES = 10_000;

function withoutTrailingSpace(text: string): string {
  let folded = "";
  let pieces: string[] = [];
  for (let start = 0; start < text.length;) {
    const end = lineEndFrom(text, start);
    const lineEnd = lineEndAt(text, end);
    pieces.push(text.slice(start, trimSpaceBack(text, start, end)), lineEnd === "" ? "" : "\n");
    start = end + lineEnd.length;
    if (pieces.length < PIECES) continue;
    folded += pieces.join("");
    pieces = [];
  }
  return folded + pieces.join("");
}

function trimSpaceEnd(line: string): string {
  return line.slice(0, trimSpaceBack(line, 0, line.length));
}

/** Start of the spaces and tabs before `end`. A loop, because a regular expression takes quadratic time here. */
function trimSpaceBack(text: string, start: number, end: number): number {
  let at = end;
  while (at > start && (text[at - 1] === " " || text[at - 1] === "\t")) at--;
  return at;
}
