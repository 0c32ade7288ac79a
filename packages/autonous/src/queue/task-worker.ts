import type { Finish, Lease, Store } from "../store/store.ts";
import { StoreError } from "../store/store-error.ts";

export interface WorkerOptions {
  readonly store: Store;
  /** This worker's name; the supervisor releases its leases when it ends. */
  readonly worker: string;
  /** Number of chats processed in parallel. Default: 1. */
  readonly slots?: number;
  /**
   * Runs the task. `signal` is aborted when the lease is lost or a person stops the task. Throws if events cannot be
   * recorded. If another process kept the store locked, it is called again for the same lease and resumes from its
   * events.
   */
  readonly runTask: (lease: Lease, signal: AbortSignal) => Promise<Finish>;
  /** Called after every commit, to wake others. */
  readonly onRecorded: () => void;
  /** Called when a task has ended, whatever the outcome. */
  readonly onFinished: () => void;
  /**
   * Called when the store has answered a heartbeat, or reported that another process keeps it locked: the worker is
   * alive.
   */
  readonly onBeat?: () => void;
  /** Receives problems that are retried automatically. */
  readonly onProblem: (problem: Error) => void;
  /** Once aborted, no new task is started. */
  readonly drain: AbortSignal;
}

const BEAT_MS = 1000;
/** A worker without leases sends only every Nth heartbeat, since each one is a disk write. */
const IDLE_BEATS = 5;
/**
 * After a problem the worker may have a lease it does not know of (the answer was lost): the second heartbeat from then
 * on releases it.
 */
const DOUBTFUL_BEATS = 3;
/** A worker without a heartbeat for this long loses its lanes. */
const LEASE_MS = 15_000;
/** Poll interval of a worker with a free slot: a wake-up may get lost. */
const POLL_MS = 1000;
/**
 * A wake-up may mean that a task is to be stopped. Many arrive while the queue fills, so one heartbeat serves them all.
 */
const WOKEN_BEAT_MS = 25;

interface Held {
  readonly lease: Lease;
  readonly stop: AbortController;
}

/** Claims, runs and finishes tasks in a loop: as many in parallel as it has slots, each from a different lane. */
export class Worker {
  readonly #options: WorkerOptions;
  readonly #slots: number;
  readonly #held = new Map<string, Held>();
  readonly #failed = Promise.withResolvers<never>();
  #busy = 0;
  #wake: () => void = () => undefined;
  #isBeating = false;
  #idleBeats = 0;
  #doubtfulBeats = 0;
  #beatSoon: NodeJS.Timeout | undefined;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#slots = options.slots ?? 1;
    this.#failed.promise.catch(() => undefined); // run() reports it; it may have no listener yet
  }

  /** Call when a task may be ready, or may have to be stopped. */
  wake(): void {
    this.#wake();
    if (this.#held.size > 0) this.#beatSoon ??= setTimeout(() => this.#beat(), WOKEN_BEAT_MS);
  }

  /** Runs until `drain` is aborted and the running tasks are finished. Throws when the store cannot be used. */
  async run(): Promise<void> {
    const { store, worker, drain } = this.#options;
    const stop = (): void => this.#wake();
    drain.addEventListener("abort", stop);
    let timer: NodeJS.Timeout | undefined;
    try {
      await this.#beatFirst();
      timer = setInterval(() => this.#beatInTurn(), BEAT_MS);
      await Promise.race([this.#workUntilDrained(), this.#failed.promise]);
    } finally {
      clearInterval(timer);
      clearTimeout(this.#beatSoon);
      drain.removeEventListener("abort", stop);
    }
    await this.#unlessBusy(() => store.inbox.releaseWorker(worker)); // otherwise the missing heartbeat removes it later
  }

  /** Claims nothing before the first heartbeat: a worker with a lane but no heartbeat counts as dead. */
  async #beatFirst(): Promise<void> {
    const { store, worker, drain, onBeat } = this.#options;
    while (!drain.aborted) {
      const wait = this.#prepareWait();
      const beat = await this.#unlessBusy(() => store.inbox.heartbeat(worker, []));
      if (beat !== undefined) return onBeat?.();
      await wait();
    }
  }

  async #workUntilDrained(): Promise<void> {
    const { drain } = this.#options;
    for (;;) {
      const wait = this.#prepareWait(); // before claiming, so that no wake-up gets lost in between
      if (drain.aborted && this.#busy === 0) return;
      const free = drain.aborted ? 0 : this.#slots - this.#busy;
      const leases = free === 0 ? [] : await this.#claim(free);
      for (const lease of leases) void this.#workInSlot(lease);
      await (leases.length < free ? wait(await this.#untilReady()) : wait());
    }
  }

  /** Empty if no task is ready, or if another process keeps the store locked. */
  async #claim(slots: number): Promise<readonly Lease[]> {
    const { store, worker, onRecorded } = this.#options;
    const leases = await this.#unlessBusy(() => store.inbox.claim(worker, slots));
    if (leases === undefined || leases.length === 0) return [];
    onRecorded();
    return leases;
  }

  /** Time until the next known task is ready, at most the poll interval. */
  async #untilReady(): Promise<number> {
    const at = await this.#unlessBusy(() => this.#options.store.inbox.nextReadyAt());
    return typeof at === "number" ? Math.min(Math.max(at - Date.now(), 0), POLL_MS) : POLL_MS;
  }

  /** Runs one task after another, as long as finishing one returns the next. */
  async #workInSlot(first: Lease): Promise<void> {
    this.#busy++;
    try {
      let lease: Lease | undefined = first;
      while (lease !== undefined) lease = await this.#work(lease);
    } catch (error) {
      this.#failed.reject(error);
    } finally {
      this.#busy--;
      this.#wake();
    }
  }

  /** Returns the next task, claimed in the transaction that finished this one. */
  async #work(lease: Lease): Promise<Lease | undefined> {
    const { onFinished } = this.#options;
    const held = { lease, stop: new AbortController() };
    this.#held.set(lease.lane, held);
    try {
      const next = await this.#doAndFinish(held);
      onFinished();
      return next;
    } catch (error) {
      // Another worker has the task now, so this result is discarded.
      if (!isStoreError(error, "Fenced")) throw error;
      return undefined;
    } finally {
      if (this.#held.get(lease.lane) === held) this.#held.delete(lease.lane);
    }
  }

  async #doAndFinish({ lease, stop }: Held): Promise<Lease | undefined> {
    const { store, runTask, drain } = this.#options;
    let finish: Finish | undefined;
    for (;;) {
      const done = await this.#unlessBusy(async () => {
        finish ??= await runTask(lease, stop.signal);
        return await store.inbox.finish(lease, { ...finish, take_next: !drain.aborted });
      });
      if (done !== undefined) return done.next;
    }
  }

  /** Returns a function that waits for the next wake-up, for at most `atMostMs`. */
  #prepareWait(): (atMostMs?: number) => Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    return async (atMostMs = POLL_MS) => {
      const timer = setTimeout(resolve, atMostMs);
      await promise;
      clearTimeout(timer);
    };
  }

  #beatInTurn(): void {
    const isIdle = this.#held.size === 0 && this.#doubtfulBeats === 0;
    if (isIdle && ++this.#idleBeats < IDLE_BEATS) return;
    this.#idleBeats = 0;
    this.#doubtfulBeats = Math.max(0, this.#doubtfulBeats - 1);
    this.#beat();
  }

  #beat(): void {
    clearTimeout(this.#beatSoon);
    this.#beatSoon = undefined;
    if (this.#isBeating) return; // the previous one still waits for the store
    this.#isBeating = true;
    this.#sayAlive()
      .catch((error: unknown) => this.#failed.reject(error))
      .finally(() => {
        this.#isBeating = false;
        this.#options.onBeat?.();
      });
  }

  async #sayAlive(): Promise<void> {
    const { store, worker } = this.#options;
    const held = [...this.#held.values()];
    const beat = await this.#unlessBusy(() =>
      store.inbox.heartbeat(
        worker,
        held.map(({ lease }) => lease),
      ),
    );
    this.#options.onBeat?.(); // both store calls may wait for a lock
    for (const lost of beat?.lost ?? []) this.#stop(lost, held, "The lease was lost");
    for (const stopped of beat?.cancelled ?? []) this.#stop(stopped, held, `Stopped by ${stopped.by}`);
    await this.#unlessBusy(() => store.inbox.recover(LEASE_MS));
  }

  #stop(key: Pick<Lease, "lane" | "token">, held: readonly Held[], why: string): void {
    const found = held.find(({ lease }) => lease.lane === key.lane && lease.token === key.token);
    found?.stop.abort(new Error(why));
  }

  /**
   * Undefined if the store is locked. Locks end by themselves and every write is fenced, so the worker keeps running.
   */
  async #unlessBusy<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!isStoreError(error, "Busy")) throw error;
      this.#options.onProblem(error);
      this.#options.onBeat?.(); // a heartbeat may be queued behind several calls that each wait for the lock
      this.#doubtfulBeats = DOUBTFUL_BEATS;
      return undefined;
    }
  }
}

function isStoreError(error: unknown, code: StoreError["code"]): error is StoreError {
  return error instanceof StoreError && error.code === code;
}
