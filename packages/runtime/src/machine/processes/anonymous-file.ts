import { randomUUID } from "node:crypto";
import { closeSync, constants, mkdirSync, openSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { procPath } from "../system/handle.ts";

/** A file without a name, passed to a child as a descriptor. The caller closes it. */
export function anonymousFile(folder: string, content: Uint8Array): number {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `.${randomUUID()}`);
  const fd = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600);
  try {
    unlinkSync(path);
    if (content.length > 0) writeSync(fd, content);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  return fd;
}

/** The same file with its own position, from the start, for reading. The caller closes it. */
export function reopen(fd: number): number {
  return openSync(procPath(fd), constants.O_RDONLY);
}
