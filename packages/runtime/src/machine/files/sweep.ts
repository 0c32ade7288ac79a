import { closeSync, readdirSync, unlinkSync } from "node:fs";
import { openFolder, procPath, realBytesOf } from "./handle.ts";

/**
 * Opens a folder by the real path that it had. Undefined where it is gone, or something else is there now: what a link
 * leads to is none of ours.
 */
export function openRealFolder(real: string): number | undefined {
  let fd: number;
  try {
    fd = openFolder(real);
  } catch {
    return undefined; // gone, replaced, or closed to us: either way there is nothing to be done in it
  }
  if (realBytesOf(fd) === Buffer.from(real).toString("latin1")) return fd;
  closeSync(fd);
  return undefined;
}

/** Removes what begins with the prefix in these folders. */
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
    // Somebody else removed it, or it may not be removed by us: it stays what it is, a file of an odd name.
  }
}
