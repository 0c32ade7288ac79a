import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { syncFolder } from "./run-folder.ts";

/** The old content or the new, whatever happens meanwhile, and on the disk when this returns. One writer at a time. */
export function replaceFile(path: string, text: string): void {
  const temporary = `${path}.new`;
  const fd = openSync(temporary, "w", 0o600);
  try {
    writeFileSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, path);
  syncFolder(dirname(path));
}
