import type { Commander } from "../queue/commander.ts";
import type { ServiceContext } from "./context.ts";
import { openTelegramChannel } from "./telegram.ts";

/** A channel that is open: it takes messages in by itself, and its commander sends what stands in the outbox. */
export interface OpenChannel {
  readonly commander: Commander;
  /** Takes no more in. Closed after the last replies were sent. */
  close(): Promise<void>;
}

/** Undefined where the channel is not configured. Throws `CannotServe` with what to do. */
type OpenAChannel = (context: ServiceContext) => Promise<OpenChannel | undefined>;

/** Every channel beside HTTP, which is always there. What is heavy is imported when it is opened. */
export const CHANNELS: readonly OpenAChannel[] = [openTelegramChannel];
