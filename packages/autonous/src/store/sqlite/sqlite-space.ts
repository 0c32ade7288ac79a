import { closeSync, fsyncSync, openSync } from "node:fs";
import { backup, DatabaseSync } from "node:sqlite";
import { StoreError } from "../store-error.ts";

/** To what the write-ahead log is cut when its content is in the file: a burst does not keep its space for ever. */
export const MAX_LOG_BYTES: number = 64 << 20;

/** 4 MiB at a time: some milliseconds. Does nothing in a file that was made without `auto_vacuum`: it uses them again. */
export const GIVE_BACK = "pragma incremental_vacuum(1024)";

/** Empties the write-ahead log; without effect while somebody reads or writes. */
export const CHECKPOINT = "pragma wal_checkpoint(truncate)";

export const USED = `select (page_count - freelist_count) * page_size as bytes
  from pragma_page_count, pragma_freelist_count, pragma_page_size`;

/** More than any file has: all in one step, so that one who writes meanwhile does not make it begin again. */
const ALL_PAGES = 2 ** 31 - 1;

/** By a connection of its own and in another thread: nobody waits for it. On the disk when this is done. */
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
  const copy = new DatabaseSync(file); // one that may only read leaves the two files of its log behind
  try {
    const [found] = copy.prepare("pragma integrity_check(1)").all();
    const said = String(found?.["integrity_check"]);
    if (said !== "ok")
      throw new StoreError("Corrupt", { doing: "copy the database", why: `"${file}" is damaged: ${said}` });
  } finally {
    copy.close();
  }
}
