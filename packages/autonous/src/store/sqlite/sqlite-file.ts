import { closeSync, openSync } from "node:fs";

/**
 * Creates the file with access for this user only. Does not open an existing file: closing it would release all locks
 * of this process on it (POSIX), including SQLite's.
 */
export function createFile(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
