import { unlinkSync } from "node:fs";

/** If this process may not change the owner of a new file, it stays the owner, as with any editor. */
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
    // Not created yet. A file that cannot be removed is swept after this process ends.
  }
}
