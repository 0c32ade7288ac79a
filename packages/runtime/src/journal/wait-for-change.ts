import { watch } from "node:fs";
import type { FSWatcher } from "node:fs";
import { basename, dirname } from "node:path";

/** Poll interval, for file systems that report no changes. */
const LOOK_MS = 1000;

/** Checks whenever the file changes, until there is a result. Rejects with the signal's reason. */
export async function waitForChange<T>(path: string, signal: AbortSignal, look: () => T | undefined): Promise<T> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const tryAgain = (): void => {
    try {
      const found = look();
      if (found !== undefined) resolve(found);
    } catch (error) {
      reject(error);
    }
  };
  const stop = (): void => reject(signal.reason as Error);
  signal.addEventListener("abort", stop, { once: true });
  const timer = setInterval(tryAgain, LOOK_MS);
  const watcher = watchFolder(dirname(path), (name) => {
    if (name === null || name === basename(path)) tryAgain();
  });
  try {
    tryAgain(); // after the watch began, so that no change is missed in between
    return await promise;
  } finally {
    watcher?.close();
    clearInterval(timer);
    signal.removeEventListener("abort", stop);
  }
}

/** The system limits the number of watches; without one, polling is enough. */
function watchFolder(folder: string, onChange: (name: string | null) => void): FSWatcher | undefined {
  try {
    const watcher = watch(folder, (_, name) => onChange(name));
    watcher.on("error", () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
}
