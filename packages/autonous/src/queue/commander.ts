import type { OutboxRow } from "../store/store.ts";

/** What the queue asks of a channel. Each channel is one. */
export interface Commander {
  /** The name that its tasks carry as their `source`. */
  readonly channel: string;
  /**
   * Sends what stands in the outbox. Gives when the channel has taken it, with a receipt where it will be needed (to
   * change a question once it is answered); throws when it has not, and is asked again later: `NotSent` says when, and
   * whether at all. `joined` are the rows behind it that go out with it.
   */
  send(row: OutboxRow, joined?: readonly OutboxRow[]): Promise<{ readonly receipt?: string }>;
  /** How many of these, from the first on, go out as one message: `send` gets them together. Default: one. */
  countJoined?(rows: readonly OutboxRow[]): number;
}

interface NotSentOptions {
  /** The channel asked to be left alone for so long. */
  readonly retryAfterMs?: number;
  /** It will never be taken: the chat is gone, or the person has shut the door. */
  readonly forGood?: boolean;
  readonly cause?: unknown;
}

/** Why a channel did not take something. */
export class NotSent extends Error {
  readonly retryAfterMs: number | undefined;
  readonly forGood: boolean;

  constructor(message: string, { retryAfterMs, forGood = false, cause }: NotSentOptions = {}) {
    super(message, { cause });
    this.retryAfterMs = retryAfterMs;
    this.forGood = forGood;
  }
}
