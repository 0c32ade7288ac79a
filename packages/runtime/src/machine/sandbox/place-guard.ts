import { lstatSync, readdirSync, watch } from "node:fs";
import type { FSWatcher } from "node:fs";
import { dirname, join } from "node:path";
import type { PlaceJudge } from "../../contract/processes.ts";

/** Folders in which single files are protected, or in which a rule may close something: a few in most workspaces. */
export const MOST_WATCHED = 256;

/** What a command must not have. */
export interface GuardedPlaces {
  /** What is protected by a mount, with its inode. */
  readonly inodes: ReadonlyMap<string, bigint>;
  /** What rules close, and the folders in which something may appear that they close. */
  readonly closes?: PlaceJudge;
  readonly folders: readonly string[];
  /** What the sandbox has closed already. */
  readonly closed: ReadonlySet<string>;
}

interface Guarded extends GuardedPlaces {
  readonly onOpened: (path: string) => void;
}

/**
 * What is protected by a mount is so by its inode: whoever outside puts something else in its place takes the mount
 * away, and the new one is open to the command. Nor can anything be mounted on a path that does not exist yet. No mount
 * can prevent either where the folder has to stay writable, so it is noticed.
 */
export class PlaceGuard {
  readonly #watchers = new Map<string, { readonly watcher: FSWatcher; readonly inode: bigint }>();
  readonly #guarded = new Set<Guarded>();

  /**
   * Calls `onOpened` when another file stands in the place of a protected one, or when something is there that rules
   * neither let it read nor write. Call the result when that is of no interest.
   */
  watch(places: GuardedPlaces, onOpened: (path: string) => void): () => void {
    const guarded = { ...places, onOpened };
    this.#guarded.add(guarded);
    for (const path of places.inodes.keys()) this.#watchFolder(dirname(path));
    for (const folder of places.folders) this.#watchFolder(folder);
    return () => void this.#guarded.delete(guarded);
  }

  close(): void {
    for (const { watcher } of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  #watchFolder(folder: string): void {
    const inode = inodeOf(folder);
    const known = this.#watchers.get(folder);
    if (inode === undefined || known?.inode === inode) return;
    known?.watcher.close(); // of another folder that was there before
    this.#watchers.delete(folder);
    if (this.#watchers.size >= MOST_WATCHED) return;
    try {
      const watcher = watch(folder, { persistent: false }, (_, name) => this.#changed(folder, name));
      const drop = (): void => {
        watcher.close();
        this.#watchers.delete(folder);
      };
      watcher.on("error", drop);
      this.#watchers.set(folder, { watcher, inode });
    } catch {
      // It is gone, or the system has no watch left: then a replaced file goes unnoticed (SECURITY.md, limits).
    }
  }

  #changed(folder: string, name: string | null): void {
    for (const guarded of this.#guarded) {
      const { inodes, onOpened } = guarded;
      const paths = name === null ? inodes.keys() : [join(folder, name)];
      for (const path of paths) {
        const inode = inodes.get(path);
        if (inode !== undefined && isReplaced(path, inode)) onOpened(path);
      }
      if (name !== null && guarded.closes !== undefined) this.#appeared(join(folder, name), guarded);
    }
  }

  /** What is new in a folder is looked at together with what is in it by then. */
  #appeared(path: string, guarded: Guarded): void {
    const { closes, closed, onOpened } = guarded;
    if (closes === undefined || closed.has(path)) return;
    const kind = kindOf(path);
    if (kind === undefined) return;
    if (closes.forbids(path, kind === "folder")) return onOpened(path);
    if (kind !== "folder" || !closes.mayCloseBelow(path)) return;
    const watched = this.#watchers.get(path);
    this.#watchFolder(path);
    if (this.#watchers.get(path) === watched) return; // known already, or no more are watched
    for (const name of namesIn(path)) this.#appeared(join(path, name), guarded);
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

/** A link holds nothing: what it leads to is judged where it is. */
function kindOf(path: string): "folder" | "file" | undefined {
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined || stats.isSymbolicLink()) return undefined;
    return stats.isDirectory() ? "folder" : "file";
  } catch {
    return undefined; // its folder is gone, or out of our own reach
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // gone meanwhile
  }
}
