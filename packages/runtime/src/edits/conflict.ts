import { ToolError } from "../protocol/errors.ts";
import { excerptLines, quoteLines, sayLines, sayRange } from "./lines.ts";
import { nearestPassage } from "./nearest.ts";
import type { PatchChunk } from "./patch.ts";
import type { Unplaced } from "./place-chunk.ts";

/** A chunk that does not fit anywhere in a file. */
export interface Misfit extends Unplaced {
  readonly chunk: PatchChunk;
  /** Number of the chunk within the file, from 1. */
  readonly number: number;
  /** Earlier lines of the file belong to earlier chunks. */
  readonly from: number;
  /** Where the chunk would fit above that line. */
  readonly earlier: number | undefined;
}

/** The error for a chunk that does not fit: what it expects, and what the file has instead. */
export function makeConflict(misfit: Misfit, { path, before }: { path: string; before: string }): ToolError {
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

const PROBLEMS: Readonly<Record<Unplaced["problem"], (misfit: Misfit) => string>> = {
  missing: ({ expected, from, earlier }) =>
    earlier === undefined
      ? `expects lines that are not in the file${from === 0 ? "" : ` after line ${from}`}:\n${quote(expected)}`
      : `expects lines that are at line ${earlier + 1}, above the previous chunk; order chunks from top to bottom`,
  anchor: ({ expected, from }) =>
    `begins with "@@" and a line that is not in the file${from === 0 ? "" : ` after line ${from}`}:\n${quote(expected)}`,
  ambiguous: ({ places = [], expected }) =>
    `fits at ${sayLines(places.map((at) => at + 1))}; add context or a line number to choose one:\n${quote(expected)}`,
  number: ({ from }) =>
    `adds lines at a line number that the file does not have${from === 0 ? "" : `, or that is before line ${from}, where the previous chunk ends`}`,
  exhausted: () => "could not be placed in reasonable time: its lines, or parts of them, are in too many places",
};

function quote(lines: readonly string[]): string {
  return quoteLines(excerptLines(lines));
}

function sayNearest({ start_line, end_line, text }: { start_line: number; end_line: number; text: string }): string {
  return `\nNearest is ${sayRange(start_line, end_line)}:\n${quoteLines(text)}`;
}
