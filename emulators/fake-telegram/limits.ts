import { tooMany } from "./refusal.ts";
import type { Chat } from "./world.ts";

interface Limit {
  readonly messages: number;
  readonly per_ms: number;
}

export interface Limits {
  readonly private?: Limit;
  readonly group?: Limit;
  readonly all?: Limit;
}

/**
 * As core.telegram.org/bots/faq has them: about one message per second in a chat with short bursts allowed, 20 per
 * minute in a group, about 30 per second in all.
 */
export const TELEGRAM_LIMITS: Limits = {
  private: { messages: 5, per_ms: 5000 },
  group: { messages: 20, per_ms: 60_000 },
  all: { messages: 30, per_ms: 1000 },
};

/** Allows at most `messages` in any window of `per_ms`, and says how long to wait with the next one. */
export class RateLimiter {
  readonly #sent = new Map<string, number[]>();
  readonly #limits: Limits;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  check(chat: Chat, now: number): void {
    const kind = chat.type === "private" ? "private" : "group";
    const windows = [
      { key: String(chat.id), limit: this.#limits[kind] },
      { key: "all", limit: this.#limits.all },
    ];
    for (const { key, limit } of windows) {
      if (limit === undefined) continue;
      const recent = (this.#sent.get(key) ?? []).filter((at) => at > now - limit.per_ms);
      this.#sent.set(key, recent);
      const [oldest] = recent.slice(-limit.messages);
      if (recent.length >= limit.messages && oldest !== undefined)
        throw tooMany(Math.max(1, Math.ceil((oldest + limit.per_ms - now) / 1000)));
    }
    for (const { key, limit } of windows) if (limit !== undefined) this.#sent.get(key)?.push(now);
  }
}
