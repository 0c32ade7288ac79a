import type { Store } from "../../store/store.ts";
import type { Incoming } from "./incoming.ts";

interface BacklogOptions {
  readonly store: Store;
  readonly bot_id: number;
  readonly clock: () => number;
  readonly allowed: ReadonlySet<number>;
  readonly window_ms: number;
  readonly max_messages: number;
}

interface Kept {
  /** The last that was looked at. */
  last: number;
  incoming: Incoming[];
  /** How many of each chat are not taken. */
  readonly left: Record<string, number>;
}

/**
 * What came while nobody listened. Telegram gives it a hundred at a time and forgets the last hundred when it is asked
 * for the next, so what may still be among the newest is kept on record until all of it has been seen.
 */
export class Backlog {
  readonly #options: BacklogOptions;
  #kept: Kept = { last: 0, incoming: [], left: {} };
  #isStored = false;

  private constructor(options: BacklogOptions) {
    this.#options = options;
  }

  static async open(options: BacklogOptions): Promise<Backlog> {
    const backlog = new Backlog(options);
    const text = await options.store.kv.get(backlog.#key);
    if (text !== undefined && text !== "") {
      backlog.#kept = JSON.parse(text) as Kept;
      backlog.#isStored = true;
    }
    return backlog;
  }

  /** What is to be taken, in order: the newest, and none that is too old. */
  get incoming(): readonly Incoming[] {
    return this.#kept.incoming;
  }

  /** Chats with messages that are not taken, and how many. */
  get left(): readonly (readonly [chat: number, count: number])[] {
    return Object.entries(this.#kept.left).map(([chat, count]) => [Number(chat), count]);
  }

  add(update_id: number, incoming: Incoming | undefined): void {
    if (update_id <= this.#kept.last) return; // given again: after a crash, or since the store was not ready
    this.#kept.last = update_id;
    if (incoming === undefined) return;
    const { clock, window_ms, max_messages, allowed } = this.#options;
    if (incoming.kind === "written") {
      const isTooOld = incoming.sent_at < clock() - window_ms;
      if (isTooOld) return allowed.has(incoming.user) ? this.#leave(incoming.chat) : undefined;
    }
    this.#kept.incoming.push(incoming);
    const written = this.#kept.incoming.filter(({ kind, user }) => kind === "written" && allowed.has(user));
    const [oldest] = written;
    if (written.length <= max_messages || oldest?.kind !== "written") return;
    this.#kept.incoming = this.#kept.incoming.filter((each) => each !== oldest);
    this.#leave(oldest.chat);
  }

  /** Puts it on record: what it came from may be forgotten. */
  async keep(): Promise<void> {
    await this.#options.store.kv.set(this.#key, JSON.stringify(this.#kept));
    this.#isStored = true;
  }

  /** All of it was taken. */
  async clear(): Promise<void> {
    if (this.#isStored) await this.#options.store.kv.set(this.#key, "");
    this.#isStored = false;
    this.#kept = { last: 0, incoming: [], left: {} };
  }

  #leave(chat: number): void {
    this.#kept.left[chat] = (this.#kept.left[chat] ?? 0) + 1;
  }

  get #key(): string {
    return `telegram:backlog:${this.#options.bot_id}`;
  }
}
