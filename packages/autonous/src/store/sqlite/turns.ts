import { statSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Queries, SqlValue } from "./database.ts";
import { asStoreError, whileBusy } from "./sqlite-errors.ts";
import { StoreError } from "../store-error.ts";
import { pause } from "@autonous/runtime/internal";

export type Work<Result> = (queries: Queries) => Promise<Result>;

interface TurnsOptions {
  readonly connection: DatabaseSync;
  readonly file: string;
  readonly busyMs: number;
}

interface QueuedWork {
  readonly doing: string;
  readonly work: Work<unknown>;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

/** Settles the promise of a caller once its work is on disk. */
type Tell = () => void;

/**
 * Back-to-back work would starve timers and sockets, and the heartbeat is a timer. So the event loop runs at least this
 * often.
 */
const GIVE_WAY_MS = 10;

/**
 * A busy writer starts the next transaction right after a commit, while other processes retry only every millisecond.
 * So it pauses for `GAP_MS` at least this often.
 */
const LET_OTHERS_MS = 50;
const GAP_MS = 2;

/**
 * One connection and a queue of work for it. All work that waits at the same time shares one transaction: writers share
 * one commit, by far the most expensive part; readers share one snapshot.
 */
abstract class Turns {
  readonly connection: DatabaseSync;
  protected readonly file: string;
  readonly #busyMs: number;
  readonly #statements = new Map<string, StatementSync>();
  protected readonly queries: Queries;
  #waiting: QueuedWork[] = [];
  readonly #between: (() => void)[] = [];
  #running: Promise<void> | undefined;

  constructor({ connection, file, busyMs }: TurnsOptions) {
    this.connection = connection;
    this.file = file;
    this.#busyMs = busyMs;
    this.queries = {
      all: async <Row>(sql: string, values: readonly SqlValue[] = []) => this.prepare(sql).all(...values) as Row[],
      one: async <Row>(sql: string, values: readonly SqlValue[] = []) =>
        this.prepare(sql).get(...values) as Row | undefined,
      run: async (sql, values = []) => Number(this.prepare(sql).run(...values).changes),
      script: async (sql) => this.connection.exec(sql),
    };
  }

  /** Resolves when the changes of `work` are on disk. */
  add<Result>(doing: string, work: Work<Result>): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      this.#waiting.push({ doing, work, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Runs something that cannot be part of a transaction, while none is open. */
  between(doing: string, act: (connection: DatabaseSync) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#between.push(() => {
        try {
          resolve(act(this.connection));
        } catch (error) {
          reject(asStoreError(error, doing, this.file));
        }
      });
      this.#running ??= this.#run();
    });
  }

  /** Waits for pending work. */
  async close(): Promise<void> {
    await this.#running;
    this.#statements.clear();
    if (this.connection.isOpen) this.connection.close();
  }

  protected abstract begin(): void;
  /** Runs as much of the batch as fits in this transaction, and ends it. Settles promises only after that. */
  protected abstract runAll(batch: readonly QueuedWork[]): Promise<void>;

  async #run(): Promise<void> {
    await Promise.resolve(); // include work that is added in the same tick
    let aloneSince = performance.now();
    while (this.#waiting.length > 0 || this.#between.length > 0) {
      for (const act of this.#between.splice(0)) act();
      if (this.#waiting.length > 0) await this.#runBatch();
      if (performance.now() - aloneSince < LET_OTHERS_MS) await new Promise(setImmediate);
      else {
        await pause(GAP_MS);
        aloneSince = performance.now();
      }
    }
    this.#running = undefined;
  }

  async #runBatch(): Promise<void> {
    const asked = this.#waiting.length;
    let batch: readonly QueuedWork[] = [];
    try {
      await whileBusy(this.#busyMs, () => {
        this.#beginOrRollBack();
        // Fixed here: work that is added later may expect newer data than this snapshot has.
        batch = this.#waiting;
        this.#waiting = [];
      });
    } catch (error) {
      for (const each of this.#waiting.splice(0, asked)) this.fail(each, error);
      return;
    }
    await this.runAll(batch);
  }

  #beginOrRollBack(): void {
    try {
      this.begin();
    } catch (error) {
      this.rollBack();
      throw error;
    }
  }

  /** After some errors, such as a full disk, SQLite has already rolled back. */
  protected rollBack(): void {
    if (this.connection.isOpen && this.connection.isTransaction) this.connection.exec("rollback");
  }

  protected fail({ doing, reject }: QueuedWork, error: unknown): void {
    reject(asStoreError(error, doing, this.file));
  }

  /** No time was left for these: they go first in the next transaction. */
  protected putBack(batch: readonly QueuedWork[]): void {
    this.#waiting = [...batch, ...this.#waiting];
  }

  protected prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.connection.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** The reading connection: it sees committed data, and does not wait for writers. */
export class Readers extends Turns {
  protected begin(): void {
    this.prepare("begin").run();
    this.prepare("select 1 from sqlite_schema limit 1").get(); // the snapshot is taken here, not at "begin"
  }

  protected async runAll(batch: readonly QueuedWork[]): Promise<void> {
    const end = performance.now() + GIVE_WAY_MS;
    for (const [index, each] of batch.entries()) {
      if (index > 0 && performance.now() > end) {
        this.putBack(batch.slice(index));
        break;
      }
      try {
        each.resolve((await each.work(this.queries)) as never);
      } catch (error) {
        this.fail(each, error);
      }
    }
    this.rollBack(); // nothing was written; this only releases the snapshot
  }
}

/** The writing connection. Work that throws rolls back only its own changes. */
export class Writers extends Turns {
  readonly #inode: number | undefined = statSync(this.file, { throwIfNoEntry: false })?.ino;

  protected begin(): void {
    this.prepare("begin immediate").run();
  }

  /** Commits to a file that was deleted, moved or replaced would be lost. */
  #requireFile(): void {
    if (this.file === ":memory:" || statSync(this.file, { throwIfNoEntry: false })?.ino === this.#inode) return;
    const why = `"${this.file}" was deleted, moved or replaced while it was open`;
    throw new StoreError("Unavailable", { doing: "commit to the database", why });
  }

  protected async runAll(batch: readonly QueuedWork[]): Promise<void> {
    const end = performance.now() + GIVE_WAY_MS;
    const ran: { readonly each: QueuedWork; readonly tell: Tell }[] = [];
    let problem: unknown;
    for (const [index, each] of batch.entries()) {
      if (!this.connection.isTransaction || (index > 0 && performance.now() > end)) {
        this.putBack(batch.slice(index));
        break;
      }
      const { tell, error } = await this.#runOne(each, index === 0);
      if (!this.connection.isTransaction) problem = error;
      ran.push({ each, tell });
    }
    try {
      if (this.connection.isTransaction) {
        this.#requireFile();
        this.prepare("commit").run();
      }
    } catch (error) {
      problem = error;
      this.rollBack();
    }
    for (const { each, tell } of ran) {
      if (problem === undefined) tell();
      else this.fail(each, problem);
    }
  }

  /** The first one needs no savepoint: if it throws, the transaction has no other changes. */
  async #runOne(each: QueuedWork, isFirst: boolean): Promise<{ readonly tell: Tell; readonly error?: unknown }> {
    try {
      if (!isFirst) this.prepare("savepoint one").run();
      const result = await each.work(this.queries);
      if (!isFirst) this.prepare("release one").run();
      return { tell: () => each.resolve(result as never) };
    } catch (error) {
      if (isFirst) this.rollBack(); // the others run in a new transaction
      else if (this.connection.isTransaction) this.connection.exec("rollback to one; release one");
      return { tell: () => this.fail(each, error), error };
    }
  }
}
