/** A file for the requester. The payload of `tool_call.completed` has these as `attachments`; channels send them. */
export interface AttachedFile {
  /** The path of the copy to send, relative to the run's folder: `artifacts/<hash>-<name>`. */
  readonly artifact: string;
  /** The name that the receiver sees. */
  readonly name: string;
  readonly media_type: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly caption?: string;
}

/** Telegram's limit for bots, the lowest of all channels. */
export const MAX_ATTACHED_BYTES = 50_000_000;
