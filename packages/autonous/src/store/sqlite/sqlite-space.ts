import { closeSync, fsyncSync, openSync } from "node:fs";
import { backup, DatabaseSync } from "node:sqlite";
import { StoreError } from "../store-error.ts";

/** The write-ahead log is truncated to this size after a checkpoint, so that a burst does not use the space forever. */
export const MAX_LOG_BYTES: number = 64 << 20;

/**
 * 4 MiB at a time: some milliseconds. No effect on a file created without `auto_vacuum`, which reuses its free pages.
 */
export const GIVE_BACK = "pragma incremental_vacuum(1024)";

/** Truncates the write-ahead log; no effect while another connection reads or writes. */
export const CHECKPOINT = "pragma wal_checkpoint(truncate)";

export const USED = `select (page_count - freelist_count) * page_size as bytes
  from pragma_page_count, pragma_freelist_count, pragma_page_size`;

/** More than any file has: copies everything in one step, so that a concurrent write does not restart the copy. */
const ALL_PAGES = 2 ** 31 - 1;

/** Uses a separate connection and another thread, so that it blocks no one. The copy is flushed to disk at the end. */
export async function copyDatabase(from: string, to: string): Promise<void> {
  closeSync(openSync(to, "wx", 0o600));
  const source = new DatabaseSync(from, { readOnly: true });
  try {
    await backup(source, to, { rate: ALL_PAGES });
  } finally {
    source.close();
  }
  refuseDamaged(to);
  const fd = openSync(to, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function refuseDamaged(file: string): void {
  const copy = new DatabaseSync(file); // a read-only connection would leave -wal and -shm files behind
  try {
    const [found] = copy.prepare("pragma integrity_check(1)").all();
    const said = String(found?.["integrity_check"]);
    if (said !== "ok")
      throw new StoreError("Corrupt", { doing: "copy the database", why: `"${file}" is damaged: ${said}` });
  } finally {
    copy.close();
  }
}
