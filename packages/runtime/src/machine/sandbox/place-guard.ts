import { lstatSync, watch } from "node:fs";
import type { FSWatcher } from "node:fs";
import { dirname, join } from "node:path";

/** Folders in which single files are protected: a few in most workspaces. */
const MOST_WATCHED = 256;

interface Guarded {
  readonly inodes: ReadonlyMap<string, bigint>;
  readonly onOpened: (path: string) => void;
}

/**
 * A file that is protected by a mount is so by its inode: whoever outside puts another file in its place takes the mount
 * away, and the new one is open to the command. No mount can prevent that where the folder has to stay writable, so it
 * is noticed.
 */
export class PlaceGuard {
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #guarded = new Set<Guarded>();

  /** Calls `onOpened` when another file stands in the place of one of these. Call the result when that is of no interest. */
  watch(inodes: ReadonlyMap<string, bigint>, onOpened: (path: string) => void): () => void {
    const guarded = { inodes, onOpened };
    this.#guarded.add(guarded);
    for (const path of inodes.keys()) this.#watchFolder(dirname(path));
    return () => void this.#guarded.delete(guarded);
  }

  close(): void {
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  #watchFolder(folder: string): void {
    if (this.#watchers.has(folder) || this.#watchers.size >= MOST_WATCHED) return;
    try {
      const watcher = watch(folder, { persistent: false }, (_, name) => this.#changed(folder, name));
      const drop = (): void => {
        watcher.close();
        this.#watchers.delete(folder);
      };
      watcher.on("error", drop);
      this.#watchers.set(folder, watcher);
    } catch {
      // It is gone, or the system has no watch left: then a replaced file goes unnoticed (SECURITY.md, limits).
    }
  }

  #changed(folder: string, name: string | null): void {
    for (const { inodes, onOpened } of this.#guarded) {
      const paths = name === null ? inodes.keys() : [join(folder, name)];
      for (const path of paths) {
        const inode = inodes.get(path);
        if (inode !== undefined && isReplaced(path, inode)) onOpened(path);
      }
    }
  }
}

/** Where nothing is there any more, nothing is open. */
function isReplaced(path: string, inode: bigint): boolean {
  const found = inodeOf(path);
  return found !== undefined && found !== inode;
}

export function inodeOf(path: string): bigint | undefined {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
  } catch {
    return undefined; // its folder is gone, or out of our own reach
  }
}
