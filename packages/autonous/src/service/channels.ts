import type { OutboxSender } from "../queue/outbox-sender.ts";
import type { ServiceContext } from "./context.ts";
import { openTelegramChannel } from "./telegram-channel.ts";

/** An open channel: it receives messages, and its sender sends the entries of the outbox. */
export interface OpenChannel {
  readonly sender: OutboxSender;
  /** Stops receiving. Closed after the last replies were sent. */
  close(): Promise<void>;
}

/** Undefined if the channel is not configured. Throws `CannotServe` with what to do. */
type ChannelOpener = (context: ServiceContext) => Promise<OpenChannel | undefined>;

/** Every channel except HTTP, which is always open. Heavy modules are imported when a channel opens. */
export const CHANNELS: readonly ChannelOpener[] = [openTelegramChannel];
