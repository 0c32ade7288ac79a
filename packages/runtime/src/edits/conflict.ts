import { ToolError } from "../protocol/errors.ts";
import { excerptLines, quoteLines, sayLines, sayRange } from "./lines.ts";
import { nearestPassage } from "./nearest.ts";
import type { PatchChunk } from "./patch.ts";
import type { Unplaced } from "./place-chunk.ts";

/** A chunk that has no place in a file. */
export interface Misfit extends Unplaced {
  readonly chunk: PatchChunk;
  /** Which chunk of the file it is, from 1. */
  readonly number: number;
  /** Lines of the file before this one are taken by the chunks before it. */
  readonly from: number;
  /** Where the chunk would fit if that were not so. */
  readonly earlier: number | undefined;
}

/** The error for a chunk that does not fit: what it expects, and what is there instead. */
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
      ? `expects lines that are not ${from === 0 ? "there" : `in the file after line ${from}`}:\n${quote(expected)}`
      : `expects lines that stand at line ${earlier + 1}, above the chunk before it; chunks go from top to bottom`,
  anchor: ({ expected, from }) =>
    `begins with "@@" and a line that is not ${from === 0 ? "there" : `in the file after line ${from}`}:\n${quote(expected)}`,
  ambiguous: ({ places = [], expected }) =>
    `fits at ${sayLines(places.map((at) => at + 1))}; more context or a line number would tell which:\n${quote(expected)}`,
  number: ({ from }) =>
    `adds lines at a line number that the file does not have${from === 0 ? "" : `, or that lies before line ${from}, where the chunk before it ends`}`,
  exhausted: () => "could not be placed in reasonable time: its lines, or parts of them, are in too many places",
};

function quote(lines: readonly string[]): string {
  return quoteLines(excerptLines(lines));
}

function sayNearest({ start_line, end_line, text }: { start_line: number; end_line: number; text: string }): string {
  return `\nNearest is ${sayRange(start_line, end_line)}:\n${quoteLines(text)}`;
}
