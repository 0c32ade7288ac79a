/** A file for whoever asked. The payload of `tool_call.completed` has these as `attachments`; channels send them. */
export interface AttachedFile {
  /** Where the copy lies that is sent, relative to the run's folder: `artifacts/<hash>-<name>`. */
  readonly artifact: string;
  /** As the receiver sees it. */
  readonly name: string;
  readonly media_type: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly caption?: string;
}

/** What a bot may send by Telegram, which takes least of all channels. */
export const MOST_ATTACHED_BYTES = 50_000_000;
