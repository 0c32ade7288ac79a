import { statSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Queries, SqlValue } from "./database.ts";
import { asStoreError, whileBusy } from "./sqlite-errors.ts";
import { StoreError } from "../store-error.ts";

export type Work<Result> = (queries: Queries) => Promise<Result>;

interface TurnsOptions {
  readonly connection: DatabaseSync;
  readonly file: string;
  readonly busyMs: number;
}

interface Waiting {
  readonly doing: string;
  readonly work: Work<unknown>;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

/** One that ran, and is told when what it did is on disk. */
type Tell = () => void;

/**
 * Work that follows work leaves no gap in which timers and sockets get their turn, and the heartbeat is a timer. So there
 * is a gap at least this often.
 */
const GIVE_WAY_MS = 10;

/**
 * A process with much to write begins again as soon as it has committed, and others ask only every millisecond. So it
 * leaves them a gap of that length at least this often.
 */
const LET_OTHERS_MS = 50;
const GAP_MS = 2;

/**
 * One connection, and those who wait for it. All that wait at the same time share one transaction: for writers that is
 * one commit, the dearest part of each by far; for readers one state that all of them see.
 */
abstract class Turns {
  readonly connection: DatabaseSync;
  protected readonly file: string;
  readonly #busyMs: number;
  readonly #statements = new Map<string, StatementSync>();
  protected readonly queries: Queries;
  #waiting: Waiting[] = [];
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

  /** Gives when what `work` did is on disk. */
  add<Result>(doing: string, work: Work<Result>): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      this.#waiting.push({ doing, work, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Does something that cannot be part of a transaction, when none is open. */
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

  /** Waits for what was asked before. */
  async close(): Promise<void> {
    await this.#running;
    this.#statements.clear();
    if (this.connection.isOpen) this.connection.close();
  }

  protected abstract begin(): void;
  /** Does all that can be done in this transaction and ends it. Whatever is told to anybody is told after that. */
  protected abstract runAll(batch: readonly Waiting[]): Promise<void>;

  async #run(): Promise<void> {
    await Promise.resolve(); // those who ask in the same breath come along
    let aloneSince = performance.now();
    while (this.#waiting.length > 0 || this.#between.length > 0) {
      for (const act of this.#between.splice(0)) act();
      if (this.#waiting.length > 0) await this.#runBatch();
      if (performance.now() - aloneSince < LET_OTHERS_MS) await new Promise(setImmediate);
      else {
        await new Promise((resolve) => setTimeout(resolve, GAP_MS));
        aloneSince = performance.now();
      }
    }
    this.#running = undefined;
  }

  async #runBatch(): Promise<void> {
    const asked = this.#waiting.length;
    let batch: readonly Waiting[] = [];
    try {
      await whileBusy(this.#busyMs, () => {
        this.#beginOrRollBack();
        // Not later: what is asked for after this may be about something newer than a reader sees from here on.
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

  /** After a full disk and the like SQLite has done so by itself. */
  protected rollBack(): void {
    if (this.connection.isOpen && this.connection.isTransaction) this.connection.exec("rollback");
  }

  protected fail({ doing, reject }: Waiting, error: unknown): void {
    reject(asStoreError(error, doing, this.file));
  }

  /** There was no time for these: they are first in the next transaction. */
  protected putBack(batch: readonly Waiting[]): void {
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

/** The connection that reads: it sees what is committed, and waits for no writer. */
export class Readers extends Turns {
  protected begin(): void {
    this.prepare("begin").run();
    this.prepare("select 1 from sqlite_schema limit 1").get(); // what is read is fixed here, not at the begin
  }

  protected async runAll(batch: readonly Waiting[]): Promise<void> {
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
    this.rollBack(); // nothing was written; this only lets go of the state
  }
}

/** The connection that writes. One that throws takes back only its own half. */
export class Writers extends Turns {
  readonly #inode: number | undefined = statSync(this.file, { throwIfNoEntry: false })?.ino;

  protected begin(): void {
    this.prepare("begin immediate").run();
  }

  /** A file that was deleted, moved or replaced takes commits that nobody will find. */
  #requireFile(): void {
    if (this.file === ":memory:" || statSync(this.file, { throwIfNoEntry: false })?.ino === this.#inode) return;
    const why = `"${this.file}" was deleted, moved or replaced while it was open`;
    throw new StoreError("Unavailable", { doing: "commit to the database", why });
  }

  protected async runAll(batch: readonly Waiting[]): Promise<void> {
    const end = performance.now() + GIVE_WAY_MS;
    const ran: { readonly each: Waiting; readonly tell: Tell }[] = [];
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

  /** The first one needs no mark to go back to: when it throws, there is nothing but its own. */
  async #runOne(each: Waiting, isFirst: boolean): Promise<{ readonly tell: Tell; readonly error?: unknown }> {
    try {
      if (!isFirst) this.prepare("savepoint one").run();
      const result = await each.work(this.queries);
      if (!isFirst) this.prepare("release one").run();
      return { tell: () => each.resolve(result as never) };
    } catch (error) {
      if (isFirst) this.rollBack(); // and the others begin anew
      else if (this.connection.isTransaction) this.connection.exec("rollback to one; release one");
      return { tell: () => this.fail(each, error), error };
    }
  }
}
