import type { AttachedFile } from "@autonous/runtime";

/** What is to be sent. Each is recorded in the commit that makes it: an answer, a file, a question, something to show. */
export type Outgoing =
  | { readonly kind: "text"; readonly text: string }
  | ({ readonly kind: "file" } & AttachedFile)
  | { readonly kind: "approval"; readonly approval_id: string }
  | ShownMessage;

/** What a tool showed while its task goes on, to be sent as a message of its own. */
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
  /** How often it was tried in vain. */
  readonly attempts: number;
  readonly created_at: number;
}

export interface GivenUpAnswer {
  readonly task_id: string;
  readonly kind: Exclude<Outgoing["kind"], "display">;
}

export interface Outbox {
  /**
   * What is to be sent and due, in order within each chat; first the first of every chat, then the second of every chat.
   * What stands behind one that waits for its next attempt waits with it.
   */
  pending(options: { readonly limit: number; readonly channel?: string }): Promise<readonly OutboxRow[]>;
  /** The channel took it, and gave this receipt. Saying so again changes nothing. */
  markSent(id: number, receipt?: string): Promise<void>;
  /** The channel did not take it; it is due again at `next_at`. */
  markFailed(id: number, failure: { readonly error: string; readonly next_at: number }): Promise<void>;
  /** It can never be taken (the chat is gone). What stands behind it goes on. */
  giveUp(id: number, error: string): Promise<void>;
  /** What was given up in a chat and somebody waits for, oldest first. `tasks.resend` sends it again. */
  givenUp(of: { readonly channel: string; readonly chat: string }): Promise<readonly GivenUpAnswer[]>;
  /** When the next one is due, over all channels unless one is named; null: none waits. */
  nextDueAt(channel?: string): Promise<number | null>;
  /** What the channel gave for the question of this approval. */
  receiptOf(approval_id: string): Promise<{ readonly chat: string; readonly receipt: string } | undefined>;
  /** The message of this question is out of reach: it is sent again. One that is not sent yet is left alone. */
  askAgain(approval_id: string): Promise<void>;
}

/** The last line that a running call has printed. Redacted; on no record. */
export interface OutputLine {
  readonly task_id: string;
  readonly tool_call_id: string;
  readonly line: string;
}
