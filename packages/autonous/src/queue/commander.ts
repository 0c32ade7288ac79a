/** What the queue asks of a channel. Each channel is one. */
export interface Commander {
  /** The name that its tasks carry as their `source`. */
  readonly channel: string;
  /** Sends a reply. Returns when the channel has taken it; throws when it has not, and is asked again later. */
  send(reply: { readonly chat: string; readonly task_id: string; readonly text: string }): Promise<void>;
}
