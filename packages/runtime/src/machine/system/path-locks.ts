import { hash } from "node:crypto";
import { join } from "node:path";
import { removeLock, tryLock, unlock } from "./lock-files.ts";
import { pause, unlessAborted } from "../../protocol/pause.ts";
import { stateFolders } from "./state-folders.ts";

export interface PathLocksOptions {
  readonly state_dir: string;
  /** Called before the lock of a dead process is removed: recovers the changes which that process left unfinished. */
  readonly recover: () => Promise<unknown>;
}

/** Pause before retrying a lock that another process holds. */
const FIRST_PAUSE_MS = 1;
const MAX_PAUSE_MS = 32;

/** Mutual exclusion per path: first come, first served in this process, and by lock files between processes. */
export class PathLocks {
  readonly #folder: string;
  readonly #recover: () => Promise<unknown>;
  /** Resolves when all callers that have requested the path so far have released it. */
  readonly #lastInLine = new Map<string, Promise<unknown>>();

  constructor({ state_dir, recover }: PathLocksOptions) {
    this.#folder = stateFolders(state_dir).locks;
    this.#recover = recover;
  }

  /** Runs the work while holding all paths. They are locked in a fixed order, which prevents deadlocks. */
  async hold<T>(paths: readonly string[], signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const releases: (() => void)[] = [];
    try {
      for (const path of [...new Set(paths)].sort()) releases.push(await this.#take(path, signal));
      return await work();
    } finally {
      for (const release of releases.reverse()) release();
    }
  }

  async #take(path: string, signal: AbortSignal): Promise<() => void> {
    const before = this.#lastInLine.get(path);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    // A caller that stops waiting leaves the queue, but later callers still wait for earlier ones.
    const last = before === undefined ? promise : Promise.all([before, promise]);
    this.#lastInLine.set(path, last);
    void last.then(() => {
      if (this.#lastInLine.get(path) === last) this.#lastInLine.delete(path);
    });
    try {
      if (before !== undefined) await unlessAborted(before, signal);
      const file = join(this.#folder, hash("sha256", path, "hex").slice(0, 32));
      await this.#takeFile(file, signal);
      return () => {
        unlock(file);
        resolve(undefined);
      };
    } catch (error) {
      resolve(undefined);
      throw error;
    }
  }

  async #takeFile(file: string, signal: AbortSignal): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS;
    for (let holder = tryLock(file); holder !== undefined; holder = tryLock(file)) {
      if (holder.gone) {
        await this.#recover();
        removeLock(file, holder.owner);
      }
      await pause(pauseMs, { signal });
      pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS);
    }
  }
}
