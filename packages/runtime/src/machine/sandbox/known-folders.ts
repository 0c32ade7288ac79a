import { closeSync, fstatSync } from "node:fs";
import { isInside } from "../../paths/inside.ts";
import { realPathOf } from "../system/handle.ts";
import { openJudged } from "../processes/launch.ts";

/**
 * Open descriptors of folders in which a sandbox has protected a path. A walk over the roots can miss a folder that a
 * command moves meanwhile; the descriptor always has its current path.
 */
export class KnownFolders {
  readonly #fds = new Map<string, number>();

  /** Opens a folder and verifies that it is still where it was found. Stays open; the caller must not close it. */
  open(folder: string): number {
    const fd = openJudged(folder);
    const { dev, ino } = fstatSync(fd, { bigint: true });
    const key = `${dev}:${ino}`;
    const known = this.#fds.get(key);
    if (known === undefined) this.#fds.set(key, fd);
    else closeSync(fd);
    return known ?? fd;
  }

  /**
   * A folder below the roots that the current walk missed. Folders that it visited, or that are gone, are dropped unless
   * they are in use.
   */
  missing(options: {
    readonly roots: readonly string[];
    readonly used: ReadonlySet<number>;
    readonly wasSeen: (path: string, ino: bigint) => boolean;
  }): string | undefined {
    for (const [key, fd] of this.#fds) {
      if (options.used.has(fd)) continue;
      const { ino, nlink } = fstatSync(fd, { bigint: true });
      const path = realPathOf(fd);
      const isThere = nlink > 0n && options.roots.some((root) => isInside(root, path));
      if (isThere && !options.wasSeen(path, ino)) return path;
      this.#fds.delete(key);
      closeSync(fd);
    }
    return undefined;
  }

  close(): void {
    for (const fd of this.#fds.values()) closeSync(fd);
    this.#fds.clear();
  }
}
