export interface HistoryRow {
  readonly task_id: string;
  readonly role: "user" | "assistant";
  readonly text: string;
  readonly created_at: number;
}

export interface History {
  /** The last `limit` messages of the conversation before this task, oldest first. */
  before(task_id: string, limit: number): Promise<readonly HistoryRow[]>;
  /** Tasks queued in the lane from now on do not get earlier messages. The same `external_id` counts once. */
  startFresh(start: { readonly lane: string; readonly external_id: string; readonly by: string }): Promise<void>;
}
