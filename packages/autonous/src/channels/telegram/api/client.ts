import { Api } from "grammy";
import type { MovedChats } from "../moved-chats.ts";
import { busyMs, failureOf, TelegramFailure } from "./telegram-failure.ts";
import { nodeFetch } from "./fetch.ts";
import { monotonic, RateLimit } from "./rate-limit.ts";
import { pauseUntilAborted } from "@autonous/runtime/internal";

export interface ClientOptions {
  readonly token: string;
  readonly api_root: string;
  /** One that is never set back. */
  readonly clock?: () => number;
  readonly log: (line: string) => void;
  readonly rate?: RateLimit;
  /** Groups that got new numbers. */
  readonly moved?: Pick<MovedChats, "current" | "record">;
  /** Whether phones are to stay quiet now. */
  readonly isQuiet?: () => boolean;
}

/** Messages; what is only changed makes no sound. */
const SENDS = /^(?:send(?!ChatAction)|copy|forward)/;

type Signal = NonNullable<Parameters<Api["getMe"]>[0]>;
type Work<Result> = (api: Api, signal: Signal) => Promise<Result>;

interface CallOptions {
  /** The chat that it goes to. No call is made for a chat while Telegram asks to wait there. */
  readonly chat?: number;
  readonly timeoutMs?: number;
  /** Ends the call, too. */
  readonly stopped?: AbortSignal;
}

const CALL_MS = 15_000;
const FILE_MS = 60_000;
/** 50 kB per second: a slower line counts as broken. */
const SLOW_BYTES_PER_MS = 50;
/** After a call without an answer, how long the others fail at once: each would only run into its timeout. */
const DOWN_MS = 1000;
const NOTICE_ATTEMPTS = 5;
const NOTICE_WAIT_MS = 2000;
const LONGEST_NOTICE_WAIT_MS = 60_000;

/** How long a file may take. */
export function fileMs(bytes: number): number {
  return FILE_MS + Math.ceil(bytes / SLOW_BYTES_PER_MS);
}

/** Telegram's API with what every call needs: an end in sight, rates that are kept, failures that say what they mean. */
export class TelegramClient {
  readonly rate: RateLimit;
  readonly #api: Api;
  readonly #moved: ClientOptions["moved"];
  readonly #options: Required<Pick<ClientOptions, "clock" | "log">>;
  readonly #closing = new AbortController();
  /** What waits to be said, for each chat in order. */
  readonly #saying = new Map<number, Promise<void>>();
  #downUntil = 0;

  constructor(options: ClientOptions) {
    const { clock = monotonic, log, rate = new RateLimit({ clock }), moved, isQuiet = () => false } = options;
    this.#options = { clock, log };
    this.rate = rate;
    this.#moved = moved;
    this.#api = new Api(options.token, {
      apiRoot: options.api_root.replace(/\/+$/, ""),
      fetch: nodeFetch,
    });
    // Here it is known what is called: a wait for one method that goes to no chat may not keep messages from coming in.
    this.#api.config.use(async (previous, method, payload, signal) => {
      const { chat_id } = payload as { readonly chat_id?: unknown };
      const what = typeof chat_id === "number" ? chat_id : method;
      this.#checkHeld(what);
      const sent = (chat: number | undefined): typeof payload => ({
        ...payload,
        ...(chat === undefined ? {} : { chat_id: chat }),
        ...(SENDS.test(method) && isQuiet() ? { disable_notification: true } : {}),
      });
      const chat = typeof chat_id === "number" ? chat_id : undefined;
      const now = chat === undefined ? undefined : (moved?.current(chat) ?? chat);
      let answer = await previous(method, sent(now), signal);
      const to = answer.ok ? undefined : answer.parameters?.migrate_to_chat_id;
      if (now !== undefined && to !== undefined && moved !== undefined) {
        await moved.record(now, to); // what follows goes there at once, also after a restart
        answer = await previous(method, sent(to), signal);
      }
      if (!answer.ok && answer.error_code === 429) this.rate.hold(what, busyMs(answer.parameters?.retry_after));
      return answer;
    });
  }

  /**
   * The number by which Telegram knows a chat now. Messages are kept with that of their time: in a group that moved since,
   * their own numbers are those of others.
   */
  numberOf(chat: number): number {
    return this.#moved?.current(chat) ?? chat;
  }

  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** One call, now. Throws `TelegramFailure`. */
  async call<Result>(work: Work<Result>, { chat, timeoutMs = CALL_MS, stopped }: CallOptions = {}): Promise<Result> {
    if (chat !== undefined) this.#checkHeld(chat);
    const ends = [this.#closing.signal, AbortSignal.timeout(timeoutMs)];
    const signal = AbortSignal.any(stopped === undefined ? ends : [...ends, stopped]);
    try {
      // Telegram's library types the signal of another package, which is the same thing in other words.
      return await work(this.#api, signal as unknown as Signal);
    } catch (error) {
      const failure = failureOf(error);
      if (failure.kind === "unreachable" && chat !== undefined) this.#downUntil = this.#options.clock() + DOWN_MS;
      throw failure;
    }
  }

  /** Something for a chat, when it is its turn. Throws `TelegramFailure`. */
  async send<Result>(chat: number, work: Work<Result>, timeoutMs = CALL_MS): Promise<Result> {
    const downMs = Math.ceil(this.#downUntil - this.#options.clock());
    if (downMs > 0) {
      const why = "Telegram could not be reached a moment ago";
      throw new TelegramFailure(why, { kind: "unreachable", retryAfterMs: downMs });
    }
    // Where Telegram asks to wait, the call fails at once: the wait may take minutes, and the outbox has its own.
    if (this.rate.heldMs(chat) === 0) await this.#turnOf(chat);
    return await this.call(work, { chat, timeoutMs });
  }

  /** For what need not be sent, such as how far a task is. Undefined where it is not its turn, or it was not taken. */
  async trySend<Result>(chat: number, work: Work<Result>): Promise<Result | undefined> {
    if (this.#downUntil > this.#options.clock() || !this.rate.tryTake(chat)) return undefined;
    try {
      return await this.call(work, { chat });
    } catch (error) {
      if (error instanceof TelegramFailure) return undefined; // the next state of things is shown instead
      throw error;
    }
  }

  /** For what may as well not happen: "typing…", a message that is removed. False where it may help to try again. */
  async attempt(chat: number, work: Work<unknown>): Promise<boolean> {
    if (this.#downUntil > this.#options.clock()) return false;
    try {
      await this.call(work, { chat });
      return true;
    } catch (error) {
      if (!(error instanceof TelegramFailure)) throw error;
      return error.kind !== "busy" && error.kind !== "unreachable";
    }
  }

  /** Says something that is on no record: what a command gave, why a message was not taken. Tried a few times. */
  say(chat: number, what: string, work: Work<unknown>): void {
    const before = this.#saying.get(chat) ?? Promise.resolve();
    const said = before
      .then(() => this.#insist(chat, what, work))
      .catch((error: unknown) => this.#options.log(`${what} was not sent to chat ${chat}: ${(error as Error).message}`))
      .finally(() => {
        if (this.#saying.get(chat) === said) this.#saying.delete(chat);
      });
    this.#saying.set(chat, said);
  }

  /** Flushes what is being said for at most this long, then ends every call. */
  async close(graceMs: number): Promise<void> {
    const timer = setTimeout(() => this.#closing.abort(), graceMs);
    await Promise.all(this.#saying.values());
    clearTimeout(timer);
    this.#closing.abort();
  }

  #checkHeld(what: number | string): void {
    const heldMs = this.rate.heldMs(what);
    if (heldMs > 0) throw new TelegramFailure("Telegram asked to wait", { kind: "busy", retryAfterMs: heldMs });
  }

  async #turnOf(chat: number): Promise<void> {
    try {
      await this.rate.take(chat, this.#closing.signal);
    } catch {
      throw new TelegramFailure("The channel is closing", { kind: "unreachable" });
    }
  }

  async #insist(chat: number, what: string, work: Work<unknown>): Promise<void> {
    for (let attempt = 1; !this.#closing.signal.aborted; attempt++) {
      try {
        await this.send(chat, work);
        return;
      } catch (error) {
        if (!(error instanceof TelegramFailure)) throw error;
        const mayHelp = error.kind === "busy" || error.kind === "unreachable";
        if (!mayHelp || attempt === NOTICE_ATTEMPTS) throw error;
        const waitMs = Math.min(error.retryAfterMs ?? NOTICE_WAIT_MS * 2 ** attempt, LONGEST_NOTICE_WAIT_MS);
        await pauseUntilAborted(waitMs, this.#closing.signal); // closing: the loop ends
      }
    }
  }
}
