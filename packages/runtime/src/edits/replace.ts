import { ToolError } from "../protocol/errors.ts";
import { REDACTION_MARKER } from "../protocol/marker.ts";
import { findRegions, makeSource, MANY } from "./find-text.ts";
import type { Region, Source } from "./find-text.ts";
import { makeFit } from "./fit-line-ends.ts";
import type { Fit } from "./fit-line-ends.ts";
import { lineNumbers, quoteLines, sayLines, sayRange } from "./lines.ts";
import { makeRedactedError } from "./marker.ts";
import { nearestPassage } from "./nearest.ts";

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
interface Named extends Edit {
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

function nameEdit(edit: Edit, place: Pick<Named, "path" | "number" | "several">): Named {
  return { ...edit, ...place, field: place.several ? `edits[${place.number}].find` : "find" };
}

function checkEdit({ path, find, replace, field }: Named): void {
  if (find === "") {
    const message = `Cannot edit "${path}": ${field} is empty; it must contain the text to replace`;
    throw new ToolError("InvalidArguments", message, { path, field });
  }
  if (find === replace) {
    const message = `Cannot edit "${path}": ${field} and its replacement are the same text`;
    throw new ToolError("InvalidArguments", message, { path, field });
  }
}

function findMatch(source: Source, edit: Named): Match {
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

function refuseOverlaps(text: string, regions: readonly Region[], edits: readonly Named[]): void {
  for (const [index, next] of regions.entries()) {
    const region = regions[index - 1];
    if (region === undefined || region.end <= next.start) continue;
    const both = [region.edit, next.edit].sort((a, b) => a - b);
    const [start = 1, end = 1] = lineNumbers(text, [next.start, region.end - 1]);
    const { path } = edits[next.edit] ?? { path: "" };
    const message =
      `Cannot edit "${path}": ${both.map((edit) => `edits[${edit}]`).join(" and ")} overlap at ${sayRange(start, end)}; ` +
      "make them one edit, or choose passages that share no text";
    throw new ToolError("InvalidArguments", message, { path, edits: both, start_line: start, end_line: end });
  }
}

function ambiguous(text: string, edit: Named, regions: readonly Region[]): ToolError {
  const starts = regions.map(({ start }) => start);
  const lines = [...new Set(lineNumbers(text, starts))];
  const times = regions.length < MANY ? `${regions.length} times` : `${MANY} times or more`;
  const message = `Cannot edit "${edit.path}": ${nameText(edit)} occurs ${times} (${sayLines(lines)})`;
  return new ToolError("AmbiguousMatch", message, {
    ...factsOf(edit),
    count: regions.length,
    lines: lines.slice(0, 100),
  });
}

function nameText({ several, field }: Named): string {
  return several ? `the text of ${field}` : "the text";
}

function factsOf({ path, several, number }: Named): { path: string; edit?: number } {
  return several ? { path, edit: number } : { path };
}

function notFound(text: string, edit: Named): ToolError {
  if (edit.find.includes(REDACTION_MARKER)) return makeRedactedError(text, { ...edit, facts: factsOf(edit) });
  const start = `Cannot edit "${edit.path}": ${nameText(edit)} was not found`;
  if (text === "") return new ToolError("NoMatch", `${start}; the file is empty`, factsOf(edit));
  const nearest = nearestPassage(text, edit.find);
  if (nearest === undefined) {
    return new ToolError("NoMatch", `${start}, and the file has no similar text`, factsOf(edit));
  }
  const { only_space, ...passage } = nearest;
  const where = sayRange(passage.start_line, passage.end_line);
  const how = only_space ? ", which differs in white space only" : "";
  const message = `${start}; nearest is ${where}${how}:\n${quoteLines(passage.text)}`;
  return new ToolError("NoMatch", message, { ...factsOf(edit), nearest: passage });
}
