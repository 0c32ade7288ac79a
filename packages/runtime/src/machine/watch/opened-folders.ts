import { chmodSync, closeSync, constants, fstatSync, openSync } from "node:fs";
import { systemPath } from "../search/keys.ts";
import { procPath, realBytesOf } from "../files/handle.ts";
import { isSystemError } from "../files/system-error.ts";
import type { Facts } from "./tree-entry.ts";

const O_PATH = 0o10000000;
/** What its owner needs to list a folder, and to look at and change what is in it. */
const OPEN_TO_OWNER = 0o700;

interface Opened {
  readonly inode: number;
  readonly mode: number;
}

/**
 * Folders that a command closed to their owner, which would hide what it did in them. Each is open until `close`, which
 * gives it the mode that the command left. The caller closes it.
 */
export class OpenedFolders {
  readonly #opened = new Map<string, Opened>();

  /** False where that is not needed, or not ours to do. */
  open(key: string, { owner, mode, inode }: Facts): boolean {
    if (process.getuid?.() === 0 || owner !== process.getuid?.()) return false;
    if ((mode & OPEN_TO_OWNER) === OPEN_TO_OWNER || !setMode(key, inode, mode | OPEN_TO_OWNER)) return false;
    this.#opened.set(key, { inode, mode });
    return true;
  }

  close(): void {
    // Innermost first: a folder that is closed hides those in it.
    const inside = [...this.#opened].sort(([one], [other]) => other.length - one.length);
    for (const [key, { inode, mode }] of inside) setMode(key, inode, mode);
    this.#opened.clear();
  }
}

/** False where the folder is gone, another one took its place, or the system refuses. */
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
