export type SqlValue = string | number | null;

/** Queries inside a transaction. Statements must be constants: each one is prepared once and cached. */
export interface Queries {
  all<Row>(sql: string, values?: readonly SqlValue[]): Promise<readonly Row[]>;
  one<Row>(sql: string, values?: readonly SqlValue[]): Promise<Row | undefined>;
  /** Returns the number of changed rows. */
  run(sql: string, values?: readonly SqlValue[]): Promise<number>;
  /** Several statements without values, for migrations. */
  script(sql: string): Promise<void>;
}

/**
 * One database, with one or several connections. Every use is a transaction: `work` gets the only handle to it and must
 * await nothing else; its writes are committed together or not at all. `doing` completes the error message "Cannot …";
 * failures of the database itself are `StoreError`s.
 */
export interface Database {
  /** A path or URL, for messages. */
  readonly name: string;
  /** For writing: no other write happens between the first and the last statement. */
  transaction<Result>(doing: string, work: (queries: Queries) => Promise<Result>): Promise<Result>;
  /** For reading: all statements see the same snapshot. */
  read<Result>(doing: string, work: (queries: Queries) => Promise<Result>): Promise<Result>;
  /** Copies a snapshot while others may write. The target file must not exist. */
  copyTo(file: string): Promise<void>;
  /** Disk space used by rows, without free pages. */
  usedBytes(): Promise<number>;
  /** Releases free space to the file system, a little at a time. */
  shrink(): Promise<void>;
  /** Waits for pending work. */
  close(): Promise<void>;
}
