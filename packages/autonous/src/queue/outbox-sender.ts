import type { OutboxRow } from "../store/store.ts";

/** Interface that each channel implements for the queue. */
export interface OutboxSender {
  /** Its name: the `source` of its tasks. */
  readonly channel: string;
  /**
   * Sends an outbox row. Returns once the channel has accepted it, with a receipt if one is needed later (to edit an
   * approval request after the answer). Throws otherwise, and is called again later; a `DeliveryError` says when, or
   * that a retry is useless. `joined`: the following rows, sent in the same message.
   */
  send(row: OutboxRow, joined?: readonly OutboxRow[]): Promise<{ readonly receipt?: string }>;
  /** How many of these rows, counted from the first, go into one message: `send` gets them together. Default: 1. */
  countJoined?(rows: readonly OutboxRow[]): number;
}

interface DeliveryErrorOptions {
  /** The wait that the channel asked for. */
  readonly retryAfterMs?: number;
  /** It can never be delivered: the chat was deleted, or the person blocked the bot. */
  readonly forGood?: boolean;
  readonly cause?: unknown;
}

/** The channel did not accept a message. */
export class DeliveryError extends Error {
  readonly retryAfterMs: number | undefined;
  readonly forGood: boolean;

  constructor(message: string, { retryAfterMs, forGood = false, cause }: DeliveryErrorOptions = {}) {
    super(message, { cause });
    this.retryAfterMs = retryAfterMs;
    this.forGood = forGood;
  }
}
