import type { OutboxRow, Store } from "../store/store.ts";
import { backoffMs } from "./backoff.ts";
import type { Notifier } from "../store/notifier.ts";
import { DeliveryError } from "./outbox-sender.ts";
import type { OutboxSender } from "./outbox-sender.ts";
import { RecoveringLog } from "./recovering-log.ts";

export interface DeliverOptions {
  readonly store: Store;
  readonly sender: OutboxSender;
  /** Notified when something was recorded, and by this module after each delivery or failure. */
  readonly notifier: Notifier;
  readonly log: (line: string) => void;
  readonly clock: () => number;
}

/** Number of chats sent to in parallel, so that a large file to one chat delays few others. */
const MAX_PARALLEL = 8;
const PAGE_SIZE = 100;
const POLL_MS = 500;
/** The first wait after a failure; doubled up to about a minute, so that a recovered channel is soon noticed. */
const RETRY_BASE_MS = 1000;
const MAX_DOUBLINGS = 7;
/** Time at shutdown for messages that are being sent. Interrupted ones are sent again at the next start. */
const FLUSH_MS = 5000;

/**
 * Sends the outbox of one channel until stopped, with a last pass at the end. Each chat gets its messages strictly in
 * order: if one is not accepted, it is retried later, and the following ones wait. Never throws: problems are logged.
 */
export async function deliver(stopped: AbortSignal, options: DeliverOptions): Promise<void> {
  const { notifier } = options;
  const delivery = new Delivery(options);
  while (!stopped.aborted) {
    const since = notifier.count; // before the pass, so that no notification gets lost in between
    const atMostMs = await delivery.startDue();
    await notifier.wait({ since, atMostMs, signal: stopped });
  }
  await delivery.finish(FLUSH_MS);
}

class Delivery {
  readonly #options: DeliverOptions;
  readonly #problems: RecoveringLog;
  /** Chats with messages to send, each with its first rows. */
  readonly #ready: (readonly OutboxRow[])[] = [];
  /** Chats that are ready or being sent to. */
  readonly #busy = new Set<string>();
  readonly #sending = new Set<Promise<void>>();
  /** Accepted by the channel but not recorded yet, because the store failed: do not send again. */
  readonly #accepted = new Map<number, { readonly receipt?: string }>();
  /** Not accepted, and the failure is not recorded yet, because the store failed: do not retry before `next_at`. */
  readonly #later = new Map<number, { readonly attempts: number; readonly next_at: number }>();
  #isOver = false;

  constructor(options: DeliverOptions) {
    this.#options = options;
    this.#problems = new RecoveringLog(`Cannot send replies via ${options.sender.channel}`, options.log);
  }

  /** Starts sending what is due. Returns how long to wait for the next pass, unless it is notified. */
  async startDue(): Promise<number> {
    try {
      if (this.#ready.length === 0) await this.#load();
      while (this.#ready.length > 0 && this.#sending.size < MAX_PARALLEL) this.#startSender();
      const waitMs = this.#sending.size > 0 ? POLL_MS : await this.#untilDue();
      this.#problems.resolve("");
      return waitMs;
    } catch (error) {
      this.#problems.report("", (error as Error).message);
      return POLL_MS;
    }
  }

  /** Sends what is due now, for at most `atMostMs`. */
  async finish(atMostMs: number): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, atMostMs);
    const emptying = async (): Promise<void> => {
      do {
        await this.startDue();
        await Promise.all(this.#sending);
      } while (!this.#isOver && this.#ready.length > 0);
    };
    await Promise.race([emptying(), late]);
    this.#isOver = true;
    clearTimeout(timer);
  }

  async #load(): Promise<void> {
    const { store, sender } = this.#options;
    const rows = await store.outbox.pending({ limit: PAGE_SIZE, channel: sender.channel });
    for (const [chat, ofChat] of Map.groupBy(rows, (row) => row.chat)) {
      if (this.#busy.has(chat) || ofChat.some(({ id }) => this.#isLater(id))) continue;
      this.#busy.add(chat);
      this.#ready.push(ofChat);
    }
  }

  async #untilDue(): Promise<number> {
    const { store, sender, clock } = this.#options;
    const due = await store.outbox.nextDueAt(sender.channel);
    // The store may list a row as due that has to wait; do not poll in a loop until then.
    if (due === null || [...this.#later.keys()].some((id) => this.#isLater(id))) return POLL_MS;
    return Math.min(Math.max(due - clock(), 1), POLL_MS);
  }

  #isLater(id: number): boolean {
    return (this.#later.get(id)?.next_at ?? 0) > this.#options.clock();
  }

  #startSender(): void {
    const sender = this.#sendReady().finally(() => {
      this.#sending.delete(sender);
    });
    this.#sending.add(sender);
  }

  /** Sends to one chat after the other until none is ready. */
  async #sendReady(): Promise<void> {
    let isStored = true;
    for (let rows = this.#ready.shift(); rows !== undefined; rows = this.#ready.shift()) {
      const chat = rows[0]?.chat ?? "";
      try {
        await this.#sendAll(rows);
      } catch (error) {
        isStored = false;
        if (!this.#isOver) this.#problems.report(chat, (error as Error).message);
      } finally {
        this.#busy.delete(chat);
      }
    }
    if (isStored) this.#options.notifier.notify(); // more may be due; while the store fails, waiting is better
  }

  /** Throws if the store cannot record the outcome. */
  async #sendAll(rows: readonly OutboxRow[]): Promise<void> {
    for (let at = 0; at < rows.length;) {
      const count = this.#countJoined(rows.slice(at));
      if (this.#isOver || !(await this.#sendJoined(rows.slice(at, at + count)))) return;
      at += count;
    }
  }

  /** A row that the channel has accepted already is only recorded, on its own. */
  #countJoined(rows: readonly OutboxRow[]): number {
    const first = rows.findIndex(({ id }) => this.#accepted.has(id));
    const open = first < 0 ? rows : rows.slice(0, first);
    return open.length === 0 ? 1 : Math.max(1, this.#options.sender.countJoined?.(open) ?? 1);
  }

  /** Returns whether the next message of the chat may be sent. */
  async #sendJoined(rows: readonly OutboxRow[]): Promise<boolean> {
    const { store, sender, notifier } = this.#options;
    const [row, ...joined] = rows;
    if (row === undefined) return true;
    let accepted = this.#accepted.get(row.id);
    try {
      accepted ??= await sender.send(row, joined);
    } catch (problem) {
      return await this.#reject(row, problem as Error);
    }
    for (const { id } of rows) this.#accepted.set(id, accepted);
    for (const { id } of rows) {
      await store.outbox.markSent(id, accepted.receipt);
      this.#accepted.delete(id);
      this.#later.delete(id);
    }
    this.#problems.resolve(row.chat);
    notifier.notify(); // clients that follow the task see that its reply was sent
    return true;
  }

  async #reject({ id, chat, attempts, task_id, content }: OutboxRow, problem: Error): Promise<boolean> {
    const { store, sender, clock, log } = this.#options;
    const { retryAfterMs, forGood } = problem instanceof DeliveryError ? problem : new DeliveryError(problem.message);
    const tried = 1 + (this.#later.get(id)?.attempts ?? attempts);
    const doubled = Math.min(tried, MAX_DOUBLINGS);
    const waitMs = retryAfterMs ?? backoffMs(doubled, { baseMs: RETRY_BASE_MS, random: Math.random });
    const next_at = Math.ceil(clock() + waitMs); // the store accepts only whole milliseconds
    this.#later.set(id, { attempts: tried, next_at }); // before recording, which may fail on a full disk
    if (forGood) {
      await store.outbox.giveUp(id, problem.message);
      this.#later.delete(id);
      this.#problems.resolve(chat);
      const what = { text: "The reply", file: "A file", approval: "A question", display: "A message" }[content.kind];
      log(`${what} of task ${task_id} cannot be delivered via ${sender.channel}; giving up: ${problem.message}`);
      return true;
    }
    await store.outbox.markFailed(id, { error: problem.message, next_at });
    this.#later.delete(id);
    this.#problems.report(chat, problem.message);
    return false;
  }
}
