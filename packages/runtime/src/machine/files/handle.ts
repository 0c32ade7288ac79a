import { chmodSync, closeSync, constants, openSync, readlinkSync } from "node:fs";
import type { BigIntStats, PathLike, Stats } from "node:fs";
import type { EntryKind } from "../../contract/context.ts";

/** Linux: a descriptor that names a file without opening it for anything, so that it cannot hang or change it. */
const O_PATH = 0o10000000;

/** Names a file, links followed, without reading or writing it. The caller closes the descriptor. */
export function openHandle(path: PathLike): number {
  return openSync(path, O_PATH);
}

/** Sets the mode of what stands at a path itself: a link that was put there meanwhile leads nowhere. */
export function chmodEntry(path: PathLike, mode: number): void {
  const fd = openSync(path, O_PATH | constants.O_NOFOLLOW);
  try {
    chmodSync(procPath(fd), mode);
  } finally {
    closeSync(fd);
  }
}

/** Opens a folder for listing. A link in the last place is not followed. The caller closes the descriptor. */
export function openFolder(path: PathLike): number {
  return openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
}

/** Where an open descriptor really leads, as the kernel knows it. This is what is judged: no name can lie about it. */
export function realPathOf(fd: number): string {
  return readlinkSync(procPath(fd));
}

/** The same with one character a byte, for names that are no UTF-8. */
export function realBytesOf(fd: number): string {
  return readlinkSync(procPath(fd), "latin1");
}

/** A path that leads to the open object itself, whatever its name is by now. */
export function procPath(fd: number): string {
  return `/proc/self/fd/${fd}`;
}

/** Differs whenever the content may differ. Take it from a descriptor, or from `lstat`. */
export function identityOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`;
}

type KindOf = Pick<Stats, "isFile" | "isDirectory" | "isSymbolicLink">;

export function kindOf(entry: KindOf): EntryKind {
  if (entry.isFile()) return "file";
  if (entry.isDirectory()) return "directory";
  return entry.isSymbolicLink() ? "link" : "other";
}
