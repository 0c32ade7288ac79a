import { EMPTY_TAIL } from "@autonous/runtime/internal";
import type { Database, Queries } from "../sqlite/database.ts";
import { SERVICE_CHAIN } from "../record/service-chain.ts";

/** A run whose task has ended and whose replies were sent: nothing will be added to it. */
interface OldRun {
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

/** The task has ended, all replies were sent, and no approval is open. */
const IS_IDLE = `finished_at is not null and forgotten_at is null
  and not exists (select 1 from outbox where outbox.task_id = inbox.task_id and sent_at is null and gave_up_at is null)
  and not exists (select 1 from approvals where approvals.run_id = inbox.run_id and state in ('pending', 'granted'))`;
const OLD = `select run_id, task_id, finished_at from inbox where ${IS_IDLE} and finished_at < ?
  order by finished_at limit ? offset ?`;
const KNOWN = `select 1 from inbox where run_id = ?1 union all select 1 from (${SERVICE_CHAIN}) where run_id = ?1`;
const MARK = `update inbox set forgotten_at = ? where run_id = ? and ${IS_IDLE}`;
const REMEMBER = `insert into forgotten_runs (run_id, task_id, events, first_ts, last_ts, last_hash, forgotten_at)
  select inbox.run_id, inbox.task_id, coalesce(last.seq, 0), first.ts, last.ts, coalesce(last.hash, '${EMPTY_TAIL.hash}'),
    inbox.forgotten_at from inbox
  left join events as first on first.run_id = inbox.run_id and first.seq = 1
  left join events as last on last.run_id = inbox.run_id
    and last.seq = (select max(seq) from events where events.run_id = inbox.run_id)
  where inbox.run_id = ?`;

const COLUMNS = "run_id, task_id, events, first_ts, last_ts, last_hash, forgotten_at, removed_at";
const BY_RUN = `select ${COLUMNS} from forgotten_runs where run_id = ?`;
const BY_TASK = `select ${COLUMNS} from forgotten_runs where run_id = (select run_id from inbox where task_id = ?)`;
const UNFINISHED = `select ${COLUMNS} from forgotten_runs where removed_at is null order by forgotten_at limit ?`;
const PAGE = `select ${COLUMNS} from forgotten_runs where run_id > ? order by run_id limit ?`;

/** Rows deleted per transaction: takes some milliseconds, so that other writers do not wait for long. */
const ROWS = 500;
/** Deletes from the end: what remains is the start of the chain, which still matches the run's file. */
const LAST_EVENTS = `delete from events where run_id = ?1
  and seq > (select max(seq) from events where run_id = ?1) - ${ROWS}`;
const SOME_CALLS = `delete from tool_calls where rowid in (select rowid from tool_calls where run_id = ? limit ${ROWS})`;
const THE_REST = [
  "delete from task_audit where task_id = (select task_id from inbox where run_id = ?)",
  "delete from history where task_id = (select task_id from inbox where run_id = ?)",
  "delete from outbox where task_id = (select task_id from inbox where run_id = ?)",
  "delete from approvals where run_id = ?",
  // A grant for the session outlives the run in which it was given.
  "delete from grants where run_id = ? and (scope = 'run' or revoked_at is not null)",
  "delete from quota_use where per = 'run' and holder = ?",
  // A dead letter without its data cannot be retried, so it becomes failed.
  `update inbox set text = '', origin = null, files = null, error = null, state = case state when 'dead_letter' then 'failed' else state end
    where run_id = ? and forgotten_at is not null`,
];
const REMOVED = "update forgotten_runs set removed_at = ? where run_id = ? and removed_at is null";

export function createUpkeep(database: Database, clock: () => number): Upkeep {
  return {
    oldRuns: ({ before, limit, offset = 0 }) =>
      database.read("find old runs", (queries) => queries.all<OldRun>(OLD, [before, limit, offset])),
    knows: (run_id) =>
      database.read(`find run "${run_id}"`, async (queries) => (await queries.one(KNOWN, [run_id])) !== undefined),
    markForgotten: (run_id) =>
      database.transaction(`prune run "${run_id}"`, async (queries) => {
        if ((await queries.run(MARK, [clock(), run_id])) === 0) return undefined;
        await queries.run(REMEMBER, [run_id]);
        return await queries.one<ForgottenRun>(BY_RUN, [run_id]);
      }),
    unfinished: (limit) =>
      database.read("find runs to delete", (queries) => queries.all<ForgottenRun>(UNFINISHED, [limit])),
    forgetRun: (run_id) => forgetRun(database, run_id),
    markRemoved: (run_id) =>
      database.transaction(
        `prune run "${run_id}"`,
        async (queries) => void (await queries.run(REMOVED, [clock(), run_id])),
      ),
    forgotten: (id) =>
      database.read(
        `read the deletion record of "${id}"`,
        async (queries) =>
          (await queries.one<ForgottenRun>(BY_RUN, [id])) ?? (await queries.one<ForgottenRun>(BY_TASK, [id])),
      ),
    allForgotten: ({ after = "", limit }) =>
      database.read("list deletion records", (queries) => queries.all<ForgottenRun>(PAGE, [after, limit])),
    usedBytes: () => database.usedBytes(),
    backup: (file) => database.copyTo(file),
    shrink: () => database.shrink(),
  };
}

async function forgetRun(database: Database, run_id: string): Promise<void> {
  const inTransaction = <T>(work: (queries: Queries) => Promise<T>): Promise<T> =>
    database.transaction(`prune run "${run_id}"`, work);
  const isMarked = await inTransaction((queries) => queries.one<ForgottenRun>(BY_RUN, [run_id]));
  if (isMarked === undefined) throw new Error(`Cannot prune run "${run_id}": the deletion was not recorded first`);
  for (const sql of [SOME_CALLS, LAST_EVENTS])
    for (;;) if ((await inTransaction((queries) => queries.run(sql, [run_id]))) === 0) break;
  await inTransaction(async (queries) => {
    for (const sql of THE_REST) await queries.run(sql, [run_id]);
  });
}
