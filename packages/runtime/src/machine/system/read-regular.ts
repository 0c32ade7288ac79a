import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";

/** Opening never blocks on a pipe, and never makes a terminal the controlling one. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/**
 * The content of a file that a command or a repository may have created. Undefined if it is larger than the limit, or
 * not a regular file: a pipe would block the reader, a device may never end. Throws system errors such as ENOENT.
 */
export function readRegular(path: string | Buffer, limitBytes: number, flags = 0): Buffer | undefined {
  let fd: number;
  try {
    fd = openSync(path, FLAGS | flags);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENXIO") return undefined; // a socket, or a device without a driver
    throw error;
  }
  try {
    const stats = fstatSync(fd);
    return stats.isFile() && stats.size <= limitBytes ? readFileSync(fd) : undefined;
  } finally {
    closeSync(fd);
  }
}
