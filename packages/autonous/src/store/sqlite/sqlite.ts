import { mkdirSync, closeSync, fsyncSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, backup } from "node:sqlite";
import type { Database } from "./database.ts";
import { asStoreError, whileBusy } from "./sqlite-errors.ts";
import { createFile } from "./sqlite-file.ts";
import { StoreError } from "../store-error.ts";
import { Readers, Writers } from "./turns.ts";
import type { Work } from "./turns.ts";

export interface SqliteOptions {
  readonly file: string;
  /** How long to wait for another writer, in milliseconds. */
  readonly busyMs?: number;
}

const DEFAULT_BUSY_MS = 5000;
/**
 * Checkpoint the write-ahead log at 16 MiB. A page changed by many commits is then written to the file once, and the
 * file is synced a quarter as often as by default; recovery after a crash still reads that much quickly.
 */
const LOG_PAGES = 4096;
/**
 * Enough for the index pages of a thousand chats. With the default of 2 MiB, a task on a large file costs a third more.
 */
const CACHE_KIB = 16_384;

/** Opens the file; creates it if missing, with access for this user only, since it contains messages of people. */
export async function openSqlite({ file, busyMs = DEFAULT_BUSY_MS }: SqliteOptions): Promise<Database> {
  await using opened = new AsyncDisposableStack(); // closes it if a later step fails
  const connect = async (): Promise<DatabaseSync> => {
    const connection = opened.adopt(new DatabaseSync(file, { timeout: 0 }), (each) => each.close());
    await whileBusy(busyMs, () => setUp(connection, file));
    return connection;
  };
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    createFile(file);
    const writers = new Writers({ connection: await connect(), file, busyMs });
    const readers = new Readers({ connection: await connect(), file, busyMs });
    opened.move();
    return new SqliteDatabase(file, { writers, readers });
  } catch (error) {
    throw asStoreError(error, "open the database", file);
  }
}

function setUp(connection: DatabaseSync, file: string): void {
  // An existing file keeps its mode until a vacuum, so do not write to it here: another process may have it locked.
  const pages = connection.prepare("pragma page_count").get()?.["page_count"];
  if (pages === 0) connection.exec("pragma auto_vacuum = incremental");
  const mode = connection.prepare("pragma journal_mode = wal").get()?.["journal_mode"];
  if (mode !== "wal") {
    const why = `the file system of "${file}" does not allow the journal mode "wal" (it stays "${String(mode)}")`;
    throw new StoreError("Unavailable", { doing: "open the database", why });
  }
  // With "wal" alone, a power loss may lose the last commits.
  connection.exec(`pragma synchronous = full; pragma foreign_keys = on; pragma journal_size_limit = ${MAX_LOG_BYTES};`);
  // Keeps the rollback data of savepoints in memory: it is small, and would otherwise be written to a file at every
  // commit.
  connection.exec(
    `pragma temp_store = memory; pragma wal_autocheckpoint = ${LOG_PAGES}; pragma cache_size = -${CACHE_KIB};`,
  );
}

class SqliteDatabase implements Database {
  readonly name: string;
  readonly #writers: Writers;
  readonly #readers: Readers;

  constructor(file: string, { writers, readers }: { readonly writers: Writers; readonly readers: Readers }) {
    this.name = file;
    this.#writers = writers;
    this.#readers = readers;
  }

  transaction<Result>(doing: string, work: Work<Result>): Promise<Result> {
    return this.#writers.add(doing, work);
  }

  read<Result>(doing: string, work: Work<Result>): Promise<Result> {
    return this.#readers.add(doing, work);
  }

  async copyTo(file: string): Promise<void> {
    try {
      await copyDatabase(this.name, file);
    } catch (error) {
      throw asStoreError(error, `copy the database to "${file}"`, this.name);
    }
  }

  usedBytes(): Promise<number> {
    return this.read("measure the database", async (queries) => {
      const row = await queries.one<{ readonly bytes: number }>(USED);
      return row?.bytes ?? 0;
    });
  }

  async shrink(): Promise<void> {
    const doing = "release free space";
    await this.transaction(doing, async (queries) => void (await queries.all(RELEASE_PAGES)));
    await this.#writers.between(doing, (connection) => void connection.prepare(CHECKPOINT).all());
  }

  async close(): Promise<void> {
    await Promise.all([this.#readers.close(), this.#writers.close()]);
  }
}

/** The write-ahead log is truncated to this size after a checkpoint, so that a burst does not use the space forever. */
const MAX_LOG_BYTES: number = 64 << 20;

/**
 * 4 MiB at a time: some milliseconds. No effect on a file created without `auto_vacuum`, which reuses its free pages.
 */
const RELEASE_PAGES = "pragma incremental_vacuum(1024)";

/** Truncates the write-ahead log; no effect while another connection reads or writes. */
const CHECKPOINT = "pragma wal_checkpoint(truncate)";

const USED = `select (page_count - freelist_count) * page_size as bytes
  from pragma_page_count, pragma_freelist_count, pragma_page_size`;

/** More than any file has: copies everything in one step, so that a concurrent write does not restart the copy. */
const ALL_PAGES = 2 ** 31 - 1;

/** Uses a separate connection and another thread, so that it blocks no one. The copy is flushed to disk at the end. */
async function copyDatabase(from: string, to: string): Promise<void> {
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
