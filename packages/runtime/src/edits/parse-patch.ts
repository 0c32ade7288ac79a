import { ToolError } from "../protocol/errors.ts";
import { BEGIN, parseEnvelope } from "./parse-envelope.ts";
import { parseUnified } from "./parse-unified.ts";
import { PatchReader } from "./patch.ts";
import type { PatchChange } from "./patch.ts";

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
    if (!isEnvelope) throw new PatchReader(reader.lines, 0).fail(`"${BEGIN}", or the patch a unified diff`);
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
