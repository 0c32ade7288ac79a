/** A run whose task has ended and whose replies were sent: nothing will be added to it. */
export interface OldRun {
  readonly run_id: string;
  readonly task_id: string;
  readonly finished_at: number;
}

/** What remains of a pruned run. */
export interface ForgottenRun {
  readonly run_id: string;
  readonly task_id: string;
  readonly events: number;
  /** Times of its first and last event, ISO 8601; null if it had no events. */
  readonly first_ts: string | null;
  readonly last_ts: string | null;
  readonly last_hash: string;
  readonly forgotten_at: number;
  /** Null: its data may not be deleted yet. */
  readonly removed_at: number | null;
}

/**
 * A run is pruned in three steps, so that after a crash between any two of them either the run or its deletion record
 * exists: `markForgotten`, then the caller records the pruning, then `forgetRun`. `unfinished` lists interrupted ones.
 */
export interface Upkeep {
  /**
   * Runs that ended before this time and are not pruned, oldest first. Without those that have unsent replies or open
   * approvals.
   */
  oldRuns(options: {
    readonly before: number;
    readonly limit: number;
    readonly offset?: number;
  }): Promise<readonly OldRun[]>;
  /** Whether the run belongs to the store, pruned or not. */
  knows(run_id: string): Promise<boolean>;
  /** From now on the run cannot be resumed. Deletes nothing yet. Undefined: it is in use, or does not exist. */
  markForgotten(run_id: string): Promise<ForgottenRun | undefined>;
  /** Marked but not removed, oldest first. */
  unfinished(limit: number): Promise<readonly ForgottenRun[]>;
  /**
   * Deletes the data of a marked run from the tables, some rows at a time: events, calls, replies, approvals and
   * messages. The row of the task remains (so that its message is not accepted again), and so does the deletion record.
   */
  forgetRun(run_id: string): Promise<void>;
  /** Call when no data of the run is left, in the store or in files. */
  markRemoved(run_id: string): Promise<void>;
  /** By the id of the run or of its task. */
  forgotten(id: string): Promise<ForgottenRun | undefined>;
  /** Deletion records ordered by run id, one page at a time. */
  allForgotten(options: { readonly after?: string; readonly limit: number }): Promise<readonly ForgottenRun[]>;
  /** Disk space used by rows, without free pages. */
  usedBytes(): Promise<number>;
  /** Copies a snapshot of the database while others may write. The target file must not exist. */
  backup(file: string): Promise<void>;
  /** Releases free pages to the file system, a few at a time. */
  shrink(): Promise<void>;
}
