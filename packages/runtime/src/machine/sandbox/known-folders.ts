import { closeSync, fstatSync } from "node:fs";
import { isInside } from "../../paths/inside.ts";
import { realPathOf } from "../files/handle.ts";
import { openJudged } from "../processes/launch.ts";

/**
 * Folders in which a sandbox has protected something, held open. A walk over the roots can miss a folder that a command
 * moves meanwhile; a descriptor cannot: it says where the folder is now.
 */
export class KnownFolders {
  readonly #fds = new Map<string, number>();

  /** Opens a folder and makes sure that it is where it was found. Stays open, and is not the caller's to close. */
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
   * A folder below the roots that was not looked at now. Those that were, or that are gone, are forgotten unless they
   * are in use.
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
