import type { OutboxRow, Store } from "../store/store.ts";
import { backoffMs } from "./backoff.ts";
import type { Bell } from "./bell.ts";
import { NotSent } from "./commander.ts";
import type { Commander } from "./commander.ts";
import { Troubles } from "./troubles.ts";

export interface DeliverOptions {
  readonly store: Store;
  readonly commander: Commander;
  /** Rung when something was recorded; this module rings it after each delivery or failure. */
  readonly bell: Bell;
  readonly log: (line: string) => void;
  readonly clock: () => number;
}

/** Number of chats sent to in parallel, so that a large file to one chat delays few others. */
const SIDE_BY_SIDE = 8;
const A_LOOK = 100;
const LOOK_MS = 500;
/** The first wait after a failure; doubled up to about a minute, so that a recovered channel is soon noticed. */
const RETRY_BASE_MS = 1000;
const MOST_DOUBLED = 7;
/** Time at shutdown for messages that are being sent. Interrupted ones are sent again at the next start. */
const LEAVE_MS = 5000;

/**
 * Sends the outbox of one channel until stopped, with a last pass at the end. Each chat gets its messages strictly in
 * order: if one is not accepted, it is retried later, and the following ones wait. Never throws: problems are logged.
 */
export async function deliver(stopped: AbortSignal, options: DeliverOptions): Promise<void> {
  const { bell } = options;
  const delivery = new Delivery(options);
  while (!stopped.aborted) {
    const rung = bell.wait(LOOK_MS); // before looking, so that no ring gets lost in between
    const waitMs = await delivery.look();
    await (waitMs < LOOK_MS ? Promise.race([rung, bell.wait(waitMs)]) : rung);
  }
  await delivery.finish(LEAVE_MS);
}

class Delivery {
  readonly #options: DeliverOptions;
  readonly #troubles: Troubles;
  /** Chats with messages to send, each with its first rows. */
  readonly #ready: (readonly OutboxRow[])[] = [];
  /** Chats that are ready or being sent to. */
  readonly #busy = new Set<string>();
  readonly #senders = new Set<Promise<void>>();
  /** Accepted by the channel but not recorded yet, because the store failed: do not send again. */
  readonly #taken = new Map<number, { readonly receipt?: string }>();
  /** Not accepted, and the failure is not recorded yet, because the store failed: do not retry before `next_at`. */
  readonly #later = new Map<number, { readonly attempts: number; readonly next_at: number }>();
  #isOver = false;

  constructor(options: DeliverOptions) {
    this.#options = options;
    this.#troubles = new Troubles(`Cannot send replies via ${options.commander.channel}`, options.log);
  }

  /** Starts sending what is due. Returns how long to wait for the next pass, unless the bell rings. */
  async look(): Promise<number> {
    try {
      if (this.#ready.length === 0) await this.#load();
      while (this.#ready.length > 0 && this.#senders.size < SIDE_BY_SIDE) this.#startSender();
      const waitMs = this.#senders.size > 0 ? LOOK_MS : await this.#untilDue();
      this.#troubles.over("");
      return waitMs;
    } catch (error) {
      this.#troubles.tell("", (error as Error).message);
      return LOOK_MS;
    }
  }

  /** Sends what is due now, for at most `atMostMs`. */
  async finish(atMostMs: number): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, atMostMs);
    const emptying = async (): Promise<void> => {
      do {
        await this.look();
        await Promise.all(this.#senders);
      } while (!this.#isOver && this.#ready.length > 0);
    };
    await Promise.race([emptying(), late]);
    this.#isOver = true;
    clearTimeout(timer);
  }

  async #load(): Promise<void> {
    const { store, commander } = this.#options;
    const rows = await store.outbox.pending({ limit: A_LOOK, channel: commander.channel });
    for (const [chat, ofChat] of Map.groupBy(rows, (row) => row.chat)) {
      if (this.#busy.has(chat) || ofChat.some(({ id }) => this.#isLater(id))) continue;
      this.#busy.add(chat);
      this.#ready.push(ofChat);
    }
  }

  async #untilDue(): Promise<number> {
    const { store, commander, clock } = this.#options;
    const due = await store.outbox.nextDueAt(commander.channel);
    // The store may list a row as due that has to wait; do not poll in a loop until then.
    if (due === null || [...this.#later.keys()].some((id) => this.#isLater(id))) return LOOK_MS;
    return Math.min(Math.max(due - clock(), 1), LOOK_MS);
  }

  #isLater(id: number): boolean {
    return (this.#later.get(id)?.next_at ?? 0) > this.#options.clock();
  }

  #startSender(): void {
    const sending = this.#sendReady().finally(() => {
      this.#senders.delete(sending);
    });
    this.#senders.add(sending);
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
        if (!this.#isOver) this.#troubles.tell(chat, (error as Error).message);
      } finally {
        this.#busy.delete(chat);
      }
    }
    if (isStored) this.#options.bell.ring(); // more may be due; while the store fails, waiting is better
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
    const taken = rows.findIndex(({ id }) => this.#taken.has(id));
    const open = taken < 0 ? rows : rows.slice(0, taken);
    return open.length === 0 ? 1 : Math.max(1, this.#options.commander.countJoined?.(open) ?? 1);
  }

  /** Returns whether the next message of the chat may be sent. */
  async #sendJoined(rows: readonly OutboxRow[]): Promise<boolean> {
    const { store, commander, bell } = this.#options;
    const [row, ...joined] = rows;
    if (row === undefined) return true;
    let taken = this.#taken.get(row.id);
    try {
      taken ??= await commander.send(row, joined);
    } catch (problem) {
      return await this.#notTaken(row, problem as Error);
    }
    for (const { id } of rows) this.#taken.set(id, taken);
    for (const { id } of rows) {
      await store.outbox.markSent(id, taken.receipt);
      this.#taken.delete(id);
      this.#later.delete(id);
    }
    this.#troubles.over(row.chat);
    bell.ring(); // clients that follow the task see that its reply was sent
    return true;
  }

  async #notTaken({ id, chat, attempts, task_id, content }: OutboxRow, problem: Error): Promise<boolean> {
    const { store, commander, clock, log } = this.#options;
    const { retryAfterMs, forGood } = problem instanceof NotSent ? problem : new NotSent(problem.message);
    const tried = 1 + (this.#later.get(id)?.attempts ?? attempts);
    const doubled = Math.min(tried, MOST_DOUBLED);
    const waitMs = retryAfterMs ?? backoffMs(doubled, { baseMs: RETRY_BASE_MS, random: Math.random });
    const next_at = Math.ceil(clock() + waitMs); // the store accepts only whole milliseconds
    this.#later.set(id, { attempts: tried, next_at }); // before recording, which may fail on a full disk
    if (forGood) {
      await store.outbox.giveUp(id, problem.message);
      this.#later.delete(id);
      this.#troubles.over(chat);
      const what = { text: "The reply", file: "A file", approval: "A question", display: "A message" }[content.kind];
      log(`${what} of task ${task_id} cannot be delivered via ${commander.channel}; giving up: ${problem.message}`);
      return true;
    }
    await store.outbox.markFailed(id, { error: problem.message, next_at });
    this.#later.delete(id);
    this.#troubles.tell(chat, problem.message);
    return false;
  }
}
