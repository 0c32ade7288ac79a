import { compareLines } from "./compare-lines.ts";
import type { Change, Span } from "./compare-lines.ts";
import { splitAtLineFeeds } from "./text-lines.ts";
import { quoteName } from "./patch-names.ts";

const CONTEXT = 3;
/**
 * The unified diff of two texts; empty if they are equal. Undefined: the file does not exist. Lines are split at LF; a
 * CR is kept in the diff.
 */
export async function unifiedDiff(
  path: string,
  before: string | undefined,
  after: string | undefined,
): Promise<string> {
  if (before === after) return "";
  const [old, renamed] = [quoteName(`a/${path}`), quoteName(`b/${path}`)];
  const names = `--- ${before === undefined ? "/dev/null" : old}\n+++ ${after === undefined ? "/dev/null" : renamed}\n`;
  const hunks = await makeHunks(before ?? "", after ?? "");
  if (hunks !== "") return names + hunks;
  // An empty file appears or disappears: only Git has a format for that.
  return `diff --git ${old} ${renamed}\n${before === undefined ? "new" : "deleted"} file mode 100644\n`;
}

async function makeHunks(before: string, after: string): Promise<string> {
  const { start, oldEnd, newEnd } = differingRegion(before, after);
  const lineOffset = countLineFeeds(before, start);
  const oldLines = linesOf(before.slice(start, oldEnd));
  const newLines = linesOf(after.slice(start, newEnd));
  const changes = await compareLines(oldLines, newLines);
  const parts: string[] = [];
  for (const group of groupChanges(changes)) parts.push(formatHunk(group, { oldLines, newLines, lineOffset }));
  return parts.join("");
}

/** The texts without their common first and last lines, except for the lines shown as context. */
function differingRegion(before: string, after: string): { start: number; oldEnd: number; newEnd: number } {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before.charCodeAt(head) === after.charCodeAt(head)) head++;
  let start = head;
  for (let lines = 0; lines <= CONTEXT && start > 0; lines++) start = lineStartBefore(before, start);
  let tail = 0;
  while (
    tail < shorter - head &&
    before.charCodeAt(before.length - 1 - tail) === after.charCodeAt(after.length - 1 - tail)
  )
    tail++;
  let end = before.length - tail;
  for (let lines = 0; lines <= CONTEXT && end < before.length; lines++) {
    const next = before.indexOf("\n", end);
    end = next < 0 ? before.length : next + 1;
  }
  return { start, oldEnd: end, newEnd: after.length - (before.length - end) };
}

function lineStartBefore(text: string, at: number): number {
  return at < 2 ? 0 : text.lastIndexOf("\n", at - 2) + 1;
}

/** Each with its LF, so that a last line without LF differs from one with it. */
function linesOf(text: string): string[] {
  const { texts, ends } = splitAtLineFeeds(text);
  return texts.map((line, index) => line + (ends[index] ?? ""));
}

function countLineFeeds(text: string, end: number): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0 && at < end; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

/** Changes with touching context are shown together. */
function groupChanges(changes: readonly Change[]): readonly (readonly Change[])[] {
  const groups: Change[][] = [];
  for (const change of changes) {
    const group = groups.at(-1);
    const end = group?.at(-1)?.old.to;
    if (group !== undefined && end !== undefined && change.old.from - end <= 2 * CONTEXT) group.push(change);
    else groups.push([change]);
  }
  return groups;
}

interface Region {
  readonly oldLines: readonly string[];
  readonly newLines: readonly string[];
  /** Number of lines before the region, in both texts. */
  readonly lineOffset: number;
}

function formatHunk(group: readonly Change[], { oldLines, newLines, lineOffset }: Region): string {
  const [first, last] = [group[0], group.at(-1)];
  if (first === undefined || last === undefined) return "";
  const lead = Math.min(CONTEXT, first.old.from);
  const trail = Math.min(CONTEXT, oldLines.length - last.old.to);
  const old = { from: first.old.from - lead, to: last.old.to + trail };
  const added = { from: first.new.from - lead, to: last.new.to + trail };
  const body: string[] = [];
  let at = old.from;
  for (const change of group) {
    body.push(...oldLines.slice(at, change.old.from).map((line) => formatLine(" ", line)));
    for (let index = change.old.from; index < change.old.to; index++) body.push(formatLine("-", oldLines[index] ?? ""));
    for (let index = change.new.from; index < change.new.to; index++) body.push(formatLine("+", newLines[index] ?? ""));
    at = change.old.to;
  }
  body.push(...oldLines.slice(at, old.to).map((line) => formatLine(" ", line)));
  return `@@ -${formatSpan(old, lineOffset)} +${formatSpan(added, lineOffset)} @@\n${body.join("")}`;
}

/** `3,2` for lines 3 and 4, `3` for line 3; with no lines, the number of the line before. */
function formatSpan({ from, to }: Span, lineOffset: number): string {
  const start = lineOffset + from + (to > from ? 1 : 0);
  return to - from === 1 ? String(start) : `${start},${to - from}`;
}

function formatLine(sign: string, line: string): string {
  return line.endsWith("\n") ? sign + line : `${sign}${line}\n\\ No newline at end of file\n`;
}
