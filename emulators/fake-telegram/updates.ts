import { Refusal } from "./refusal.ts";

export interface Update {
  readonly update_id: number;
  readonly [kind: string]: unknown;
}

interface UpdatesRequest {
  readonly offset: number;
  readonly limit: number;
  readonly timeout_s: number;
  readonly allowed?: readonly string[];
  /** Aborted when the client has disconnected. */
  readonly signal: AbortSignal;
}

/** What is not sent unless a bot names it. */
const ONLY_IF_NAMED: ReadonlySet<string> = new Set(["chat_member", "message_reaction", "message_reaction_count"]);
export const CONFLICT =
  "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running";
/** Telegram keeps what was not fetched for a day. */
const KEPT_MS = 24 * 60 * 60 * 1000;
/** Confirmed updates that can be given again, as by a fault. */
const MAX_GIVEN = 100;

/** Updates that were not confirmed yet. One bot, so one poll at a time. */
export class Updates {
  #next = 100_000;
  #waiting: { update: Update; at_ms: number }[] = [];
  readonly #given: Update[] = [];
  #allowed: readonly string[] = [];
  #poller: { conflict(why: string): void; look(): void } | undefined;
  readonly #now: () => number;
  readonly #onPoll: () => void;

  constructor(now: () => number, onPoll: () => void) {
    this.#now = now;
    this.#onPoll = onPoll;
  }

  /** The number that were not yet confirmed. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** A poll is open. */
  get isPolled(): boolean {
    return this.#poller !== undefined;
  }

  /** Undefined: the bot said that it does not want such. */
  push(kind: string, content: unknown): Update | undefined {
    const isWanted = this.#allowed.length === 0 ? !ONLY_IF_NAMED.has(kind) : this.#allowed.includes(kind);
    if (!isWanted) return undefined;
    const update = { update_id: this.#next++, [kind]: content };
    this.#waiting.push({ update, at_ms: this.#now() });
    this.#poller?.look();
    return update;
  }

  /** Ends the open poll with 409. */
  endPoll(why: string): void {
    this.#poller?.conflict(why);
  }

  drop(): void {
    this.#waiting = [];
  }

  /** The last of those that were confirmed, newest last. */
  get given(): readonly Update[] {
    return this.#given;
  }

  /** Waits for updates until the timeout. A second poll ends the first. */
  async take({ offset, limit, timeout_s, allowed, signal }: UpdatesRequest): Promise<readonly Update[]> {
    this.endPoll(CONFLICT);
    if (allowed !== undefined) this.#allowed = allowed;
    this.#confirm(offset);
    const found = (): readonly Update[] => this.#waiting.slice(0, limit).map(({ update }) => update);
    if (this.#waiting.length > 0 || timeout_s === 0) return found();
    return await new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", look);
        if (this.#poller === poller) this.#poller = undefined;
        settle();
      };
      const look = (): void => end(() => resolve(signal.aborted ? [] : found()));
      const timer = setTimeout(look, timeout_s * 1000);
      const poller = { look, conflict: (why: string) => end(() => reject(new Refusal(409, why))) };
      signal.addEventListener("abort", look);
      this.#poller = poller;
      this.#onPoll();
    });
  }

  /** An offset confirms all updates before it. Below zero it counts from the end, and drops what is before. */
  #confirm(offset: number): void {
    const from = offset < 0 ? (this.#waiting.at(offset) ?? this.#waiting[0])?.update.update_id : offset;
    const oldest = this.#now() - KEPT_MS;
    const isGone = ({ update, at_ms }: { update: Update; at_ms: number }): boolean =>
      at_ms < oldest || (from !== undefined && update.update_id < from);
    this.#given.push(...this.#waiting.filter(isGone).map(({ update }) => update));
    this.#given.splice(0, this.#given.length - MAX_GIVEN);
    this.#waiting = this.#waiting.filter((each) => !isGone(each));
  }
}
