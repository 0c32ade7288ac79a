import { ToolError } from "../protocol/errors.ts";
import { REDACTION_MARKER } from "../protocol/marker.ts";
import { findRegions, makeSource, MANY } from "./find-text.ts";
import type { Region, Source } from "./find-text.ts";
import { makeFit } from "./fit-line-ends.ts";
import { lineNumbers, quoteLines, sayLines, sayRange } from "./lines.ts";
import { redactedText } from "./marker.ts";
import { nearestPassage } from "./nearest.ts";

export interface Edit {
  readonly find: string;
  readonly replace: string;
  /** Replace every occurrence; otherwise there has to be exactly one. */
  readonly all?: boolean | undefined;
}

interface About {
  /** As the caller wrote it, for messages. */
  readonly path: string;
}

/** One edit of a call, and what it is called in messages. */
interface Named extends Edit {
  readonly path: string;
  readonly field: string;
  /** Where there are several. */
  readonly index: number | undefined;
}

/** Part of the text, and what comes in its place. */
interface Splice extends Region {
  readonly text: string;
  readonly edit: Named;
}

/**
 * Replaces passages of a text, all of them or none. Every edit is matched against the text as it was given. Nothing
 * outside of the passages changes by a byte. Throws `NoMatch`, `AmbiguousMatch` and `InvalidArguments`.
 */
export function replaceText(
  text: string,
  edits: readonly Edit[],
  { path }: About,
): { readonly text: string; readonly replacements: number } {
  if (edits.length === 0)
    throw new ToolError("InvalidArguments", `Cannot edit "${path}": there are no edits`, { path });
  const named = edits.map((edit, index) => nameEdit(edit, { path, index: edits.length === 1 ? undefined : index }));
  for (const edit of named) checkEdit(edit);
  const source = makeSource(text);
  const splices = named.flatMap((edit) => findSplices(source, edit)).sort((a, b) => a.start - b.start || a.end - b.end);
  refuseOverlaps(source, splices);
  const changed = applySplices(text, splices);
  if (changed === text) {
    const message = `Cannot edit "${path}": the replacement is what is there already, line ends and all`;
    throw new ToolError("InvalidArguments", message, { path });
  }
  return { text: changed, replacements: splices.length };
}

function nameEdit(edit: Edit, { path, index }: { path: string; index: number | undefined }): Named {
  return { ...edit, path, index, field: index === undefined ? "find" : `edits[${index}].find` };
}

function checkEdit({ path, find, replace, field }: Named): void {
  if (find === "") {
    const message = `Cannot edit "${path}": ${field} is empty; it has to be the text to replace`;
    throw new ToolError("InvalidArguments", message, { path, field });
  }
  if (find === replace) {
    const message = `Cannot edit "${path}": ${field} and its replacement are the same text`;
    throw new ToolError("InvalidArguments", message, { path, field });
  }
}

function findSplices(source: Source, edit: Named): Splice[] {
  const { regions, loose } = findRegions(source, edit.find, edit.all === true);
  if (regions.length === 0) throw notFound(source.text, edit);
  if (regions.length > 1 && edit.all !== true) throw ambiguous(source.text, edit, regions);
  const fit = makeFit(source, { find: edit.find, replace: edit.replace, loose });
  return regions.map((region) => ({ ...region, text: fit(region), edit }));
}

function applySplices(text: string, splices: readonly Splice[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const splice of splices) {
    parts.push(text.slice(at, splice.start), splice.text);
    at = splice.end;
  }
  parts.push(text.slice(at));
  return parts.join("");
}

function refuseOverlaps({ text }: Source, splices: readonly Splice[]): void {
  for (const [index, next] of splices.entries()) {
    const splice = splices[index - 1];
    if (splice === undefined || splice.end <= next.start) continue;
    const [first = 1, second = 1, end = 1] = lineNumbers(text, [splice.start, next.start, splice.end]);
    const names = [splice.edit.field, next.edit.field].sort();
    const message =
      `Cannot edit "${splice.edit.path}": ${names.join(" and ")} overlap at ${sayRange(second, end)}; ` +
      "make them one edit, or choose passages that do not share text";
    const edits = [splice.edit.index, next.edit.index];
    throw new ToolError("InvalidArguments", message, { path: splice.edit.path, edits, lines: [first, second] });
  }
}

const SHOWN_LINES = 100;

function ambiguous(text: string, edit: Named, regions: readonly Region[]): ToolError {
  const starts = regions.slice(0, SHOWN_LINES).map(({ start }) => start);
  const lines = lineNumbers(text, starts);
  const times = regions.length < MANY ? `${regions.length} times` : `${MANY} times or more`;
  const what = edit.index === undefined ? "the text" : `the text of ${edit.field}`;
  const message = `Cannot edit "${edit.path}": ${what} is there ${times} (${sayLines(lines, regions.length)})`;
  return new ToolError("AmbiguousMatch", message, { ...factsOf(edit), count: regions.length, lines });
}

function factsOf({ path, index }: Named): { path: string; edit?: number } {
  return index === undefined ? { path } : { path, edit: index };
}

function notFound(text: string, edit: Named): ToolError {
  if (edit.find.includes(REDACTION_MARKER)) return redactedText(text, { ...edit, facts: factsOf(edit) });
  const what = edit.index === undefined ? "the text" : `the text of ${edit.field}`;
  const start = `Cannot edit "${edit.path}": ${what} is not there`;
  if (text === "") return new ToolError("NoMatch", `${start}; the file is empty`, factsOf(edit));
  const nearest = nearestPassage(text, edit.find);
  if (nearest === undefined) {
    return new ToolError("NoMatch", `${start}, and nothing in the file is like it`, factsOf(edit));
  }
  const { only_space, ...passage } = nearest;
  const where = sayRange(passage.start_line, passage.end_line);
  const how = only_space ? ", which differs in white space only" : "";
  const message = `${start}; nearest is ${where}${how}:\n${quoteLines(passage.text)}`;
  return new ToolError("NoMatch", message, { ...factsOf(edit), nearest: passage });
}
