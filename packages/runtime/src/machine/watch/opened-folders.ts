import { chmodSync, closeSync, constants, fstatSync, openSync } from "node:fs";
import { systemPath } from "../system/keys.ts";
import { procPath, realBytesOf } from "../system/handle.ts";
import { isSystemError } from "../system/system-error.ts";
import type { Facts } from "../tree/tree-snapshot.ts";

const O_PATH = 0o10000000;
/** The mode that an owner needs to list a folder and to read and change its entries. */
const OPEN_TO_OWNER = 0o700;

interface OpenedFolder {
  readonly inode: number;
  readonly mode: number;
}

/**
 * Folders that a command closed to their owner, which would hide its changes in them. Each stays open until `close`,
 * which restores the mode that the command set. The caller closes it.
 */
export class OpenedFolders {
  readonly #opened = new Map<string, OpenedFolder>();

  /** False where that is not needed, or not permitted. */
  open(key: string, { owner, mode, inode }: Facts): boolean {
    if (process.getuid?.() === 0 || owner !== process.getuid?.()) return false;
    if ((mode & OPEN_TO_OWNER) === OPEN_TO_OWNER || !setMode(key, inode, mode | OPEN_TO_OWNER)) return false;
    this.#opened.set(key, { inode, mode });
    return true;
  }

  close(): void {
    // Innermost first: a closed folder makes those in it unreachable.
    const inside = [...this.#opened].sort(([one], [other]) => other.length - one.length);
    for (const [key, { inode, mode }] of inside) setMode(key, inode, mode);
    this.#opened.clear();
  }
}

/** False where the folder is gone or was replaced, or the system refuses. */
function setMode(key: string, inode: number, mode: number): boolean {
  let fd: number | undefined;
  try {
    fd = openSync(systemPath(key), O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    if (fstatSync(fd).ino !== inode || realBytesOf(fd) !== key) return false;
    chmodSync(procPath(fd), mode);
    return true;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return false;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
