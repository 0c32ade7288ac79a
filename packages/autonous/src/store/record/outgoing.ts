import type { AttachedFile } from "@autonous/runtime/internal";

/**
 * A message to send: an answer, a file, an approval request or a displayed message. Stored in the transaction that
 * causes it.
 */
export type Outgoing =
  | { readonly kind: "text"; readonly text: string }
  | ({ readonly kind: "file" } & AttachedFile)
  | { readonly kind: "approval"; readonly approval_id: string }
  | ShownMessage;

/** A message shown by a tool while its task runs, sent separately. */
export interface ShownMessage {
  readonly kind: "display";
  readonly content: string;
  readonly level: string;
  readonly title?: string;
  readonly evidence?: readonly string[];
}

export interface OutboxRow {
  readonly id: number;
  readonly task_id: string;
  readonly run_id: string;
  readonly channel: string;
  readonly chat: string;
  readonly content: Outgoing;
  /** Number of failed attempts. */
  readonly attempts: number;
  readonly created_at: number;
}

export interface GivenUpAnswer {
  readonly task_id: string;
  readonly kind: Exclude<Outgoing["kind"], "display">;
}

export interface Outbox {
  /**
   * Messages that are due, in order within each chat: the first of every chat, then the second of every chat. Messages
   * behind one that waits for its next attempt wait too.
   */
  pending(options: { readonly limit: number; readonly channel?: string }): Promise<readonly OutboxRow[]>;
  /** The channel accepted it and returned this receipt. Idempotent. */
  markSent(id: number, receipt?: string): Promise<void>;
  /** The channel did not accept it; it is due again at `next_at`. */
  markFailed(id: number, failure: { readonly error: string; readonly next_at: number }): Promise<void>;
  /** It is undeliverable (such as a deleted chat). The messages behind it are sent. */
  giveUp(id: number, error: string): Promise<void>;
  /** Undeliverable answers, files and approval requests of a chat, oldest first. `tasks.resend` sends them again. */
  givenUp(of: { readonly channel: string; readonly chat: string }): Promise<readonly GivenUpAnswer[]>;
  /** When the next one is due, of all channels unless one is named; null: none waits. */
  nextDueAt(channel?: string): Promise<number | null>;
  /** The channel's receipt for the message of this approval request. */
  receiptOf(approval_id: string): Promise<{ readonly chat: string; readonly receipt: string } | undefined>;
  /** The message of this approval request is no longer reachable: sends it again, unless it is still unsent. */
  askAgain(approval_id: string): Promise<void>;
}

/** The last output line of a running call. Redacted; not recorded. */
export interface OutputLine {
  readonly task_id: string;
  readonly tool_call_id: string;
  readonly line: string;
}
