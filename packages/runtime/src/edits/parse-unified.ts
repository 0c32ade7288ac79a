import { readChunkHeader } from "./patch.ts";
import type { PatchChange, PatchChunk, PatchReader } from "./patch.ts";
import { NOTHING, readGitNames, stripPrefixes, takeName } from "./patch-names.ts";

/** Reads a unified diff of one or more files, as written by `diff -u` and Git. Text around the files is skipped. */
export function parseUnified(reader: PatchReader): PatchChange[] {
  const changes: PatchChange[] = [];
  while (!reader.done) {
    const line = reader.peek();
    if (line.startsWith("diff --git ") || isFileHeader(reader.lines, reader.at)) changes.push(parseFile(reader));
    else if (/^From \S/.test(line)) skipMail(reader);
    else if (BINARY.test(line)) throw reader.fail("part of a patch of text: binary patches cannot be applied");
    else if (/^(?:@@|\+|-(?!-( ?|-)$))/.test(line)) throw reader.fail(FILE_HEADER);
    else reader.next();
  }
  return changes;
}

const FILE_HEADER = '"--- " and the old path, with "+++ " and the new path on the line after it';
const BINARY = /^(?:GIT binary patch|Binary files .* differ)/;

/** The text of a mail can look like anything. */
function skipMail(reader: PatchReader): void {
  while (!reader.done && !reader.peek().startsWith("diff --git ")) reader.next();
}

/** A removed line can look like a header, so both header lines are required. */
function isFileHeader(lines: readonly string[], at: number): boolean {
  return lines[at]?.startsWith("--- ") === true && lines[at + 1]?.startsWith("+++ ") === true;
}

/** The file facts from the lines before the chunks. */
interface Header {
  readonly line: number;
  old?: string;
  new?: string;
  from?: string;
  to?: string;
  added?: boolean;
  deleted?: boolean;
}

function parseFile(reader: PatchReader): PatchChange {
  const { line } = reader;
  const header: Header = { line };
  if (reader.peek().startsWith("diff --git ")) parseGitHeader(reader, header);
  if (isFileHeader(reader.lines, reader.at)) {
    header.old = takeName(reader, "--- ");
    header.new = takeName(reader, "+++ ");
  }
  const chunks: PatchChunk[] = [];
  while (reader.peek().startsWith("@@")) chunks.push(parseHunk(reader));
  if (BINARY.test(reader.peek())) throw reader.fail("part of a patch of text: binary patches cannot be applied");
  return toChange(reader, header, chunks);
}

/** The lines that Git writes between `diff --git` and the names, and their handlers. */
const GIT_LINES: readonly (readonly [string, (header: Header, reader: PatchReader, marker: string) => void])[] = [
  ["rename from ", (header, reader, marker) => (header.from = takeName(reader, marker))],
  ["rename to ", (header, reader, marker) => (header.to = takeName(reader, marker))],
  ["new file mode ", (header, reader) => void (takeMode(reader), (header.added = true))],
  ["deleted file mode ", (header, reader) => void (takeMode(reader), (header.deleted = true))],
  ["old mode ", (_, reader) => takeMode(reader)],
  ["new mode ", (_, reader) => takeMode(reader)],
  ["index ", (_, reader) => takeMode(reader)],
  ["similarity index ", (_, reader) => void reader.next()],
  ["dissimilarity index ", (_, reader) => void reader.next()],
  ["copy ", (_, reader) => refuse(reader, "not a copy: add the new file with its full content instead")],
];

function parseGitHeader(reader: PatchReader, header: Header): void {
  const names = readGitNames(reader);
  if (names !== undefined) [header.old, header.new] = [names.old, names.new];
  reader.next();
  for (;;) {
    const line = reader.peek();
    const row = GIT_LINES.find(([marker]) => line.startsWith(marker));
    if (row === undefined) return;
    row[1](header, reader, row[0]);
  }
}

function refuse(reader: PatchReader, expected: string): never {
  throw reader.fail(expected);
}

/** A patch does not change modes; a link or a submodule is not text. */
function takeMode(reader: PatchReader): void {
  if (/ 1[26]0000$/.test(reader.peek().trimEnd()))
    refuse(reader, "the mode of a file: links and submodules cannot be patched");
  reader.next();
}

function toChange(reader: PatchReader, header: Header, chunks: readonly PatchChunk[]): PatchChange {
  const { line, from, to } = header;
  if (from !== undefined && to !== undefined) {
    return { kind: "update", path: from, move_to: to, chunks, format: "unified" };
  }
  if (header.old === undefined || header.new === undefined) throw reader.fail(`followed by ${FILE_HEADER}`, line);
  const names = stripPrefixes({ old: header.old, new: header.new });
  if (names.old === NOTHING || header.added === true) {
    if (names.new === NOTHING) throw reader.fail("the header of a file that has a path", line);
    return { kind: "add", path: names.new, content: contentOf(reader, chunks) };
  }
  if (names.new === NOTHING || header.deleted === true) return { kind: "delete", path: names.old, chunks };
  if (names.old !== names.new) {
    throw reader.fail(
      `the header of one file, not of "${names.old}" and "${names.new}" (a move is written as "diff --git", "rename from" and "rename to")`,
      line,
    );
  }
  if (chunks.length === 0) throw reader.fail(`followed by "@@" and lines that change "${names.new}"`, line);
  return { kind: "update", path: names.new, chunks, format: "unified" };
}

function contentOf(reader: PatchReader, chunks: readonly PatchChunk[]): string {
  const parts: string[] = [];
  for (const { lines, patch_line } of chunks) {
    for (const [index, line] of lines.entries()) {
      if (line.startsWith("+")) parts.push(line.slice(1), "\n");
      else if (line.startsWith("\\")) parts.pop();
      else if (line !== "") throw reader.fail('a line of a new file, which starts with "+"', patch_line + index + 1);
    }
  }
  return parts.join("");
}

function parseHunk(reader: PatchReader): PatchChunk {
  const patch_line = reader.line;
  const { anchor, line_hint, counts } = readChunkHeader(reader);
  const end = (counts && endByCounts(reader, counts)) ?? endByLines(reader);
  const lines = reader.lines.slice(reader.at, end);
  if (lines.length === 0) throw reader.fail(LINE);
  reader.at = end;
  const hint = line_hint === undefined ? {} : { line_hint };
  return { patch_line, anchors: anchor === undefined ? [] : [anchor], ...hint, lines };
}

const LINE = 'a line that starts with " " (context), "-" (old) or "+" (new)';

/** End of a hunk according to its counts; undefined if they do not match its lines. */
function endByCounts({ lines, at: start }: PatchReader, counts: { old: number; new: number }): number | undefined {
  let { old, new: added } = counts;
  let at = start;
  while (old > 0 || added > 0) {
    const line = lines[at++];
    const kind = line === "" ? " " : line?.[0];
    if (kind === " " || kind === "-") old--;
    if (kind === " " || kind === "+") added--;
    if (kind === undefined || !" -+\\".includes(kind) || old < 0 || added < 0) return undefined;
  }
  while (lines[at]?.startsWith("\\") === true) at++;
  const goesOn = /^[-+ ]/.test(lines[at] ?? "") && !isFileHeader(lines, at) && !isSignature(lines, at);
  return goesOn ? undefined : at;
}

/** End of a hunk according to its lines: counts written by people and models are often wrong. */
function endByLines(reader: PatchReader): number {
  const { lines } = reader;
  let at = reader.at;
  for (; at < lines.length; at++) {
    const line = lines[at] ?? "";
    if (/^(?:@@|diff |Index: )/.test(line) || isFileHeader(lines, at) || isSignature(lines, at)) break;
    if (line !== "" && !/^[-+ \\]/.test(line)) throw reader.fail(LINE, reader.line + at - reader.at);
  }
  return at;
}

/** Mail from Git ends in `-- ` and a version. */
function isSignature(lines: readonly string[], at: number): boolean {
  return /^-- ?$/.test(lines[at] ?? "") && /^\d+\.\d/.test(lines[at + 1] ?? "");
}
