import { closeSync, constants, fstatSync, lstatSync, openSync, readSync } from "node:fs";
import { kindOf, openHandle, procPath, realPathOf } from "../system/handle.ts";
import { reasonOf } from "../../protocol/error-reason.ts";
import { isSystemError } from "../system/system-error.ts";

/** Why the file at this real path is withheld from the model, as a clause. */
export type JudgeNote = (real: string) => string | undefined;

export interface NoteFile {
  readonly real: string;
  /** The beginning of the file, at most `limit_bytes`. */
  readonly text: string;
  /** Size of the file. */
  readonly bytes: number;
  /** The file is longer than `text`. */
  readonly isCut: boolean;
}

export type ReadNote = NoteFile | { readonly why: string; readonly real?: string } | undefined;

/** Notes are written by hand, so a larger file is something else. */
const MAX_FILE_BYTES = 1_048_576;

/**
 * Reads the beginning of a file through a descriptor whose real path the kernel reported: the file that was checked is
 * the file that is read. Never blocks on a pipe or device. Undefined if nothing of that name exists.
 */
export function readNoteFile(path: string, judge: JudgeNote, limit_bytes: number): ReadNote {
  let handle: number;
  try {
    handle = openHandle(path);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    if (!isMissing(error)) return { why: `it cannot be opened (${reasonOf(error)})` };
    return isLink(path) ? { why: "it is a broken symbolic link" } : undefined;
  }
  try {
    const real = realPathOf(handle);
    const why = judge(real) ?? whyNotNotes(handle);
    return why === undefined ? { real, ...readText(handle, limit_bytes) } : { why, real };
  } finally {
    closeSync(handle);
  }
}

function isMissing(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "");
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  } catch (error) {
    if (isSystemError(error)) return false; // removed meanwhile, or below a file
    throw error;
  }
}

function whyNotNotes(handle: number): string | undefined {
  const stats = fstatSync(handle);
  const kind = kindOf(stats);
  if (kind !== "file") return kind === "directory" ? "it is a folder" : "it is not a regular file";
  return stats.size > MAX_FILE_BYTES ? `it is larger than ${MAX_FILE_BYTES / 1_048_576} MiB` : undefined;
}

function readText(handle: number, limit_bytes: number): Omit<NoteFile, "real"> | { readonly why: string } {
  let file: number;
  try {
    file = openSync(procPath(handle), constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch (error) {
    if (isSystemError(error)) return { why: `it cannot be opened (${reasonOf(error)})` };
    throw error;
  }
  try {
    const bytes = Buffer.alloc(limit_bytes);
    const length = readSync(file, bytes, 0, limit_bytes, 0);
    const { size } = fstatSync(file);
    const isCut = size > length;
    const text = decode(bytes.subarray(0, length), isCut);
    if (text === undefined) return { why: "it is not valid UTF-8" };
    return text.includes("\0") ? { why: "it contains NUL bytes" } : { text, bytes: size, isCut };
  } catch (error) {
    if (isSystemError(error)) return { why: `it cannot be read (${reasonOf(error)})` };
    throw error;
  } finally {
    closeSync(file);
  }
}

/** Drops a character that the limit splits. Undefined for invalid UTF-8. */
function decode(bytes: Buffer, isCut: boolean): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: isCut });
  } catch {
    return undefined; // a fatal decoder throws only for invalid UTF-8
  }
}
