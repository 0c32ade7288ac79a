import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { StatementSync } from "node:sqlite";
import type { Database, Queries, SqlValue } from "./database.ts";
import { StoreError } from "./store-error.ts";
import type { StoreErrorCode } from "./store-error.ts";

export interface SqliteOptions {
  readonly file: string;
  /** How long to wait for another process that is writing. */
  readonly busyMs?: number;
}

const DEFAULT_BUSY_MS = 5000;

/**
 * How often to ask again. SQLite's own busy timeout stays off: it stops the whole process while it waits, heartbeats
 * and all, and cannot end when the lock is held by another connection of the same process. Short, because a writer with
 * much to do leaves only short gaps; asking costs some microseconds.
 */
const BUSY_PAUSE_MS = 1;

/**
 * Transactions that follow one upon the other leave no gap in which timers and sockets get their turn, and the
 * heartbeat is a timer. So there is a gap at least this often.
 */
const GIVE_WAY_MS = 10;

/** Opens the file, and makes it when it is not there: for this user only, since it holds what people wrote. */
export async function openSqlite({ file, busyMs = DEFAULT_BUSY_MS }: SqliteOptions): Promise<Database> {
  let connection: DatabaseSync | undefined;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    createFile(file);
    const opened = new DatabaseSync(file, { timeout: 0 });
    connection = opened;
    await whileBusy(busyMs, () => setUp(opened, file));
    return new SqliteDatabase(opened, { file, busyMs });
  } catch (error) {
    connection?.close();
    throw asStoreError(error, "open the database", file);
  }
}

/** Not opened when it is there: closing it again would drop the locks that this process holds on it elsewhere. */
function createFile(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

function setUp(connection: DatabaseSync, file: string): void {
  const mode = connection.prepare("pragma journal_mode = wal").get()?.["journal_mode"];
  if (mode !== "wal") {
    const why = `the file system of "${file}" does not allow the journal mode "wal" (it stays "${String(mode)}")`;
    throw new StoreError("Unavailable", { doing: "open the database", why });
  }
  // With "wal" alone the last commits may be lost in a power cut.
  connection.exec("pragma synchronous = full; pragma foreign_keys = on;");
}

class SqliteDatabase implements Database {
  readonly name: string;
  readonly #connection: DatabaseSync;
  readonly #busyMs: number;
  readonly #statements = new Map<string, StatementSync>();
  readonly #queries: Queries;
  /** One connection: a transaction starts when the one before it is over, or it would see and join its half. */
  #last: Promise<unknown> = Promise.resolve();
  #gaveWayAt = 0;

  constructor(connection: DatabaseSync, { file, busyMs }: Required<SqliteOptions>) {
    this.name = file;
    this.#connection = connection;
    this.#busyMs = busyMs;
    this.#queries = {
      all: async <Row>(sql: string, values: readonly SqlValue[] = []) => this.#prepare(sql).all(...values) as Row[],
      one: async <Row>(sql: string, values: readonly SqlValue[] = []) =>
        this.#prepare(sql).get(...values) as Row | undefined,
      run: async (sql, values = []) => Number(this.#prepare(sql).run(...values).changes),
      script: async (sql) => this.#connection.exec(sql),
    };
  }

  transaction<Result>(doing: string, work: (queries: Queries) => Promise<Result>): Promise<Result> {
    const begin = (): void => void this.#prepare("begin immediate").run();
    return this.#inTurn(() => this.#within(begin, doing, work));
  }

  read<Result>(doing: string, work: (queries: Queries) => Promise<Result>): Promise<Result> {
    const begin = (): void => {
      this.#prepare("begin").run();
      this.#prepare("select 1 from sqlite_schema limit 1").get(); // what is read is fixed here, not at the begin
    };
    return this.#inTurn(() => this.#within(begin, doing, work));
  }

  close(): Promise<void> {
    return this.#inTurn(async () => {
      this.#statements.clear();
      if (this.#connection.isOpen) this.#connection.close();
    });
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(() => this.#giveWay()).then(work);
    this.#last = result.catch(() => undefined); // the caller gets the error; the next in turn does not
    return result;
  }

  async #giveWay(): Promise<void> {
    if (performance.now() - this.#gaveWayAt < GIVE_WAY_MS) return;
    await new Promise(setImmediate);
    this.#gaveWayAt = performance.now();
  }

  async #within<Result>(
    begin: () => void,
    doing: string,
    work: (queries: Queries) => Promise<Result>,
  ): Promise<Result> {
    try {
      await whileBusy(this.#busyMs, () => this.#orRollBack(begin));
      const result = await work(this.#queries);
      this.#prepare("commit").run();
      return result;
    } catch (error) {
      this.#rollBack();
      throw asStoreError(error, doing, this.name);
    }
  }

  #orRollBack(begin: () => void): void {
    try {
      begin();
    } catch (error) {
      this.#rollBack();
      throw error;
    }
  }

  /** After a full disk and the like SQLite has done so by itself. */
  #rollBack(): void {
    if (this.#connection.isOpen && this.#connection.isTransaction) this.#connection.exec("rollback");
  }

  #prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#connection.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

async function whileBusy(limitMs: number, attempt: () => void): Promise<void> {
  const end = performance.now() + limitMs;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (codeOf(error) !== "Busy" || performance.now() >= end) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, BUSY_PAUSE_MS));
  }
}

interface Meaning {
  readonly code: StoreErrorCode;
  readonly why: (file: string) => string;
}

const MEANINGS = {
  locked: { code: "Busy", why: (file) => `another process keeps "${file}" locked` },
  full: { code: "Full", why: (file) => `there is no room left for "${file}"` },
  readOnly: { code: "ReadOnly", why: (file) => `"${file}" may not be written` },
  damaged: { code: "Corrupt", why: (file) => `"${file}" is damaged, or no database` },
  unreachable: { code: "Unavailable", why: (file) => `"${file}" cannot be reached` },
} as const satisfies Record<string, Meaning>;

/** SQLite's primary result codes and Node's names of system errors. What is not here is a fault of the code. */
const CAUSES: Readonly<Record<string, Meaning>> = {
  5: MEANINGS.locked,
  6: MEANINGS.locked,
  8: MEANINGS.readOnly,
  10: MEANINGS.unreachable,
  11: MEANINGS.damaged,
  13: MEANINGS.full,
  14: MEANINGS.unreachable,
  15: MEANINGS.locked, // the protocol of the locks was lost in a race for them
  26: MEANINGS.damaged,
  ENOSPC: MEANINGS.full,
  EDQUOT: MEANINGS.full,
  EACCES: MEANINGS.readOnly,
  EPERM: MEANINGS.readOnly,
  EROFS: MEANINGS.readOnly,
  EEXIST: MEANINGS.unreachable,
  EISDIR: MEANINGS.unreachable,
  ELOOP: MEANINGS.unreachable,
  ENAMETOOLONG: MEANINGS.unreachable,
  ENOENT: MEANINGS.unreachable,
  ENOTDIR: MEANINGS.unreachable,
  EIO: MEANINGS.unreachable,
};

function meaningOf(error: unknown): Meaning | undefined {
  if (!(error instanceof Error)) return undefined;
  const { errcode, code } = error as Error & { readonly errcode?: number; readonly code?: string };
  return CAUSES[errcode === undefined ? (code ?? "") : String(errcode & 0xff)]; // the low byte is the primary code
}

function codeOf(error: unknown): StoreErrorCode | undefined {
  return meaningOf(error)?.code;
}

function asStoreError(error: unknown, doing: string, file: string): unknown {
  const meaning = meaningOf(error);
  if (meaning === undefined || error instanceof StoreError) return error;
  const why = `${meaning.why(file)} (${(error as Error).message})`;
  return new StoreError(meaning.code, { doing, why }, error);
}
