import { PASSES } from "./line-index.ts";
import type { LineIndex } from "./line-index.ts";
import type { PatchChunk, PatchUpdate } from "./patch.ts";

/** The place of a chunk: at line `at`, replacing its first `length` old lines. */
export interface ChunkPlace {
  readonly at: number;
  /** The used lines of the chunk. Trailing empty lines may not be part of it. */
  readonly lines: readonly string[];
  readonly old: readonly string[];
}

/** Why a chunk does not fit. */
export interface PlacementProblem {
  readonly problem: "missing" | "anchor" | "ambiguous" | "number" | "exhausted";
  /** The searched lines. */
  readonly expected: readonly string[];
  /** For `ambiguous`: the indices where it fits. */
  readonly places?: readonly number[];
}

export interface Search {
  readonly index: LineIndex;
  readonly format: PatchUpdate["format"];
  /** Chunks only move forward: lines before this one are ignored. */
  readonly from: number;
  /** Offset of the previous chunks from their line numbers. */
  readonly drift: number;
  /** Lines must be equal byte for byte. */
  readonly strict: boolean;
  /** Index of the line for a line number of the patch. */
  readonly lineAt: (hint: number) => number;
}

export function placeChunk(chunk: PatchChunk, search: Search): ChunkPlace | PlacementProblem {
  const anchored = findAnchors(chunk, search);
  if (typeof anchored !== "number") return anchored;
  const placed = placeLines(chunk, chunk.lines, { ...search, from: anchored });
  if ("at" in placed) return placed;
  const lines = withoutEmptyEnd(chunk.lines);
  if (lines.length === chunk.lines.length) return placed;
  const again = placeLines(chunk, lines, { ...search, from: anchored });
  return "at" in again ? again : placed;
}

/** The line after the last anchor. */
function findAnchors({ anchors }: PatchChunk, search: Search): number | PlacementProblem {
  const { index, from } = search;
  let at = from;
  for (const anchor of anchors) {
    const found = firstOf(passesOf(search), ([pass]) => index.find(pass, [anchor], { from: at, limit: 1 })[0]);
    if (found === undefined) return { problem: index.exhausted ? "exhausted" : "anchor", expected: [anchor] };
    at = found + 1;
  }
  return at;
}

function placeLines(chunk: PatchChunk, lines: readonly string[], search: Search): ChunkPlace | PlacementProblem {
  const old = lines.filter((line) => line === "" || line.startsWith(" ") || line.startsWith("-")).map(contentOf);
  const at = old.length === 0 ? placeAddition(chunk, search) : placeOld(chunk, old, search);
  return typeof at === "number" ? { at, lines, old } : at;
}

/** A line of the patch without its leading sign. */
export function contentOf(line: string): string {
  return line.slice(1);
}

/** New lines without old lines around them. */
function placeAddition({ line_hint, anchors, at_end }: PatchChunk, search: Search): number | PlacementProblem {
  const { index, from, drift, lineAt } = search;
  if (at_end === true) return index.length;
  if (line_hint === undefined) return anchors.length > 0 ? from : index.length;
  const at = lineAt(line_hint) + drift;
  return at >= from && at <= index.length ? at : { problem: "number", expected: [] };
}

function placeOld(chunk: PatchChunk, old: readonly string[], search: Search): number | PlacementProblem {
  const { index, from } = search;
  if (chunk.at_end === true) {
    const at = index.length - old.length;
    const fits = at >= from && passesOf(search).some(([pass]) => index.isAt(pass, old, at));
    return fits ? at : { problem: "missing", expected: old };
  }
  const { line_hint } = chunk;
  const hint = line_hint === undefined ? undefined : search.lineAt(line_hint) + search.drift;
  if (hint !== undefined && hint >= from) {
    if (index.isAt(0, old, hint) || (!search.strict && index.isAt(1, old, hint))) return hint;
  }
  for (const [pass, { loose }] of passesOf(search)) {
    // Loosely matching lines must be unique, and so must those of a diff without line numbers.
    const unsure = (loose || search.format === "unified") && chunk.anchors.length === 0;
    const found = placeInPass(old, { ...search, pass, hint, limit: unsure ? SEVERAL : 1 });
    if (found.length === 0) continue;
    if (found.length === 1) return found[0] ?? from;
    return { problem: "ambiguous", expected: old, places: found };
  }
  return { problem: index.exhausted ? "exhausted" : "missing", expected: old };
}

function passesOf({ strict }: Search): readonly (readonly [number, (typeof PASSES)[number]])[] {
  return [...PASSES.entries()].slice(0, strict ? 1 : undefined);
}

/** Enough to report that there are several, and where. */
const SEVERAL = 10;

function placeInPass(
  old: readonly string[],
  { index, from, pass, hint, limit }: Search & { pass: number; hint: number | undefined; limit: number },
): readonly number[] {
  if (hint === undefined) return index.find(pass, old, { from, limit });
  const nearest = index
    .find(pass, old, { from, limit: Infinity })
    .reduce<number | undefined>((best, at) => (best === undefined || closer(at, best, hint) ? at : best), undefined);
  return nearest === undefined ? [] : [nearest];
}

function closer(at: number, best: number, hint: number): boolean {
  return Math.abs(at - hint) < Math.abs(best - hint);
}

/** Empty lines between a chunk and the next part of the patch look like context. */
function withoutEmptyEnd(lines: readonly string[]): readonly string[] {
  const last = lines.findLastIndex((line) => line !== "");
  return last < 0 ? lines : lines.slice(0, last + 1);
}

function firstOf<Item, Value>(items: Iterable<Item>, tell: (item: Item) => Value | undefined): Value | undefined {
  for (const item of items) {
    const value = tell(item);
    if (value !== undefined) return value;
  }
  return undefined;
}
