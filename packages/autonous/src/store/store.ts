import type { ApprovalKeeper, EventDraft, Journal, QuotaKeeper, RuntimeEvent, ToolCallResult } from "@autonous/runtime";
import type { TaskState, WorkingState } from "./task-states.ts";

/**
 * What the others ask of the store. Every method is one whole transaction: when it returns, what it did survives kill
 * -9 and a power cut; when it throws, nothing of it was done. Times are milliseconds since the epoch.
 */
export interface Store {
  readonly inbox: Inbox;
  readonly outbox: Outbox;
  readonly tasks: Tasks;
  readonly events: Events;
  readonly calls: Calls;
  readonly history: History;
  readonly approvals: ApprovalKeeper;
  readonly quotas: QuotaKeeper;
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
  readonly state: TaskState;
  readonly attempts: number;
  readonly crashes: number;
  readonly error: string | null;
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
  /** Not before this time. What is behind it in the lane waits too. */
  readonly run_at?: number;
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
  heartbeat(worker: string, held: readonly LeaseKey[]): Promise<readonly LeaseKey[]>;
  /** For whoever saw the worker end. Gives the number of lanes that were freed. */
  releaseWorker(worker: string): Promise<number>;
  /**
   * Frees the lanes of workers that were silent for longer than this, and ends approvals whose time is over; gives the
   * number of both. Anybody may call it.
   */
  recover(leaseMs: number): Promise<number>;
}

export interface OutboxRow {
  readonly id: number;
  readonly task_id: string;
  readonly channel: string;
  readonly chat: string;
  readonly body: string;
  readonly created_at: number;
}

export interface Outbox {
  /** Replies still to be sent, in order within each chat; first the first of every chat, then the second of every chat. */
  pending(options: { readonly limit: number; readonly channel?: string }): Promise<readonly OutboxRow[]>;
  /** The channel took it. Saying so again changes nothing. */
  markSent(id: number): Promise<void>;
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

interface TaskDetails {
  readonly task: Task;
  readonly audit: readonly AuditRow[];
  /** The last reply, whether it was sent already or not. */
  readonly reply: string | null;
  readonly reply_sent_at: number | null;
}

export interface Tasks {
  /** Newest first. */
  list(options: { readonly state?: TaskState; readonly limit: number; readonly after?: number }): Promise<TaskPage>;
  get(task_id: string): Promise<TaskDetails | undefined>;
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
  /** The first `limit` events after a position, over all runs unless one is named. */
  read(filter: EventFilter & { readonly after?: number }): Promise<readonly RecordedEvent[]>;
  /** The last `limit` events, oldest first. */
  last(filter: EventFilter): Promise<readonly RecordedEvent[]>;
}

export interface Calls {
  /** What a finished call gave back, so that it need not run again after a crash. */
  result(call: { readonly run_id: string; readonly tool_call_id: string }): Promise<ToolCallResult | undefined>;
}

export interface HistoryRow {
  readonly task_id: string;
  readonly role: "user" | "assistant";
  readonly text: string;
  readonly created_at: number;
}

export interface History {
  /** The last `limit` things said in a chat, oldest first. Tasks that are not over are not in it. */
  recent(lane: string, limit: number): Promise<readonly HistoryRow[]>;
}

export interface KeyValues {
  get(key: string): Promise<string | undefined>;
  set(key: string, value: string): Promise<void>;
}
