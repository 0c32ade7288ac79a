import type { ToolCallResult } from "@autonous/runtime";
import type {
  ApprovalKeeper,
  EventDraft,
  EventType,
  Journal,
  MemoryKeeper,
  QuotaKeeper,
} from "@autonous/runtime/internal";
import type { Upkeep } from "./keepers/run-retention.ts";
import type { History } from "./queue/history.ts";
import type { Events } from "./record/event-table.ts";
import type { Outbox, Outgoing } from "./record/outgoing.ts";
import type { RecordChecks } from "./record/record-checks.ts";
import type { Revisions } from "./queue/revisions.ts";
import type { TaskState, WorkingState } from "./queue/task-states.ts";

export type { HistoryRow } from "./queue/history.ts";
export type { ForgottenRun } from "./keepers/run-retention.ts";
export type { EventFilter, Events } from "./record/event-table.ts";
export type { GivenUpAnswer, Outbox, OutboxRow, Outgoing, ShownMessage } from "./record/outgoing.ts";

/**
 * The interface of the store. Every method is one transaction: when it returns, its changes survive kill -9 and a power
 * loss; when it throws, nothing was changed. Times are milliseconds since the epoch.
 */
export interface Store {
  readonly inbox: Inbox;
  readonly revisions: Revisions;
  readonly outbox: Outbox;
  readonly tasks: Tasks;
  readonly events: Events;
  readonly calls: Calls;
  readonly history: History;
  readonly approvals: ApprovalKeeper;
  readonly quotas: QuotaKeeper;
  readonly memory: MemoryKeeper;
  readonly upkeep: Upkeep;
  /** For `audit verify`. */
  readonly checks: RecordChecks;
  readonly kv: KeyValues;
  /** The journal of a run. With a lease, appending is refused (`Fenced`) once the lease is lost. */
  journal(run_id: string, lease?: LeaseKey): Journal;
  close(): Promise<void>;
}

/** Fencing token: proof that a worker holds a lane. Every write by a worker includes it; an outdated one is refused. */
export interface LeaseKey {
  readonly lane: string;
  readonly token: number;
}

export interface Lease extends LeaseKey {
  readonly worker: string;
  readonly task: Task;
  /** Number of this attempt, counting retries but not crashes. The first is 1. */
  readonly attempt: number;
  /** The task was running when its worker was lost. */
  readonly resumed: boolean;
}

export interface Task {
  readonly task_id: string;
  readonly run_id: string;
  readonly trace_id: string;
  readonly source: string;
  readonly external_id: string | null;
  readonly lane: string;
  readonly user: string | null;
  readonly text: string;
  /** Restricts the task from its start. */
  readonly skill: string | null;
  /** Data of the channel about the message, needed to answer it. Only the channel reads it. */
  readonly origin: string | null;
  /** Files that came with the message: `ReceivedFiles` as JSON. */
  readonly files: string | null;
  /** Undo these changes instead of asking the model: `UndoRequest` as JSON. */
  readonly undoes: string | null;
  readonly state: TaskState;
  /** Since it was queued, or since a person last retried it. */
  readonly attempts: number;
  readonly crashes: number;
  /** How often a person retried it after it had ended. */
  readonly retries: number;
  readonly error: string | null;
  /** Who asked to stop it. Once set, the task is not started or resumed again. */
  readonly cancel_by: string | null;
  readonly run_at: number;
  readonly created_at: number;
  readonly started_at: number | null;
  readonly finished_at: number | null;
}

export interface Message {
  /** The channel that it came from and that gets the reply. */
  readonly source: string;
  /** The channel's id of the message: it is accepted once, however often it is delivered. */
  readonly external_id?: string;
  /** The chat: its tasks run one at a time and in order. */
  readonly lane: string;
  readonly text: string;
  readonly user?: string;
  /** The skill that restricts the task. */
  readonly skill?: string;
  /** Data that the channel needs to answer it. */
  readonly origin?: string;
  /** Files that came with it, as JSON. */
  readonly files?: string;
  /** Undo these changes instead of asking the model. */
  readonly undoes?: UndoRequest;
  /** Earliest start. Later tasks of the lane wait too. */
  readonly run_at?: number;
}

/** A request to undo the changes of a run, as shown to a person. */
export interface UndoRequest {
  readonly run_id: string;
  /** Digest of what was shown: nothing is undone if the changes differ by then. */
  readonly digest: string;
}

export interface IngestResult {
  readonly task_id: string;
  readonly run_id: string;
  /** The message was accepted before; these are its ids. */
  readonly duplicate: boolean;
}

interface FinishOptions {
  /** Recorded before the task's last event, which the store adds. */
  readonly events?: readonly EventDraft[];
  /** Also claims the task that has waited longest, in the same transaction. */
  readonly take_next?: boolean;
}

export type Finish = FinishOptions &
  (
    | { readonly outcome: "done"; readonly reply: string }
    | { readonly outcome: "failed" | "dead"; readonly error: string; readonly reply?: string }
    /** The reply says what it changed; who stopped it is put before. */
    | { readonly outcome: "cancelled"; readonly error: string; readonly reply?: string }
    /** Waits for a person, without a worker. Its lane waits too. */
    | { readonly outcome: "parked" }
    | { readonly outcome: "retry"; readonly error: string; readonly retry_at: number }
  );

export interface Beat {
  /** Leases in `held` that the worker has lost. */
  readonly lost: readonly LeaseKey[];
  /** Leases in `held` whose task a person wants to stop. */
  readonly cancelled: readonly (LeaseKey & { readonly by: string })[];
}

export interface Inbox {
  ingest(message: Message): Promise<IngestResult>;
  /** Claims up to `slots` tasks, at most one per lane, longest waiting first. */
  claim(worker: string, slots: number): Promise<readonly Lease[]>;
  setState(lease: Lease, state: WorkingState): Promise<void>;
  /** Ends or requeues the task, and releases its lane. A retry stays at the head of its lane. */
  finish(lease: Lease, finish: Finish): Promise<{ readonly next: Lease | undefined }>;
  /**
   * Reports that the worker is alive and which leases it has; returns those that it has lost. A lane leased to it that
   * it does not know of (a claim whose answer was lost) is released at the second heartbeat after the claim.
   */
  heartbeat(worker: string, held: readonly LeaseKey[]): Promise<Beat>;
  /**
   * For the supervisor, when a worker has ended. Returns the number of released lanes. `blameless`: the worker was
   * ended on purpose (a forced shutdown), so its tasks do not count a crash.
   */
  releaseWorker(worker: string, options?: { readonly blameless?: boolean }): Promise<number>;
  /** When the next unclaimed task may start; null: no task waits. */
  nextReadyAt(): Promise<number | null>;
  /**
   * Releases the lanes of workers without a heartbeat for `leaseMs`, and ends expired approvals; returns the number of
   * both. Tasks that wait only because the clock was set back become ready. Any worker may call it.
   */
  recover(leaseMs: number): Promise<number>;
}

export interface TaskPage {
  readonly tasks: readonly Task[];
  /** Pass it as `after` for the next page; null: no more pages. */
  readonly next: number | null;
}

export interface AuditRow {
  readonly phase: string;
  readonly message: string;
  readonly created_at: number;
}

export interface TaskDetails {
  readonly task: Task;
  readonly audit: readonly AuditRow[];
  /** The last reply, sent or not. */
  readonly reply: string | null;
  readonly reply_sent_at: number | null;
  /** Answers, files and approval requests that wait to be sent or are undeliverable. */
  readonly unsent: readonly Unsent[];
}

/** An unsent message. */
interface Unsent {
  readonly kind: Outgoing["kind"];
  readonly channel: string;
  readonly attempts: number;
  /** Why the last attempt failed; null: not tried yet. */
  readonly error: string | null;
  /** Time of the next attempt; null: undeliverable. */
  readonly next_at: number | null;
}

export interface TaskFilter {
  readonly state?: TaskState;
  readonly lane?: string;
  readonly limit: number;
  readonly after?: number;
}

/** Result of a request: done; `stopping`: a worker is running the task and will end it; or refused, with the reason. */
export type TaskAnswer =
  | { readonly outcome: "done" | "stopping"; readonly task: Task }
  | { readonly outcome: "refused"; readonly task: Task; readonly why: string };

/** Counts of the queue, for people and for `/metrics`. The cost does not grow with the number of ended tasks. */
export interface QueueCounts {
  /** Tasks that have not ended, and dead letters. States without tasks are left out. */
  readonly by_state: Readonly<Partial<Record<TaskState, number>>>;
  /** Time of the task that has waited longest to start; null: none waits. */
  readonly oldest_queued_at: number | null;
  readonly unsent: number;
  readonly oldest_unsent_at: number | null;
  readonly pending_approvals: number;
}

export interface Tasks {
  /** Newest first. */
  list(options: TaskFilter): Promise<TaskPage>;
  get(task_id: string): Promise<TaskDetails | undefined>;
  counts(): Promise<QueueCounts>;
  /** Stops it: at once if no worker is running it; otherwise its worker is told. Undefined: the task does not exist. */
  cancel(task_id: string, by: string): Promise<TaskAnswer | undefined>;
  /** Requeues a failed, dead-lettered or cancelled task, behind the waiting tasks of its chat. */
  retry(task_id: string, by: string): Promise<TaskAnswer | undefined>;
  /** Sends undeliverable messages again: the answer, files and open approval requests. */
  resend(task_id: string, by: string): Promise<TaskAnswer | undefined>;
  /** Discards a failed task or dead letter. Its audit log stays. */
  drop(task_id: string, by: string): Promise<TaskAnswer | undefined>;
}

export interface Calls {
  /** The result of a finished call, so that it does not run again after a crash. */
  result(call: { readonly run_id: string; readonly tool_call_id: string }): Promise<ToolCallResult | undefined>;
}

export interface KeyValues {
  get(key: string): Promise<string | undefined>;
  set(key: string, value: string): Promise<void>;
  /**
   * Changes one value and records the resulting events in one transaction, without interleaved writes. `change` must be
   * pure. If it returns no value, the old one is kept.
   */
  update<Result>(key: string, change: (value: string | undefined) => ValueChange<Result>): Promise<Result>;
}

export interface ValueChange<Result> {
  readonly result: Result;
  readonly value?: string;
  /** Recorded in the chain of the service, which belongs to no task and is never pruned. */
  readonly events?: readonly ServiceEvent[];
}

export interface ServiceEvent {
  readonly type: EventType;
  readonly payload: Readonly<Record<string, unknown>>;
}
