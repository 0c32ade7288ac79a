/** Where something is said: a chat, and in a group with topics one of them. */
export interface Address {
  readonly chat: number;
  /** The topic. Left out in chats without topics, and in the general one. */
  readonly thread?: number;
}

/** The lane of its tasks: they run one at a time and in order. */
export function laneOf({ chat, thread }: Address): string {
  return `telegram:${chat}${thread === undefined ? "" : `:${thread}`}`;
}

/** Undefined if the lane is not one of Telegram's. */
export function addressOf(lane: string): Address | undefined {
  const [, chat, thread] = /^telegram:(-?\d{1,16})(?::(\d{1,16}))?$/.exec(lane) ?? [];
  if (chat === undefined) return undefined;
  return { chat: Number(chat), ...(thread === undefined ? {} : { thread: Number(thread) }) };
}

/** The key in `kv` of something that is kept for each chat or topic. */
export function keyOf(what: string, { chat, thread }: Address): string {
  return `telegram:${what}:${chat}${thread === undefined ? "" : `:${thread}`}`;
}

/** What a method that sends needs so that it is sent to the topic. */
export function inTopic({ thread }: Address): { readonly message_thread_id?: number } {
  return thread === undefined ? {} : { message_thread_id: thread };
}

/** Without whatever else the object has. */
export function addressIn({ chat, thread }: Address): Address {
  return { chat, ...(thread === undefined ? {} : { thread }) };
}

/** A Telegram user, as the record names the person who asked or answered. */
export function personOf(user: number): string {
  return `telegram:${user}`;
}
