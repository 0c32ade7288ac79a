import { lstatSync, readdirSync, watch } from "node:fs";
import type { FSWatcher } from "node:fs";
import { dirname, join } from "node:path";
import type { PlaceJudge } from "../../contract/processes.ts";

/** Limit for watched folders: those with protected files or with paths that a rule may close. Most workspaces have few. */
export const MAX_WATCHED = 256;

/** Paths that a command must not access. */
export interface GuardedPlaces {
  /** Paths that a mount protects, with their inodes. */
  readonly inodes: ReadonlyMap<string, bigint>;
  /** Paths that rules close, and folders in which such paths may appear. */
  readonly closes?: PlaceJudge;
  readonly folders: readonly string[];
  /** Paths that the sandbox has closed already. */
  readonly closed: ReadonlySet<string>;
}

interface WatchedPlaces extends GuardedPlaces {
  readonly onOpened: (path: string) => void;
}

/**
 * A mount protects an inode: a process outside that replaces the file removes the mount, and the new file is exposed to
 * the command. Also, nothing can be mounted on a path that does not exist yet. No mount can prevent either where the
 * folder has to stay writable, so both are detected.
 */
export class PlaceGuard {
  readonly #watchers = new Map<string, { readonly watcher: FSWatcher; readonly inode: bigint }>();
  readonly #guarded = new Set<WatchedPlaces>();

  /**
   * Calls `onOpened` when a protected file was replaced, or when a path appears that rules close to the command. Call the
   * result to stop watching.
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
    known?.watcher.close(); // it watches an earlier folder at this path
    this.#watchers.delete(folder);
    if (this.#watchers.size >= MAX_WATCHED) return;
    try {
      const watcher = watch(folder, { persistent: false }, (_, name) => this.#changed(folder, name));
      const drop = (): void => {
        watcher.close();
        this.#watchers.delete(folder);
      };
      watcher.on("error", drop);
      this.#watchers.set(folder, { watcher, inode });
    } catch {
      // It is gone, or the system has no watches left: then a replaced file goes undetected (SECURITY.md, limits).
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

  /** Checks a new entry, and its own entries if it is a folder. */
  #appeared(path: string, guarded: WatchedPlaces): void {
    const { closes, closed, onOpened } = guarded;
    if (closes === undefined || closed.has(path)) return;
    const kind = kindOf(path);
    if (kind === undefined) return;
    if (closes.forbids(path, kind === "folder")) return onOpened(path);
    if (kind !== "folder" || !closes.mayCloseBelow(path)) return;
    const watched = this.#watchers.get(path);
    this.#watchFolder(path);
    if (this.#watchers.get(path) === watched) return; // already watched, or the limit is reached
    for (const name of namesIn(path)) this.#appeared(join(path, name), guarded);
  }
}

/** False where the path no longer exists: then nothing is exposed. */
function isReplaced(path: string, inode: bigint): boolean {
  const found = inodeOf(path);
  return found !== undefined && found !== inode;
}

export function inodeOf(path: string): bigint | undefined {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
  } catch {
    return undefined; // its folder is gone, or not accessible to us
  }
}

/** Undefined for a link: its target is judged at its own path. */
function kindOf(path: string): "folder" | "file" | undefined {
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined || stats.isSymbolicLink()) return undefined;
    return stats.isDirectory() ? "folder" : "file";
  } catch {
    return undefined; // its folder is gone, or not accessible to us
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // gone meanwhile
  }
}
