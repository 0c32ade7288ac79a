import { unlinkSync } from "node:fs";

/** Where this process may not give a new file away, it becomes its own, as with any editor. */
export function giveTo(give: () => void): void {
  try {
    give();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") throw error;
  }
}

export function removeNew(path: string | Buffer): void {
  try {
    unlinkSync(path);
  } catch {
    // Not made yet. One that cannot be removed is swept after this process.
  }
}
