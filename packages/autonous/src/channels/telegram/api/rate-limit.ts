import { pause } from "@autonous/runtime/internal";

interface RateLimitOptions {
  /** One that is never set back, or chats would be silent for as long as it was. */
  readonly clock?: () => number;
  /** Between two messages to one chat. Telegram's own: one a second, twenty a minute in groups. */
  readonly chatMs?: number;
  readonly groupMs?: number;
  /** Between any two. Telegram's own: thirty a second. */
  readonly anyMs?: number;
}

const CHAT_MS = 1000;
const GROUP_MS = 3000;
const ANY_MS = 34;
/** Above this, chats whose time is over are forgotten. */
const MAX_CHATS = 1000;

/** Milliseconds since some moment; setting the machine's clock does not change it. */
export function monotonic(): number {
  return performance.now();
}

/** Keeps what is sent below what Telegram takes, and knows where it asked to be left alone. */
export class RateLimit {
  readonly #options: Required<RateLimitOptions>;
  /** When the next message to a chat may go out. */
  readonly #chats = new Map<number, number>();
  /** Until when Telegram wants nothing more for a chat, or of a method that goes to none. */
  readonly #held = new Map<number | string, number>();
  /** The last of those who wait for a chat. */
  readonly #turns = new Map<number, Promise<void>>();
  #any = 0;

  constructor({ clock = monotonic, chatMs = CHAT_MS, groupMs = GROUP_MS, anyMs = ANY_MS }: RateLimitOptions = {}) {
    this.#options = { clock, chatMs, groupMs, anyMs };
  }

  /** Returns when it is this message's turn, in the order of asking; rejects with the signal's reason. */
  async take(chat: number, signal: AbortSignal): Promise<void> {
    const mine = (): Promise<void> => this.#waitFor(chat, signal);
    const turn = (this.#turns.get(chat) ?? Promise.resolve()).then(mine, mine);
    this.#turns.set(chat, turn);
    try {
      await turn;
    } finally {
      if (this.#turns.get(chat) === turn) this.#turns.delete(chat);
    }
  }

  /** Whether a message to the chat could go out now. */
  isTurn(chat: number): boolean {
    return this.#wait(chat) <= 0;
  }

  /** For what need not be sent: false where it is not its turn now. */
  tryTake(chat: number): boolean {
    if (!this.isTurn(chat)) return false;
    this.#count(chat);
    return true;
  }

  /** Telegram asks to wait this long with this chat or this method. */
  hold(what: number | string, ms: number): void {
    const until = this.#options.clock() + ms;
    this.#held.set(what, Math.max(this.#held.get(what) ?? 0, until));
  }

  /** For how many whole milliseconds; 0 where it may be asked. */
  heldMs(what: number | string): number {
    const ms = (this.#held.get(what) ?? 0) - this.#options.clock();
    if (ms <= 0) this.#held.delete(what);
    return Math.max(0, Math.ceil(ms));
  }

  async #waitFor(chat: number, signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const waitMs = this.#wait(chat);
      if (waitMs <= 0) break;
      await pause(waitMs, { signal });
    }
    this.#count(chat);
  }

  #wait(chat: number): number {
    const at = Math.max(this.#chats.get(chat) ?? 0, this.#any);
    return Math.max(at - this.#options.clock(), this.heldMs(chat));
  }

  #count(chat: number): void {
    const { clock, chatMs, groupMs, anyMs } = this.#options;
    const now = clock();
    this.#chats.set(chat, now + (chat < 0 ? groupMs : chatMs)); // groups have numbers below zero
    this.#any = now + anyMs;
    if (this.#chats.size > MAX_CHATS) for (const [each, at] of this.#chats) if (at <= now) this.#chats.delete(each);
  }
}
