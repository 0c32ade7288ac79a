import { ToolError } from "../protocol/errors.ts";
import { REDACTION_MARKER } from "../protocol/marker.ts";
import { findRegions, makeSource, MAX_MATCHES, toLineFeeds } from "./find-text.ts";
import type { Region, Source } from "./find-text.ts";
import { lineNumbers, quoteLines, describeLines, describeRange, lineEndAt, lineEndFrom } from "./text-lines.ts";
import { makeRedactedError } from "./refuse-marker.ts";
import { nearestPassage } from "./nearest-passage.ts";

export interface Edit {
  readonly find: string;
  readonly replace: string;
  /** Replace every occurrence; otherwise there must be exactly one. */
  readonly all?: boolean | undefined;
}

interface About {
  /** As given by the caller, for messages. */
  readonly path: string;
}

/** One edit of a call, with its name in messages. */
interface NamedEdit extends Edit {
  readonly path: string;
  readonly field: string;
  readonly number: number;
  /** The call has more than one edit. */
  readonly several: boolean;
}

/** The place of an edit and its replacement. */
interface Match {
  readonly regions: readonly Region[];
  readonly fit: Fit;
}

/**
 * Replaces passages of a text, all of them or none. Every edit is matched against the original text. Everything outside
 * of the passages stays unchanged, byte for byte. Throws `NoMatch`, `AmbiguousMatch` and `InvalidArguments`.
 */
export function replaceText(
  text: string,
  edits: readonly Edit[],
  { path }: About,
): { readonly text: string; readonly replacements: number } {
  if (edits.length === 0)
    throw new ToolError("InvalidArguments", `Cannot edit "${path}": the list of edits is empty`, { path });
  const named = edits.map((edit, number) => nameEdit(edit, { path, number, several: edits.length > 1 }));
  for (const edit of named) checkEdit(edit);
  const source = makeSource(text);
  const matches = named.map((edit) => findMatch(source, edit));
  const regions = matches.flatMap((match) => match.regions).sort((a, b) => a.start - b.start || a.end - b.end);
  refuseOverlaps(text, regions, named);
  const changed = replaceRegions(text, regions, matches);
  if (changed === text) {
    const message = `Cannot edit "${path}": the replacement equals the current text, including line ends`;
    throw new ToolError("InvalidArguments", message, { path });
  }
  return { text: changed, replacements: regions.length };
}

function nameEdit(edit: Edit, place: Pick<NamedEdit, "path" | "number" | "several">): NamedEdit {
  return { ...edit, ...place, field: place.several ? `edits[${place.number}].find` : "find" };
}

function checkEdit({ path, find, replace, field }: NamedEdit): void {
  if (find === "") {
    const message = `Cannot edit "${path}": ${field} is empty; it must contain the text to replace`;
    throw new ToolError("InvalidArguments", message, { path, field });
  }
  if (find === replace) {
    const message = `Cannot edit "${path}": ${field} and its replacement are the same text`;
    throw new ToolError("InvalidArguments", message, { path, field });
  }
}

function findMatch(source: Source, edit: NamedEdit): Match {
  const { find, replace } = edit;
  const { regions, loose } = findRegions(source, find, { all: edit.all === true, edit: edit.number });
  if (regions.length === 0) throw notFound(source.text, edit);
  if (regions.length > 1 && edit.all !== true) throw ambiguous(source.text, edit, regions);
  return { regions, fit: makeFit(source, { find, replace, loose }) };
}

function replaceRegions(text: string, regions: readonly Region[], matches: readonly Match[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const region of regions) {
    parts.push(text.slice(at, region.start), matches[region.edit]?.fit(region) ?? "");
    at = region.end;
  }
  parts.push(text.slice(at));
  return parts.join("");
}

function refuseOverlaps(text: string, regions: readonly Region[], edits: readonly NamedEdit[]): void {
  for (const [index, next] of regions.entries()) {
    const region = regions[index - 1];
    if (region === undefined || region.end <= next.start) continue;
    const both = [region.edit, next.edit].sort((a, b) => a - b);
    const [start = 1, end = 1] = lineNumbers(text, [next.start, region.end - 1]);
    const { path } = edits[next.edit] ?? { path: "" };
    const message =
      `Cannot edit "${path}": ${both.map((edit) => `edits[${edit}]`).join(" and ")} overlap at ${describeRange(start, end)}; ` +
      "make them one edit, or choose passages that share no text";
    throw new ToolError("InvalidArguments", message, { path, edits: both, start_line: start, end_line: end });
  }
}

function ambiguous(text: string, edit: NamedEdit, regions: readonly Region[]): ToolError {
  const starts = regions.map(({ start }) => start);
  const lines = [...new Set(lineNumbers(text, starts))];
  const times = regions.length < MAX_MATCHES ? `${regions.length} times` : `${MAX_MATCHES} times or more`;
  const message = `Cannot edit "${edit.path}": ${nameText(edit)} occurs ${times} (${describeLines(lines)})`;
  return new ToolError("AmbiguousMatch", message, {
    ...factsOf(edit),
    count: regions.length,
    lines: lines.slice(0, 100),
  });
}

function nameText({ several, field }: NamedEdit): string {
  return several ? `the text of ${field}` : "the text";
}

function factsOf({ path, several, number }: NamedEdit): { path: string; edit?: number } {
  return several ? { path, edit: number } : { path };
}

function notFound(text: string, edit: NamedEdit): ToolError {
  if (edit.find.includes(REDACTION_MARKER)) return makeRedactedError(text, { ...edit, facts: factsOf(edit) });
  const start = `Cannot edit "${edit.path}": ${nameText(edit)} was not found`;
  if (text === "") return new ToolError("NoMatch", `${start}; the file is empty`, factsOf(edit));
  const nearest = nearestPassage(text, edit.find);
  if (nearest === undefined) {
    return new ToolError("NoMatch", `${start}, and the file has no similar text`, factsOf(edit));
  }
  const { only_space, ...passage } = nearest;
  const where = describeRange(passage.start_line, passage.end_line);
  const how = only_space ? ", which differs in white space only" : "";
  const message = `${start}; nearest is ${where}${how}:\n${quoteLines(passage.text)}`;
  return new ToolError("NoMatch", message, { ...factsOf(edit), nearest: passage });
}

const LINE_END = /\r\n?|\n/;
const LINE_ENDS = /\r\n?|\n/g;

interface Replacement {
  readonly find: string;
  readonly replace: string;
  /** Found only by ignoring line ends or spaces at the ends of lines. */
  readonly loose: boolean;
}

/** Returns the replacement of a region. Called in the order of the regions. */
type Fit = (region: Region) => string;

/**
 * New lines get the line ends of their surroundings. Common first and last lines of `find` and `replace` are not
 * touched at all. A replacement that contains CR or CRLF is kept, unless `find` was wrong about the line ends; so is
 * one that only changes line ends. CRLF does not get into a file with LF line ends by accident: some clients write CRLF
 * without meaning it.
 */
function makeFit(source: Source, { find, replace, loose }: Replacement): Fit {
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
