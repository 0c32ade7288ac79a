import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { hashPieces } from "./bytes.ts";
import { identityOf, kindOf, openHandle, procPath, realBytesOf } from "./handle.ts";

/** Larger files are compared by size, time and inode instead of content. */
const HASHED_BYTES = 64 << 20;

/**
 * Fingerprint of the entry at a real path, to detect later whether it changed: `sha256:…` of a file's content, another
 * marker for anything that is not a readable file, null if nothing exists. Never blocks on a pipe or device.
 */
export async function baseOf(real: string, signal: AbortSignal): Promise<string | null> {
  let handle: number;
  try {
    handle = openHandle(real);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ENOTDIR" ? null : `closed:${code}`;
  }
  try {
    if (realBytesOf(handle) !== Buffer.from(real).toString("latin1")) return `elsewhere:${realBytesOf(handle)}`;
    const stats = fstatSync(handle, { bigint: true });
    if (!stats.isFile()) return `kind:${kindOf(fstatSync(handle))}`;
    return stats.size > HASHED_BYTES ? `identity:${identityOf(stats)}` : await contentOf(handle, signal);
  } finally {
    closeSync(handle);
  }
}

async function contentOf(handle: number, signal: AbortSignal): Promise<string> {
  let fd: number;
  try {
    fd = openSync(procPath(handle), constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    return `closed:${(error as NodeJS.ErrnoException).code}`;
  }
  try {
    return `sha256:${(await hashPieces(fd, signal)).digest("hex")}`;
  } finally {
    closeSync(fd);
  }
}
