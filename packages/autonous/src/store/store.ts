import type {
  ApprovalKeeper,
  EventDraft,
  EventType,
  Journal,
  MemoryKeeper,
  QuotaKeeper,
  RuntimeEvent,
  ToolCallResult,
} from "@autonous/runtime";
import type { AuditFilter, AuditPage } from "./record/audit-filter.ts";
import type { Upkeep } from "./keepers/kept-runs.ts";
import type { History } from "./queue/conversation.ts";
import type { RecordedRow } from "./record/events.ts";
import type { Outbox, Outgoing } from "./record/outgoing.ts";
import type { RecordChecks } from "./record/record-checks.ts";
import type { Revisions } from "./queue/revisions.ts";
import type { TaskState, WorkingState } from "./queue/task-states.ts";

export type { History, HistoryRow } from "./queue/conversation.ts";
export type { ForgottenRun, OldRun, Upkeep } from "./keepers/kept-runs.ts";
export type { GivenUpAnswer, Outbox, OutboxRow, Outgoing, ShownMessage } from "./record/outgoing.ts";

/**
 * What the others ask of the store. Every method is one whole transaction: when it returns, what it did survives kill
 * -9 and a power cut; when it throws, nothing of it was done. Times are milliseconds since the epoch.
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
  /** The record of a run. With a lease, appending is refused (`Fenced`) once the lease is lost. */
  journal(run_id: string, lease?: LeaseKey): Journal;
  close(): Promise<void>;
}

/** Proof that a worker holds a lane. Every write by a worker carries it; one that is out of date is refused. */
export interface LeaseKey {
  readonly lane: string;
  readonly token: number;
}

export interface Lease extends LeaseKey {
  readonly worker: string;
  readonly task: Task;
  /** How often the task was begun, retries included, crashes not. The first is 1. */
  readonly attempt: number;
  /** The task was under way when its worker was lost. */
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
  /** What the channel noted of the message, to answer it. In its own words: nobody else reads it. */
  readonly origin: string | null;
  /** What came with the message beside text: `ReceivedFile[]` as JSON. */
  readonly files: string | null;
  /** Instead of asking the model: the changes that are undone, as JSON of `UndoWish`. */
  readonly undoes: string | null;
  readonly state: TaskState;
  /** Since it was put in, or since a person put it back. */
  readonly attempts: number;
  readonly crashes: number;
  /** How often a person put it back after it had ended. */
  readonly retries: number;
  readonly error: string | null;
  /** Who asked for it to be stopped. Whatever becomes of it, it is not begun or gone on with again. */
  readonly cancel_by: string | null;
  readonly run_at: number;
  readonly created_at: number;
  readonly started_at: number | null;
  readonly finished_at: number | null;
}

export interface Message {
  /** The channel that it came by, and that its reply goes to. */
  readonly source: string;
  /** The channel's own number for it: taken once, however often it is delivered. */
  readonly external_id?: string;
  /** The chat: its tasks run one at a time and in order. */
  readonly lane: string;
  readonly text: string;
  readonly user?: string;
  /** The skill that restricts the task. */
  readonly skill?: string;
  /** What the channel has to know of it when it is answered. */
  readonly origin?: string;
  /** Files that came with it, as JSON. */
  readonly files?: string;
  /** Undo these changes instead of asking the model. */
  readonly undoes?: UndoWish;
  /** Not before this time. What is behind it in the lane waits too. */
  readonly run_at?: number;
}

/** The changes of a run as a person was shown them. */
export interface UndoWish {
  readonly run_id: string;
  /** Of what was shown: the changes are not undone where they have become others. */
  readonly digest: string;
}

export interface Ingested {
  readonly task_id: string;
  readonly run_id: string;
  /** The message had been taken before; these are its ids. */
  readonly duplicate: boolean;
}

interface Closing {
  /** Recorded before the task's own last event, which the store adds. */
  readonly events?: readonly EventDraft[];
  /** Takes the task that has waited longest, in the same commit. */
  readonly take_next?: boolean;
}

export type Finish = Closing &
  (
    | { readonly outcome: "done"; readonly reply: string }
    | { readonly outcome: "failed" | "dead" | "cancelled"; readonly error: string; readonly reply?: string }
    /** Waits for a person. Its lane waits with it; nothing holds it. */
    | { readonly outcome: "parked" }
    | { readonly outcome: "retry"; readonly error: string; readonly retry_at: number }
  );

export interface Beat {
  /** Those of `held` that the worker has no longer. */
  readonly lost: readonly LeaseKey[];
  /** Those of `held` whose task a person wants stopped. */
  readonly cancelled: readonly (LeaseKey & { readonly by: string })[];
}

export interface Inbox {
  ingest(message: Message): Promise<Ingested>;
  /** Up to `slots` tasks, at most one of each lane, those that waited longest first. */
  claim(worker: string, slots: number): Promise<readonly Lease[]>;
  setState(lease: Lease, state: WorkingState): Promise<void>;
  /** Ends the task or puts it back, and frees its lane. A retry stays at the head of its lane. */
  finish(lease: Lease, finish: Finish): Promise<{ readonly next: Lease | undefined }>;
  /**
   * Says that the worker lives and what it holds; gives those of `held` that it has lost. A lane in its name that it does
   * not know of is freed (a claim that was stored although its answer got lost), at the second beat after it was taken.
   */
  heartbeat(worker: string, held: readonly LeaseKey[]): Promise<Beat>;
  /**
   * For whoever saw the worker end. Gives the number of lanes that were freed. `blameless`: it was ended on purpose (a
   * stop that would not wait), so no task that it held counts a crash.
   */
  releaseWorker(worker: string, options?: { readonly blameless?: boolean }): Promise<number>;
  /** When the next task may begin that nobody holds; null: none waits. For whoever would wait until then. */
  nextReadyAt(): Promise<number | null>;
  /**
   * Frees the lanes of workers that were silent for longer than this, and ends approvals whose time is over; gives the
   * number of both. What waits only because the clock was set back may begin. Anybody may call it.
   */
  recover(leaseMs: number): Promise<number>;
}

export interface TaskPage {
  readonly tasks: readonly Task[];
  /** Give it as `after` for the next page; null: there is none. */
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
  /** The last reply, whether it was sent already or not. */
  readonly reply: string | null;
  readonly reply_sent_at: number | null;
  /** What the channel has not taken: answers, files and questions that wait for it, or were given up. */
  readonly unsent: readonly Unsent[];
}

/** Something that is not sent. */
interface Unsent {
  readonly kind: Outgoing["kind"];
  readonly channel: string;
  readonly attempts: number;
  /** Why the last attempt was in vain; null: there was none. */
  readonly error: string | null;
  /** When it is tried next; null: it was given up. */
  readonly next_at: number | null;
}

export interface TaskFilter {
  readonly state?: TaskState;
  readonly lane?: string;
  readonly limit: number;
  readonly after?: number;
}

/** What became of asking: it is so now; it will be soon (`stopping`: a worker has it in hand); or why not. */
export type TaskAnswer =
  | { readonly outcome: "done" | "stopping"; readonly task: Task }
  | { readonly outcome: "refused"; readonly task: Task; readonly why: string };

/** What the queue holds, for people and for `/metrics`. Its cost does not grow with the tasks that are over. */
export interface QueueCounts {
  /** Tasks that are not over, and dead letters. States without any are left out. */
  readonly by_state: Readonly<Partial<Record<TaskState, number>>>;
  /** Of the task that has waited longest to begin; null: none waits. */
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
  /** Stops it: at once where nobody has it in hand; else its worker is told. Undefined: there is no such task. */
  cancel(task_id: string, by: string): Promise<TaskAnswer | undefined>;
  /** Puts one that failed, was given up or cancelled back into the queue, behind what waits in its chat. */
  retry(task_id: string, by: string): Promise<TaskAnswer | undefined>;
  /** Sends what was given up again: the answer, files and open questions. */
  resend(task_id: string, by: string): Promise<TaskAnswer | undefined>;
  /** A dead letter that nobody will look at again. Its record stays. */
  drop(task_id: string, by: string): Promise<TaskAnswer | undefined>;
}

export interface RecordedEvent {
  /** Rises over all runs in the order of recording. */
  readonly position: number;
  readonly event: RuntimeEvent;
}

export interface EventFilter {
  readonly run_id?: string;
  readonly task_id?: string;
  readonly limit: number;
}

export interface Events {
  /** The first `limit` events after a position, over all runs unless one is named. Throws where one is damaged. */
  read(filter: EventFilter & { readonly after?: number }): Promise<readonly RecordedEvent[]>;
  /** The last `limit` of them, oldest first. */
  last(filter: EventFilter): Promise<readonly RecordedEvent[]>;
  /** Both are for readers of several runs: a damaged row is reported in its place, and the others follow. */
  rows(filter: EventFilter & { readonly after?: number }): Promise<readonly RecordedRow[]>;
  lastRows(filter: EventFilter): Promise<readonly RecordedRow[]>;
  /** The audit records of calls, newest first. */
  audits(filter: AuditFilter): Promise<AuditPage>;
}

export interface Calls {
  /** What a finished call gave back, so that it need not run again after a crash. */
  result(call: { readonly run_id: string; readonly tool_call_id: string }): Promise<ToolCallResult | undefined>;
}

export interface KeyValues {
  get(key: string): Promise<string | undefined>;
  set(key: string, value: string): Promise<void>;
  /**
   * Changes one value and records what follows from it, in one commit; no other writer comes between. `change` only
   * computes. A value that it leaves out stays as it is.
   */
  update<Result>(key: string, change: (value: string | undefined) => KeptChange<Result>): Promise<Result>;
}

export interface KeptChange<Result> {
  readonly result: Result;
  readonly value?: string;
  /** Recorded in the chain of the service itself, which belongs to no task and is never pruned. */
  readonly events?: readonly ServiceEvent[];
}

export interface ServiceEvent {
  readonly type: EventType;
  readonly payload: Readonly<Record<string, unknown>>;
}
