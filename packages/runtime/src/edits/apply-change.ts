import { ToolError } from "../protocol/errors.ts";
import { LineIndex } from "./line-index.ts";
import { splitAtLineFeeds, splitLines, excerptLines, quoteLines, describeLines, describeRange } from "./text-lines.ts";
import type { Lines } from "./text-lines.ts";
import type { PatchAdd, PatchChange, PatchDelete, PatchUpdate, PatchChunk } from "./patch.ts";
import { contentOf, placeChunk } from "./place-chunk.ts";
import type { ChunkPlace, PlacementProblem } from "./place-chunk.ts";
import { nearestPassage } from "./nearest-passage.ts";

/**
 * Applies a change to a file's text; undefined if it deletes the file. `before` is undefined if the file does not
 * exist. Context lines and everything between chunks stay unchanged, byte for byte. Throws `PatchConflict` if the patch
 * does not fit, `NotFound` if the file to update or delete does not exist.
 */
export function applyChange(change: PatchAdd | PatchUpdate, before: string | undefined): string;
export function applyChange(change: PatchDelete, before: string | undefined): undefined;
export function applyChange(change: PatchChange, before: string | undefined): string | undefined;
export function applyChange(change: PatchChange, before: string | undefined): string | undefined {
  if (change.kind === "add") return change.content;
  if (before === undefined) {
    const message = `Cannot ${change.kind} "${change.path}": the file does not exist`;
    throw new ToolError("NotFound", message, { path: change.path });
  }
  if (change.kind === "update") return update(change, before);
  checkDelete(change, before);
  return undefined;
}

/** A diff that deletes a file shows the deleted content: the file must not contain anything else. */
function checkDelete({ path, chunks }: PatchDelete, before: string): void {
  if (chunks.length === 0) return;
  if (update({ kind: "update", path, chunks, format: "unified" }, before) === "") return;
  const message = `Cannot delete "${path}": its content differs from what the patch deletes`;
  throw new ToolError("PatchConflict", message, { path, patch_line: chunks[0]?.patch_line });
}

function update(change: PatchUpdate, before: string): string {
  const hasReturns = change.chunks.some(({ lines }) => lines.some((line) => line.includes("\r")));
  if (change.format === "unified" && hasReturns) {
    // If the diff contains CR and fits that way, lines are compared and written including CR.
    const lines = splitAtLineFeeds(before);
    const placed = placeAll(change, lines, { strict: true });
    if (!("problem" in placed)) return assemble(change, lines, placed);
  }
  const plain = hasReturns ? withoutReturns(change) : change;
  const lines = splitLines(before);
  const placed = placeAll(plain, lines, { strict: false });
  if (!("problem" in placed)) return assemble(plain, lines, placed);
  throw makeConflict(placed, { path: change.path, before });
}

/** Removes the CR from lines that must be in the file. Added lines keep theirs. */
function withoutReturns(change: PatchUpdate): PatchUpdate {
  const chunks = change.chunks.map((chunk) => ({
    ...chunk,
    lines: chunk.lines.map((line) => (line.endsWith("\r") && !line.startsWith("+") ? line.slice(0, -1) : line)),
  }));
  return { ...change, chunks };
}

/** Finds the place of every chunk, or the first chunk that has none. */
function placeAll(
  { chunks, format }: PatchUpdate,
  lines: Lines,
  { strict }: { strict: boolean },
): readonly ChunkPlace[] | ChunkProblem {
  const index = new LineIndex(lines.texts);
  const lineAt = makeLineAt(lines);
  const places: ChunkPlace[] = [];
  let from = 0;
  let drift = 0;
  for (const [number, chunk] of chunks.entries()) {
    const placed = placeChunk(chunk, { index, format, from, drift, strict, lineAt });
    if ("problem" in placed) {
      const earlier = from > 0 ? index.find(0, placed.expected, { from: 0, limit: 1 })[0] : undefined;
      return { ...placed, chunk, number: number + 1, from, earlier };
    }
    places.push(placed);
    // An addition at the end does not move the search position of later chunks.
    if (placed.at < index.length) from = placed.at + placed.old.length;
    if (chunk.line_hint !== undefined && placed.old.length > 0) drift = placed.at - lineAt(chunk.line_hint);
  }
  return places.sort((a, b) => a.at - b.at);
}

/** Diffs count lines by LF; if a lone CR ends lines too, the numbers differ. */
function makeLineAt({ texts, ends }: Lines): (hint: number) => number {
  if (!ends.includes("\r")) return (hint) => hint;
  const starts = [0];
  for (const [index, end] of ends.entries()) if (end.endsWith("\n")) starts.push(index + 1);
  return (hint) => starts[hint] ?? texts.length + (hint - starts.length);
}

function assemble({ format }: PatchUpdate, lines: Lines, places: readonly ChunkPlace[]): string {
  const result: Result = { texts: [], ends: [], open: false };
  let at = 0;
  for (const placed of places) {
    at = copyLines(result, lines, { from: at, to: placed.at });
    at = applyLines(result, lines, { placed, format });
  }
  copyLines(result, lines, { from: at, to: lines.texts.length });
  const { texts, ends } = result;
  const last = texts.length - 1;
  const usual = firstEnd(lines);
  const closes = format === "envelope" && !result.open;
  return texts.map((text, i) => text + (ends[i] === "" && (i < last || closes) ? usual : (ends[i] ?? ""))).join("");
}

interface Result {
  readonly texts: string[];
  readonly ends: string[];
  /** The patch says that the last line so far has no line end. */
  open: boolean;
}

function copyLines(result: Result, { texts, ends }: Lines, { from, to }: { from: number; to: number }): number {
  for (let at = from; at < to; at++) {
    result.texts.push(texts[at] ?? "");
    result.ends.push(ends[at] ?? "");
    result.open = false;
  }
  return to;
}

function applyLines(
  result: Result,
  lines: Lines,
  { placed, format }: { placed: ChunkPlace; format: PatchUpdate["format"] },
): number {
  let at = placed.at;
  let added = false;
  for (const line of placed.lines) {
    const sign = line === "" ? " " : line[0];
    if (sign === "\\") {
      if (added) [result.ends[result.ends.length - 1], result.open] = ["", true];
      continue;
    }
    added = sign === "+";
    if (sign === "-") at++;
    else if (sign === " ") at = copyLines(result, lines, { from: at, to: at + 1 });
    else addLine(result, contentOf(line), format === "envelope" ? firstEnd(lines) : endNear(lines, at));
  }
  return at;
}

function addLine(result: Result, text: string, end: string): void {
  const returns = text.endsWith("\r") && end !== "\n";
  result.texts.push(returns ? text.slice(0, -1) : text);
  result.ends.push(returns ? "\r\n" : end);
  result.open = false;
}

function firstEnd({ ends }: Lines): string {
  return ends[0] || "\n";
}

/** The line end before a position, else the one after it. */
function endNear({ ends }: Lines, at: number): string {
  return ends[at - 1] || ends[at - 2] || ends[at] || "\n";
}

/** A chunk that does not fit anywhere in a file. */
interface ChunkProblem extends PlacementProblem {
  readonly chunk: PatchChunk;
  /** Number of the chunk within the file, from 1. */
  readonly number: number;
  /** Earlier lines of the file belong to earlier chunks. */
  readonly from: number;
  /** Where the chunk would fit above that line. */
  readonly earlier: number | undefined;
}

/** The error for a chunk that does not fit: what it expects, and what the file has instead. */
function makeConflict(misfit: ChunkProblem, { path, before }: { path: string; before: string }): ToolError {
  const { chunk, number, expected, problem } = misfit;
  const start = `Cannot apply the patch to "${path}": chunk ${number} (line ${chunk.patch_line} of the patch)`;
  const isElsewhere = misfit.earlier !== undefined || (problem !== "missing" && problem !== "anchor");
  const nearest = isElsewhere ? undefined : nearestPassage(before, expected.join("\n"));
  const found = nearest && { start_line: nearest.start_line, end_line: nearest.end_line, text: nearest.text };
  const details = {
    path,
    chunk: number,
    patch_line: chunk.patch_line,
    ...(expected.length === 0 ? {} : { expected: excerptLines(expected) }),
    ...(misfit.places === undefined ? {} : { lines: misfit.places.map((at) => at + 1) }),
    ...(found && { nearest: found }),
    ...(problem === "exhausted" ? { hint: "Make several smaller patches, with more context in each chunk." } : {}),
  };
  const message = `${start} ${PROBLEMS[problem](misfit)}${found === undefined ? "" : sayNearest(found)}`;
  return new ToolError("PatchConflict", message, details);
}

const PROBLEMS: Readonly<Record<PlacementProblem["problem"], (misfit: ChunkProblem) => string>> = {
  missing: ({ expected, from, earlier }) =>
    earlier === undefined
      ? `expects lines that are not in the file${from === 0 ? "" : ` after line ${from}`}:\n${quote(expected)}`
      : `expects lines that are at line ${earlier + 1}, above the previous chunk; order chunks from top to bottom`,
  anchor: ({ expected, from }) =>
    `begins with "@@" and a line that is not in the file${from === 0 ? "" : ` after line ${from}`}:\n${quote(expected)}`,
  ambiguous: ({ places = [], expected }) =>
    `fits at ${describeLines(places.map((at) => at + 1))}; add context or a line number to choose one:\n${quote(expected)}`,
  number: ({ from }) =>
    `adds lines at a line number that the file does not have${from === 0 ? "" : `, or that is before line ${from}, where the previous chunk ends`}`,
  exhausted: () => "could not be placed in reasonable time: its lines, or parts of them, are in too many places",
};

function quote(lines: readonly string[]): string {
  return quoteLines(excerptLines(lines));
}

function sayNearest({ start_line, end_line, text }: { start_line: number; end_line: number; text: string }): string {
  return `\nNearest is ${describeRange(start_line, end_line)}:\n${quoteLines(text)}`;
}
