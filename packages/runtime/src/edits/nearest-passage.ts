import { excerptLines } from "./text-lines.ts";

/** A passage of a text that is similar to the searched one. Lines are numbered from 1. */
export interface Passage {
  readonly start_line: number;
  readonly end_line: number;
  readonly text: string;
  /** It differs only in white space. */
  readonly only_space: boolean;
}

/** Time limits for computing a hint: lines of the text, of the passage, and characters per line. */
const MAX_TEXT_LINES = 200_000;
const MAX_PASSAGE_LINES = 100;
const MAX_WIDTH = 400;
/** Maximum number of compared characters. */
const MAX_COMPARED = 4_000_000;
/** A line that occurs more often than this in the passage says little about its position. */
const MAX_PLACES = 4;
const ALIKE = 0.55;

/** The passage of `text` most similar to `wanted`; undefined if none is. Takes bounded time, so it may miss one. */
export function nearestPassage(text: string, wanted: string): Passage | undefined {
  const lines = text.split("\n", MAX_TEXT_LINES);
  const passage = wanted.split("\n", MAX_PASSAGE_LINES);
  if (passage.length > 1 && passage.at(-1)?.trim() === "") passage.pop();
  const start = startByEqualLines(lines, passage) ?? startByLikeness(lines, passage);
  if (start === undefined) return undefined;
  const first = Math.max(0, start);
  const end = Math.max(first + 1, Math.min(lines.length, start + passage.length));
  const found = lines.slice(first, end).map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
  const shown = excerptLines(found);
  const only_space = start === first && isOnlySpaceApart(found, passage);
  return { start_line: first + 1, end_line: end, text: shown, only_space };
}

/** Each common line votes for a start of the passage; longer lines count more. */
function startByEqualLines(lines: readonly string[], passage: readonly string[]): number | undefined {
  const places = new Map<string, number[]>();
  for (const [index, line] of passage.entries()) {
    const key = keyOf(line);
    const known = places.get(key);
    if (key === "" || (known !== undefined && known.length >= MAX_PLACES)) continue;
    if (known === undefined) places.set(key, [index]);
    else known.push(index);
  }
  const votes = new Map<number, number>();
  let best: number | undefined;
  for (const [index, line] of lines.entries()) {
    const key = keyOf(line);
    for (const place of places.get(key) ?? []) {
      const start = index - place;
      const weight = (votes.get(start) ?? 0) + Math.min(key.length, 40);
      votes.set(start, weight);
      if (weight > (best === undefined ? 0 : (votes.get(best) ?? 0))) best = start;
    }
  }
  // A single brace or keyword is not enough.
  return best !== undefined && (votes.get(best) ?? 0) >= Math.min(MIN_WEIGHT, longest(passage)) ? best : undefined;
}

const MIN_WEIGHT = 8;

function longest(passage: readonly string[]): number {
  return Math.max(...passage.map((line) => keyOf(line).length));
}

/** The line that shares the most character pairs with the passage's longest line. */
function startByLikeness(lines: readonly string[], passage: readonly string[]): number | undefined {
  const keys = passage.map(keyOf);
  const place = keys.reduce((best, key, index) => (key.length > (keys[best] ?? "").length ? index : best), 0);
  const likeness = likenessTo(keys[place] ?? "");
  let best = ALIKE;
  let start: number | undefined;
  let compared = 0;
  for (const [index, line] of lines.entries()) {
    const key = keyOf(line);
    compared += key.length;
    if (compared > MAX_COMPARED) break;
    const score = likeness(key);
    if (score <= best) continue;
    best = score;
    start = index - place;
  }
  return start;
}

/**
 * Mostly the share of the wanted line that was found, so that part of a line matches too, and a little the rest of the
 * line.
 */
function likenessTo(wanted: string): (line: string) => number {
  const pairs = new Map<string, { readonly count: number; turn: number; left: number }>();
  for (let at = 1; at < wanted.length; at++) {
    const pair = wanted.slice(at - 1, at + 1);
    pairs.set(pair, { count: (pairs.get(pair)?.count ?? 0) + 1, turn: 0, left: 0 });
  }
  let turn = 0;
  return (line) => {
    turn++;
    let shared = 0;
    for (let at = 1; at < line.length; at++) {
      const pair = pairs.get(line.slice(at - 1, at + 1));
      if (pair === undefined) continue;
      if (pair.turn !== turn) [pair.turn, pair.left] = [turn, pair.count];
      if (pair.left-- > 0) shared++;
    }
    if (shared === 0) return 0;
    return (0.75 * shared) / (wanted.length - 1) + (0.5 * shared) / (wanted.length + line.length);
  };
}

/** The beginning of a line, with white space normalized. */
function keyOf(line: string): string {
  return line.slice(0, MAX_WIDTH).trim().replace(/\s+/g, " ");
}

function isOnlySpaceApart(found: readonly string[], passage: readonly string[]): boolean {
  if ([...found, ...passage].some((line) => line.length > MAX_WIDTH)) return false;
  const [left, right] = [found, passage].map((lines) => lines.map((line) => line.replace(/\s+/g, "")).join(""));
  return left === right;
}
