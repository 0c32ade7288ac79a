/** A run whose task is over and whose replies are out: nothing will be added to it. */
export interface OldRun {
  readonly run_id: string;
  readonly task_id: string;
  readonly finished_at: number;
}

/** What is left of a run that is no longer kept. */
export interface ForgottenRun {
  readonly run_id: string;
  readonly task_id: string;
  readonly events: number;
  /** Of its first and its last event, ISO 8601; null where there was none. */
  readonly first_ts: string | null;
  readonly last_ts: string | null;
  readonly last_hash: string;
  readonly forgotten_at: number;
  /** Null: what there was of it may still be there. */
  readonly removed_at: number | null;
}

/**
 * A run is forgotten in three steps, so that a crash between any two of them leaves the run or what tells of its end:
 * `markForgotten`, then the caller puts that on record, then `forgetRun`. Those that were cut short are in `unfinished`.
 */
export interface Upkeep {
  /** Runs that ended before this time and are still kept, oldest first. Not those that somebody still waits for. */
  oldRuns(options: {
    readonly before: number;
    readonly limit: number;
    readonly offset?: number;
  }): Promise<readonly OldRun[]>;
  /** Whether the run is one of the store's, kept or not. */
  knows(run_id: string): Promise<boolean>;
  /** From now on the run cannot be gone on with. Nothing is removed yet. Undefined: it is in use, or none of that id. */
  markForgotten(run_id: string): Promise<ForgottenRun | undefined>;
  /** Marked and not removed, oldest first. */
  unfinished(limit: number): Promise<readonly ForgottenRun[]>;
  /**
   * Takes what is kept of a marked run out of the tables, some rows at a time: its events, calls, replies, approvals and
   * what was said. The task stays as a line (so that its message is not taken again), and so does what tells of the run.
   */
  forgetRun(run_id: string): Promise<void>;
  /** Nothing of the run is left anywhere. */
  markRemoved(run_id: string): Promise<void>;
  /** By the id of the run or of its task. */
  forgotten(id: string): Promise<ForgottenRun | undefined>;
  /** All that were forgotten, by their ids, some at a time. */
  allForgotten(options: { readonly after?: string; readonly limit: number }): Promise<readonly ForgottenRun[]>;
  /** How much of the disk the rows take. */
  usedBytes(): Promise<number>;
  /** A whole copy of the database, as of one instant, while others write. The file may not be there yet. */
  backup(file: string): Promise<void>;
  /** Gives pages that are free back to the file system, a few at a time. */
  shrink(): Promise<void>;
}
