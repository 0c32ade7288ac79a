import { closeSync, constants, copyFileSync, fstatSync, linkSync, lstatSync, openSync } from "node:fs";
import { statfsSync, unlinkSync, utimesSync } from "node:fs";
import { dirname } from "node:path";
import { procPath } from "../system/handle.ts";

/** Disk space to leave free when files have to be copied. */
const FREE_BYTES = 4 << 30;

/** False if the disk lacks space for a copy, or it is not a regular file. Throws system errors. */
export function pinFile(source: string | Buffer, target: string): boolean {
  try {
    linkSync(source, target);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "EXDEV" && code !== "EPERM" && code !== "EMLINK") throw error;
    return copyFile(source, target);
  }
  // A pipe or a link was hard-linked: opening it could block forever.
  if (lstatSync(target).isFile()) return true;
  unlinkSync(target);
  return false;
}

/** For a different file system, or one without hard links. */
function copyFile(source: string | Buffer, target: string): boolean {
  const fd = openSync(source, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(fd);
    const { bavail, bsize } = statfsSync(dirname(target));
    if (!stats.isFile() || bavail * bsize - stats.size < FREE_BYTES) return false;
    copyFileSync(procPath(fd), target, constants.COPYFILE_FICLONE);
    utimesSync(target, stats.atime, stats.mtime);
    return true;
  } finally {
    closeSync(fd);
  }
}
