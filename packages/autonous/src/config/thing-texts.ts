import { hash } from "node:crypto";
import { closeSync, fstatSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { NotAFileError, openOwnFile } from "@autonous/runtime/internal";
import type { Texts, TrustItem, TrustItemFile } from "./trust-store.ts";

/** Size limit of the stored texts, which serve to show later changes; instructions and scripts are shorter. */
const MAX_FILE_BYTES = 131_072;
const MAX_BYTES = 524_288;

/** The texts of a thing's files, by their paths. Skips files that are too long, not UTF-8, or changed since they were hashed. */
export function readTexts({ kind, path, files }: Pick<TrustItem, "kind" | "path" | "files">): Texts {
  const folder = kind === "skill" ? path : dirname(path); // a module's files are relative to its main file
  const texts: Record<string, string> = {};
  let left = MAX_BYTES;
  for (const file of files) {
    const text = readText(resolve(folder, file.path), file, Math.min(left, MAX_FILE_BYTES));
    if (text === undefined) continue;
    texts[file.path] = text;
    left -= Buffer.byteLength(text);
  }
  return texts;
}

function readText(path: string, { sha256 }: TrustItemFile, limit_bytes: number): string | undefined {
  let file: number;
  try {
    file = openOwnFile(path);
  } catch (error) {
    // Changed since it was hashed: deleted, no longer a file, or unreadable.
    if (error instanceof NotAFileError || "syscall" in (error as Error)) return undefined;
    throw error;
  }
  try {
    if (fstatSync(file).size > limit_bytes) return undefined;
    const bytes = readFileSync(file);
    return hash("sha256", bytes) === sha256 ? decode(bytes) : undefined;
  } finally {
    closeSync(file);
  }
}

function decode(bytes: Buffer): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined; // not valid UTF-8
  }
}
