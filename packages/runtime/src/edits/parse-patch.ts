import { ToolError } from "../protocol/errors.ts";
import { parseUnified } from "./parse-unified.ts";
import { PatchReader, readChunkHeader } from "./patch.ts";
import type { PatchChange, PatchChunk } from "./patch.ts";

export type { PatchChange } from "./patch.ts";

/**
 * Reads a patch: the `*** Begin Patch` envelope or a unified diff, bare or in a code fence or here-document. Throws
 * only `InvalidArguments`, with the line of the patch and what was expected there.
 */
export function parsePatch(patchText: string): readonly PatchChange[] {
  const reader = unwrap(patchText);
  const isEnvelope = reader.peek().trim() === BEGIN;
  if (!isEnvelope && reader.lines.some((line) => line.trimEnd() === BEGIN)) throw reader.fail(`"${BEGIN}"`);
  const changes = isEnvelope ? parseEnvelope(reader) : parseUnified(reader);
  if (changes.length === 0) {
    if (!isEnvelope) throw new PatchReader(reader.lines, 0).fail(`"${BEGIN}" or the start of a unified diff`);
    throw new ToolError("InvalidArguments", "Cannot apply the patch: it names no file", { field: "patch_text" });
  }
  return checkPaths(changes.map(withoutEmptyMove));
}

/** Removes what people and models put around a patch: empty lines, a code fence, a here-document. */
function unwrap(patchText: string): PatchReader {
  const text = patchText.startsWith("\ufeff") ? patchText.slice(1) : patchText;
  let lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  let start = firstLine(lines, 0);
  // A patch with CRLF line ends has them in its headers too. CR in other lines only is part of the text.
  if (lines[start]?.endsWith("\r") === true)
    lines = lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
  let end = lines.length;
  for (let wrapped = true; wrapped;) {
    const closing = closingOf(lines[start] ?? "");
    const last = lastLine(lines, end);
    wrapped = closing !== undefined && last > start && lines[last]?.trim() === closing;
    if (!wrapped) break;
    end = last;
    start = firstLine(lines, start + 1);
  }
  return new PatchReader(lines.slice(start, end), start);
}

/** The closing line for this opening line. */
function closingOf(line: string): string | undefined {
  if (/^\s*```[\w-]*\s*$/.test(line)) return "```";
  return /^\s*(?:(?:cat|apply_patch|applypatch)\s+)?<<-?\s*(["']?)(\w+)\1\s*$/.exec(line)?.[2];
}

function firstLine(lines: readonly string[], from: number): number {
  let at = from;
  while (at < lines.length && lines[at]?.trim() === "") at++;
  return at;
}

function lastLine(lines: readonly string[], end: number): number {
  let at = end - 1;
  while (at > 0 && lines[at]?.trim() === "") at--;
  return at;
}

function withoutEmptyMove(change: PatchChange): PatchChange {
  if (change.kind !== "update" || change.move_to === undefined || keyOf(change.move_to) !== keyOf(change.path))
    return change;
  const { move_to: _same, ...rest } = change;
  return rest;
}

/** One operation per path: the result of two would depend on their order. */
function checkPaths(changes: readonly PatchChange[]): readonly PatchChange[] {
  const seen = new Set<string>();
  for (const change of changes) {
    const paths =
      change.kind === "update" && change.move_to !== undefined ? [change.path, change.move_to] : [change.path];
    for (const path of paths) {
      if (seen.has(keyOf(path))) {
        const message = `Cannot apply the patch: it names "${path}" twice; put all changes of a file into one section`;
        throw new ToolError("InvalidArguments", message, { field: "patch_text", path });
      }
      seen.add(keyOf(path));
    }
    if (change.kind === "update" && change.move_to === undefined && !change.chunks.some(hasEffect)) {
      const message = `Cannot apply the patch: its section for "${change.path}" has no line that starts with "+" or "-"`;
      throw new ToolError("InvalidArguments", message, { field: "patch_text", path: change.path });
    }
  }
  return changes;
}

function hasEffect({ lines }: { readonly lines: readonly string[] }): boolean {
  return lines.some((line) => line.startsWith("+") || line.startsWith("-"));
}

/** Normalizes obviously equal spellings of a path. */
function keyOf(path: string): string {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  return path.startsWith("/") ? `/${parts.join("/")}` : parts.join("/");
}

const BEGIN = "*** Begin Patch";
const END = "*** End Patch";
const ENVIRONMENT = "*** Environment ID:";
const ADD = "*** Add File:";
const DELETE = "*** Delete File:";
const UPDATE = "*** Update File:";
const MOVE = "*** Move to:";
const END_OF_FILE = "*** End of File";
const HEADERS = `"${ADD} …", "${UPDATE} …", "${DELETE} …" or "${END}"`;

/**
 * Reads the text between `*** Begin Patch` and `*** End Patch`. Markers may be indented; inside a chunk a leading space
 * makes them context.
 */
function parseEnvelope(reader: PatchReader): PatchChange[] {
  const end = findEnd(reader);
  reader.next();
  skipEnvironment(reader);
  const changes: PatchChange[] = [];
  for (skipEmpty(reader); reader.at < end; skipEmpty(reader)) changes.push(parseChange(reader, end));
  if (reader.at > end) throw reader.fail(`"${END}"`);
  return changes;
}

/** The last non-empty line. It may be indented even where it would otherwise be context. */
function findEnd(reader: PatchReader): number {
  let last = reader.lines.length - 1;
  while (last > 0 && reader.lines[last]?.trim() === "") last--;
  if (reader.lines[last]?.trim() === END) return last;
  const line = reader.line + last - reader.at;
  const early = reader.lines.some((text) => text.trimEnd() === END);
  throw early ? reader.fail(`the end of the patch, after "${END}"`, line) : reader.fail(`"${END}"`, line + 1);
}

function skipEnvironment(reader: PatchReader): void {
  const line = reader.peek().trim();
  if (!line.startsWith(ENVIRONMENT)) return;
  if (line === ENVIRONMENT) throw reader.fail(`"${ENVIRONMENT}" and a name`);
  reader.next();
}

function skipEmpty(reader: PatchReader): void {
  while (!reader.done && reader.peek().trim() === "") reader.next();
}

function parseChange(reader: PatchReader, end: number): PatchChange {
  const line = reader.peek().trim();
  if (line.startsWith(ADD)) return parseAdd(reader, end);
  if (line.startsWith(DELETE)) return { kind: "delete", path: takePath(reader, DELETE), chunks: [] };
  if (line.startsWith(UPDATE)) return parseUpdate(reader, end);
  throw reader.fail(HEADERS);
}

function takePath(reader: PatchReader, marker: string): string {
  const path = reader.peek().trim().slice(marker.length).trim();
  if (path === "" || path.includes("\0")) throw reader.fail(`"${marker}" and a path`);
  reader.next();
  return path;
}

function parseAdd(reader: PatchReader, end: number): PatchChange {
  const path = takePath(reader, ADD);
  const lines: string[] = [];
  while (reader.at < end && reader.peek().startsWith("+")) lines.push(`${reader.next().slice(1)}\n`);
  skipEmpty(reader);
  if (reader.at < end && !reader.peek().trimStart().startsWith("***")) {
    throw reader.fail(`a line of "${path}" that starts with "+", or ${HEADERS}`);
  }
  return { kind: "add", path, content: lines.join("") };
}

function parseUpdate(reader: PatchReader, end: number): PatchChange {
  const { line } = reader;
  const path = takePath(reader, UPDATE);
  const moves = reader.peek().trim().startsWith(MOVE);
  const move_to = moves ? takePath(reader, MOVE) : undefined;
  const chunks: PatchChunk[] = [];
  for (skipEmpty(reader); reader.at < end && !isMarker(reader.peek()); skipEmpty(reader)) {
    chunks.push(parseChunk(reader, { end, first: chunks.length === 0 }));
  }
  if (chunks.length === 0) throw reader.fail(`followed by at least one "@@" and lines that change "${path}"`, line);
  return { kind: "update", path, ...(move_to === undefined ? {} : { move_to }), chunks, format: "envelope" };
}

/** Inside a chunk a marker must be at the start of the line. */
function isMarker(line: string): boolean {
  return line.startsWith("***");
}

function parseChunk(reader: PatchReader, { end, first }: { end: number; first: boolean }): PatchChunk {
  const patch_line = reader.line;
  const anchors: string[] = [];
  let line_hint: number | undefined;
  while (reader.peek().startsWith("@@")) {
    const header = readChunkHeader(reader);
    line_hint = header.line_hint;
    if (header.anchor === undefined) break;
    anchors.push(header.anchor);
  }
  if (patch_line === reader.line && !first) throw reader.fail(`"@@", or ${HEADERS}`);
  const lines = takeLines(reader, end);
  const at_end = reader.at < end && reader.peek().trimEnd() === END_OF_FILE;
  if (lines.length === 0) throw reader.fail(LINE);
  if (at_end) reader.next();
  const hint = line_hint === undefined ? {} : { line_hint };
  return { patch_line, anchors, ...hint, lines, ...(at_end ? { at_end: true } : {}) };
}

const LINE = 'a line that starts with " " (context), "-" (old) or "+" (new)';

function takeLines(reader: PatchReader, end: number): string[] {
  const lines: string[] = [];
  while (reader.at < end) {
    const line = reader.peek();
    if (line.startsWith("@@") || isMarker(line)) break;
    if (line !== "" && !/^[-+ \\]/.test(line)) throw reader.fail(LINE);
    lines.push(reader.next());
  }
  return lines;
}
