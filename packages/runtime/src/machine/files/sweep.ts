import { closeSync, readdirSync, unlinkSync } from "node:fs";
import { openFolder, procPath, realBytesOf } from "../system/handle.ts";

/**
 * Opens a folder by its recorded real path. Undefined if it is gone or was replaced: a link there must not be followed.
 */
export function openRealFolder(real: string): number | undefined {
  let fd: number;
  try {
    fd = openFolder(real);
  } catch {
    return undefined; // gone, replaced or not accessible: nothing to sweep
  }
  if (realBytesOf(fd) === Buffer.from(real).toString("latin1")) return fd;
  closeSync(fd);
  return undefined;
}

/** Removes the files whose names begin with the prefix in these folders. */
export function sweep(folders: readonly string[], prefix: string): void {
  for (const folder of new Set(folders)) {
    const fd = openRealFolder(folder);
    if (fd === undefined) continue;
    try {
      for (const name of readdirSync(procPath(fd))) if (name.startsWith(prefix)) remove(`${procPath(fd)}/${name}`);
    } finally {
      closeSync(fd);
    }
  }
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Another process removed it, or permission is denied: then the temporary file stays.
  }
}
