import type { Finish, Lease, Store } from "../store/store.ts";
import { StoreError } from "../store/store-error.ts";

export interface WorkerOptions {
  readonly store: Store;
  /** This worker's name; the supervisor frees what it held when it ends. */
  readonly worker: string;
  /** Does the task. `signal` is aborted when the lease is lost. Throws when the record cannot be written. */
  readonly runTask: (lease: Lease, signal: AbortSignal) => Promise<Finish>;
  /** Told after every commit, so that others can look. */
  readonly onRecorded: () => Promise<void>;
  /** No new task is begun once this is aborted. */
  readonly drain: AbortSignal;
}

const BEAT_MS = 1000;
/** A worker that was silent for so long has lost its lanes. */
const LEASE_MS = 15_000;
/** How long an idle worker waits for a wake before it looks again by itself. */
const LOOK_MS = 1000;

/** Claims a task, does it, finishes it, and again. One at a time. */
export class Worker {
  readonly #options: WorkerOptions;
  #held: { readonly lease: Lease; readonly lost: AbortController } | undefined;
  #wake: () => void = () => undefined;

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  /** There may be something to do. */
  wake(): void {
    this.#wake();
  }

  /** Runs until `drain` is aborted and the task in hand is finished. Throws when the store cannot be used. */
  async run(): Promise<void> {
    const { store, worker, drain, onRecorded } = this.#options;
    await store.inbox.releaseWorker(worker);
    await store.inbox.heartbeat(worker, []);
    let failBeat: (error: unknown) => void = () => undefined;
    const beatFailed = new Promise<never>((_, reject) => (failBeat = reject));
    const timer = setInterval(() => void this.#beat().catch(failBeat), BEAT_MS);
    drain.addEventListener("abort", () => this.#wake());
    try {
      await Promise.race([this.#workUntilDrained(), beatFailed]);
    } finally {
      clearInterval(timer);
    }
    await store.inbox.releaseWorker(worker);
    await onRecorded();
  }

  async #workUntilDrained(): Promise<void> {
    const { store, worker, drain, onRecorded } = this.#options;
    while (!drain.aborted) {
      const woken = this.#nextWake();
      const [lease] = await store.inbox.claim(worker, 1);
      if (lease === undefined) await woken;
      else await this.#work(lease);
      await onRecorded();
    }
  }

  async #work(lease: Lease): Promise<void> {
    const { store, runTask } = this.#options;
    const lost = new AbortController();
    this.#held = { lease, lost };
    try {
      await store.inbox.finish(lease, await runTask(lease, lost.signal));
    } catch (error) {
      // Another worker has the task: nothing that this one found out counts any more.
      if (!(error instanceof StoreError && error.code === "Fenced")) throw error;
    } finally {
      this.#held = undefined;
    }
  }

  #nextWake(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, LOOK_MS);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async #beat(): Promise<void> {
    const { store, worker } = this.#options;
    const held = this.#held;
    const lost = await store.inbox.heartbeat(worker, held === undefined ? [] : [held.lease]);
    if (held !== undefined && lost.length > 0) held.lost.abort(new Error("The lease was lost"));
    await store.inbox.recover(LEASE_MS);
  }
}
