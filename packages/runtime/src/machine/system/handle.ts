import { chmodSync, closeSync, constants, openSync, readlinkSync, unlinkSync } from "node:fs";
import type { BigIntStats, PathLike, Stats } from "node:fs";
import type { EntryKind } from "../../contract/context.ts";

/** Linux: a descriptor that refers to a file without opening it for reading or writing, so it cannot block. */
const O_PATH = 0o10000000;

/** Refers to a file (links are followed) without reading or writing it. The caller closes the descriptor. */
export function openHandle(path: PathLike): number {
  return openSync(path, O_PATH);
}

/** Sets the mode of the entry itself: a link put at the path meanwhile is not followed. */
export function chmodEntry(path: PathLike, mode: number): void {
  const fd = openSync(path, O_PATH | constants.O_NOFOLLOW);
  try {
    chmodSync(procPath(fd), mode);
  } finally {
    closeSync(fd);
  }
}

/** Opens a folder for listing. A link in the last component is not followed. The caller closes the descriptor. */
export function openFolder(path: PathLike): number {
  return openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
}

/** The kernel's real path of an open descriptor. Access checks use it, because links cannot falsify it. */
export function realPathOf(fd: number): string {
  return readlinkSync(procPath(fd));
}

/** Like `realPathOf`, with one character per byte, for names that are not valid UTF-8. */
export function realBytesOf(fd: number): string {
  return readlinkSync(procPath(fd), "latin1");
}

/** A path to the open object itself, even if it was renamed. */
export function procPath(fd: number): string {
  return `/proc/self/fd/${fd}`;
}

/** Differs whenever the content may differ. Pass the result of `fstat` or `lstat`. */
export function identityOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`;
}

type KindOf = Pick<Stats, "isFile" | "isDirectory" | "isSymbolicLink">;

export function kindOf(entry: KindOf): EntryKind {
  if (entry.isFile()) return "file";
  if (entry.isDirectory()) return "directory";
  return entry.isSymbolicLink() ? "link" : "other";
}

/** If this process may not change the owner of a new file, it stays the owner, as with any editor. */
export function chownIfPermitted(give: () => void): void {
  try {
    give();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") throw error;
  }
}

export function removeIfExists(path: string | Buffer): void {
  try {
    unlinkSync(path);
  } catch {
    // Not created yet. A file that cannot be removed is swept after this process ends.
  }
}
