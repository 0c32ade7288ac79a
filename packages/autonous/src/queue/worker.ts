import type { Finish, Lease, Store } from "../store/store.ts";
import { StoreError } from "../store/store-error.ts";

export interface WorkerOptions {
  readonly store: Store;
  /** This worker's name; the supervisor frees what it held when it ends. */
  readonly worker: string;
  /** Does the task. `signal` is aborted when the lease is lost. Throws when the record cannot be written. */
  readonly runTask: (lease: Lease, signal: AbortSignal) => Promise<Finish>;
  /** Told after every commit, so that others can look. */
  readonly onRecorded: () => void;
  /** Told when a task was done, however it ended. */
  readonly onFinished: () => void;
  /** Told of what is tried again by itself. */
  readonly onProblem: (problem: Error) => void;
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
  #isBeating = false;

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  /** There may be something to do. */
  wake(): void {
    this.#wake();
  }

  /** Runs until `drain` is aborted and the task in hand is finished. Throws when the store cannot be used. */
  async run(): Promise<void> {
    const { store, worker, drain } = this.#options;
    await store.inbox.heartbeat(worker, []);
    const { promise: beatFailed, reject: failBeat } = Promise.withResolvers<never>();
    const timer = setInterval(() => void this.#beat().catch(failBeat), BEAT_MS);
    const stop = (): void => this.#wake();
    drain.addEventListener("abort", stop);
    try {
      await Promise.race([this.#workUntilDrained(), beatFailed]);
    } finally {
      clearInterval(timer);
      drain.removeEventListener("abort", stop);
    }
    await store.inbox.releaseWorker(worker);
  }

  async #workUntilDrained(): Promise<void> {
    const { drain } = this.#options;
    while (!drain.aborted) {
      const woken = this.#nextWake(); // before looking, so that no wake gets lost in between
      const lease = await this.#claim();
      if (lease !== undefined) this.#wake(); // nobody waits for it
      await (lease === undefined ? woken : this.#work(lease));
    }
  }

  /** Undefined when there is nothing to do, or the store cannot say because another process keeps it locked. */
  async #claim(): Promise<Lease | undefined> {
    const { store, worker, onRecorded } = this.#options;
    try {
      const [lease] = await store.inbox.claim(worker, 1);
      if (lease !== undefined) onRecorded();
      return lease;
    } catch (error) {
      this.#tellIfBusy(error);
      return undefined;
    }
  }

  async #work(lease: Lease): Promise<void> {
    const { store, runTask, onFinished } = this.#options;
    const lost = new AbortController();
    this.#held = { lease, lost };
    try {
      await store.inbox.finish(lease, await runTask(lease, lost.signal));
      onFinished();
    } catch (error) {
      // Another worker has the task: nothing that this one found out counts any more.
      if (!isStoreError(error, "Fenced")) throw error;
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
    if (this.#isBeating) return; // the last one still waits for the store
    this.#isBeating = true;
    const { store, worker } = this.#options;
    const held = this.#held;
    try {
      const lost = await store.inbox.heartbeat(worker, held === undefined ? [] : [held.lease]);
      if (held !== undefined && lost.length > 0) held.lost.abort(new Error("The lease was lost"));
      await store.inbox.recover(LEASE_MS);
    } catch (error) {
      this.#tellIfBusy(error);
    } finally {
      this.#isBeating = false;
    }
  }

  /** A lock goes away by itself, and every write is fenced: until then there is nothing to end for. */
  #tellIfBusy(error: unknown): void {
    if (!isStoreError(error, "Busy")) throw error;
    this.#options.onProblem(error);
  }
}

function isStoreError(error: unknown, code: StoreError["code"]): error is StoreError {
  return error instanceof StoreError && error.code === code;
}
