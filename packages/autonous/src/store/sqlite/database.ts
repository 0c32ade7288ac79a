export type SqlValue = string | number | null;

/** What can be asked inside a transaction. Statements are constants: each text is prepared once and kept. */
export interface Queries {
  all<Row>(sql: string, values?: readonly SqlValue[]): Promise<readonly Row[]>;
  one<Row>(sql: string, values?: readonly SqlValue[]): Promise<Row | undefined>;
  /** Gives the number of rows that were changed. */
  run(sql: string, values?: readonly SqlValue[]): Promise<number>;
  /** Several statements without values, for migrations. */
  script(sql: string): Promise<void>;
}

/**
 * One database, by one connection or many. Every use is a whole transaction: `work` is given the only handle to it,
 * awaits nothing else, and all or none of what it wrote is kept. `doing` completes the sentence "Cannot …" should it
 * fail; failures of the database itself are `StoreError`s.
 */
export interface Database {
  /** A path or an address, for people. */
  readonly name: string;
  /** For writing: no other writer comes between the first statement and the last. */
  transaction<Result>(doing: string, work: (queries: Queries) => Promise<Result>): Promise<Result>;
  /** For reading: all statements see the same state. */
  read<Result>(doing: string, work: (queries: Queries) => Promise<Result>): Promise<Result>;
  /** A whole copy as of one instant, while others write. The file may not be there yet. */
  copyTo(file: string): Promise<void>;
  /** How much of the disk the rows take. */
  usedBytes(): Promise<number>;
  /** Gives free space back to the file system, a little at a time. */
  shrink(): Promise<void>;
  /** Waits for what was begun. */
  close(): Promise<void>;
}
