import { ToolError } from "../protocol/errors.ts";
import { makeConflict } from "./conflict.ts";
import type { Misfit } from "./conflict.ts";
import { LineIndex } from "./line-index.ts";
import { splitAtLineFeeds, splitLines } from "./lines.ts";
import type { Lines } from "./lines.ts";
import type { PatchAdd, PatchChange, PatchDelete, PatchUpdate } from "./patch.ts";
import { contentOf, placeChunk } from "./place-chunk.ts";
import type { Placed } from "./place-chunk.ts";

/**
 * What a change makes of a file's text; nothing where it deletes the file. `before` is undefined where there is no
 * file. Context lines and everything between chunks stay as they are, byte for byte. Throws `PatchConflict` where the
 * patch does not fit, `NotFound` where there is nothing to update or delete.
 */
export function applyChange(change: PatchAdd | PatchUpdate, before: string | undefined): string;
export function applyChange(change: PatchDelete, before: string | undefined): undefined;
export function applyChange(change: PatchChange, before: string | undefined): string | undefined;
export function applyChange(change: PatchChange, before: string | undefined): string | undefined {
  if (change.kind === "add") return change.content;
  if (before === undefined) {
    const message = `Cannot ${change.kind} "${change.path}": there is no such file`;
    throw new ToolError("NotFound", message, { path: change.path });
  }
  if (change.kind === "update") return update(change, before);
  checkDelete(change, before);
  return undefined;
}

/** A diff that deletes a file says what is lost: nothing else may be. */
function checkDelete({ path, chunks }: PatchDelete, before: string): void {
  if (chunks.length === 0) return;
  if (update({ kind: "update", path, chunks, format: "unified" }, before) === "") return;
  const message = `Cannot delete "${path}": it holds more than the patch says it does`;
  throw new ToolError("PatchConflict", message, { path, patch_line: chunks[0]?.patch_line });
}

function update(change: PatchUpdate, before: string): string {
  const hasReturns = change.chunks.some(({ lines }) => lines.some((line) => line.includes("\r")));
  if (change.format === "unified" && hasReturns) {
    // A diff that shows CR means it: lines are compared and written as they stand, where that fits.
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

/** Takes the CR from the ends of lines that have to be in the file. Those to be added keep theirs. */
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
): readonly Placed[] | Misfit {
  const index = new LineIndex(lines.texts);
  const lineAt = makeLineAt(lines);
  const places: Placed[] = [];
  let from = 0;
  let drift = 0;
  for (const [number, chunk] of chunks.entries()) {
    const placed = placeChunk(chunk, { index, format, from, drift, strict, lineAt });
    if ("problem" in placed) {
      const earlier = from > 0 ? index.find(0, placed.expected, { from: 0, limit: 1 })[0] : undefined;
      return { ...placed, chunk, number: number + 1, from, earlier };
    }
    places.push(placed);
    // What is added at the end leaves the file above it to the chunks that follow.
    if (placed.at < index.length) from = placed.at + placed.old.length;
    if (chunk.line_hint !== undefined && placed.old.length > 0) drift = placed.at - lineAt(chunk.line_hint);
  }
  return places.sort((a, b) => a.at - b.at);
}

/** Diffs count lines by LF; where a lone CR ends lines too, their numbers are others. */
function makeLineAt({ texts, ends }: Lines): (hint: number) => number {
  if (!ends.includes("\r")) return (hint) => hint;
  const starts = [0];
  for (const [index, end] of ends.entries()) if (end.endsWith("\n")) starts.push(index + 1);
  return (hint) => starts[hint] ?? texts.length + (hint - starts.length);
}

function assemble({ format }: PatchUpdate, lines: Lines, places: readonly Placed[]): string {
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
  { placed, format }: { placed: Placed; format: PatchUpdate["format"] },
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

/** The line end of the line before a place, else of the one after it. */
function endNear({ ends }: Lines, at: number): string {
  return ends[at - 1] || ends[at - 2] || ends[at] || "\n";
}
