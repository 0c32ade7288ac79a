import { closeSync, openSync } from "node:fs";

/**
 * Makes the file for this user only. Not opened when it is there: closing it again would drop the locks that this
 * process holds on it elsewhere, SQLite's own among them.
 */
export function createFile(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
