import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import type { Stats } from "node:fs";
import { ToolError } from "../protocol/errors.ts";

/** Not a regular file, at the path of one of our own files. Reading it could block or never end. */
export class NotAFileError extends ToolError {
  /** A clause about the path: "it is a pipe, not a regular file". */
  readonly reason: string;

  constructor(path: string, kind: string) {
    const hint = `Move "${path}" away and retry; it is created again where it is needed.`;
    const reason = `it is ${kind}, not a regular file`;
    super("RecordFailed", `Cannot open "${path}": ${reason}`, { path, hint });
    this.reason = reason;
  }
}

/**
 * Opens a file of our own state. Throws `NotAFileError` for a pipe, a folder, a socket or a device, also behind a link,
 * without blocking; other errors are those of the system. The caller closes it.
 */
export function openOwnFile(path: string, flags: number = constants.O_RDONLY, mode?: number): number {
  let fd: number;
  try {
    fd = openSync(path, flags | constants.O_NONBLOCK, mode);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENXIO") throw new NotAFileError(path, "a socket or a pipe");
    if (code === "EISDIR") throw new NotAFileError(path, "a folder");
    throw error;
  }
  const stats = fstatSync(fd);
  if (stats.isFile()) return fd;
  closeSync(fd);
  throw new NotAFileError(path, kindOf(stats));
}

/** The bytes of a file of our own state; throws like `openOwnFile`. */
export function readOwnFile(path: string): Buffer {
  const fd = openOwnFile(path);
  try {
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Reads a file of the runtime's own as UTF-8. Throws `NotAFileError` if it is not a regular file. */
export function readOwnText(path: string): string {
  return readOwnFile(path).toString("utf8");
}

function kindOf(stats: Stats): string {
  if (stats.isFIFO()) return "a pipe";
  if (stats.isDirectory()) return "a folder";
  return stats.isSocket() ? "a socket" : "a device";
}
