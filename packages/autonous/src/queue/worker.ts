import type { Finish, Lease, Store } from "../store/store.ts";
import { StoreError } from "../store/store-error.ts";

export interface WorkerOptions {
  readonly store: Store;
  /** This worker's name; the supervisor frees what it held when it ends. */
  readonly worker: string;
  /** How many chats are worked on side by side. Default: 1. */
  readonly slots?: number;
  /**
   * Does the task. `signal` is aborted when the lease is lost or a person stops the task. Throws when the record cannot
   * be written. Called again for the same lease when another process kept the store locked: it goes on from its record.
   */
  readonly runTask: (lease: Lease, signal: AbortSignal) => Promise<Finish>;
  /** Told after every commit, so that others can look. */
  readonly onRecorded: () => void;
  /** Told when a task was done, however it ended. */
  readonly onFinished: () => void;
  /** Told whenever the store has answered to a beat, or has said that another process keeps it locked: the loop turns. */
  readonly onBeat?: () => void;
  /** Told of what is tried again by itself. */
  readonly onProblem: (problem: Error) => void;
  /** No new task is begun once this is aborted. */
  readonly drain: AbortSignal;
}

const BEAT_MS = 1000;
/** A worker that holds nothing has nothing to lose: it beats only at every so many-th time, since each is a write to the disk. */
const IDLE_BEATS = 5;
/** After a problem it may hold what it does not know of (the answer got lost): the second beat from then on frees it. */
const DOUBTFUL_BEATS = 3;
/** A worker that was silent for so long has lost its lanes. */
const LEASE_MS = 15_000;
/** How long a worker with a free slot waits for a wake before it looks again by itself: a wake may get lost. */
const LOOK_MS = 1000;
/** A wake may say that a task is to be stopped. Many come while much is put into the queue, and one beat does for them. */
const WOKEN_BEAT_MS = 25;

interface Held {
  readonly lease: Lease;
  readonly stop: AbortController;
}

/** Claims tasks, does them, finishes them, and again: as many at a time as it has slots, each of another lane. */
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
    this.#failed.promise.catch(() => undefined); // who runs the worker is told; nobody may be listening yet
  }

  /** There may be something to do, or to stop. */
  wake(): void {
    this.#wake();
    if (this.#held.size > 0) this.#beatSoon ??= setTimeout(() => this.#beat(), WOKEN_BEAT_MS);
  }

  /** Runs until `drain` is aborted and what is in hand is finished. Throws when the store cannot be used. */
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
    await this.#unlessBusy(() => store.inbox.releaseWorker(worker)); // it holds nothing, and is forgotten when it is silent
  }

  /** Nothing is claimed before it: who holds a lane and never beat is silent from the start. */
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
      const wait = this.#prepareWait(); // before looking, so that no wake gets lost in between
      if (drain.aborted && this.#busy === 0) return;
      const free = drain.aborted ? 0 : this.#slots - this.#busy;
      const leases = free === 0 ? [] : await this.#claim(free);
      for (const lease of leases) void this.#workInSlot(lease);
      await (leases.length < free ? wait(await this.#untilReady()) : wait());
    }
  }

  /** Empty when there is nothing to do, or the store cannot say because another process keeps it locked. */
  async #claim(slots: number): Promise<readonly Lease[]> {
    const { store, worker, onRecorded } = this.#options;
    const leases = await this.#unlessBusy(() => store.inbox.claim(worker, slots));
    if (leases === undefined || leases.length === 0) return [];
    onRecorded();
    return leases;
  }

  /** How long until the next task may begin, as far as can be known here. */
  async #untilReady(): Promise<number> {
    const at = await this.#unlessBusy(() => this.#options.store.inbox.nextReadyAt());
    return typeof at === "number" ? Math.min(Math.max(at - Date.now(), 0), LOOK_MS) : LOOK_MS;
  }

  /** One task after the other, as long as finishing one gives the next. */
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

  /** Gives the task that was taken in the commit that finished this one. */
  async #work(lease: Lease): Promise<Lease | undefined> {
    const { onFinished } = this.#options;
    const held = { lease, stop: new AbortController() };
    this.#held.set(lease.lane, held);
    try {
      const next = await this.#doAndFinish(held);
      onFinished();
      return next;
    } catch (error) {
      // Another worker has the task: nothing that this one found out counts any more.
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

  /** Gives a way to wait for the next wake, and no longer than so long. */
  #prepareWait(): (atMostMs?: number) => Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    return async (atMostMs = LOOK_MS) => {
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
    if (this.#isBeating) return; // the last one still waits for the store
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
    this.#options.onBeat?.(); // each of the two may have waited for a lock
    for (const lost of beat?.lost ?? []) this.#stop(lost, held, "The lease was lost");
    for (const stopped of beat?.cancelled ?? []) this.#stop(stopped, held, `Stopped by ${stopped.by}`);
    await this.#unlessBusy(() => store.inbox.recover(LEASE_MS));
  }

  #stop(key: Pick<Lease, "lane" | "token">, held: readonly Held[], why: string): void {
    const found = held.find(({ lease }) => lease.lane === key.lane && lease.token === key.token);
    found?.stop.abort(new Error(why));
  }

  /** A lock goes away by itself, and every write is fenced: until then there is nothing to end for. */
  async #unlessBusy<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!isStoreError(error, "Busy")) throw error;
      this.#options.onProblem(error);
      this.#options.onBeat?.(); // a beat waits behind what another asked of the store, each for as long as it waits for a lock
      this.#doubtfulBeats = DOUBTFUL_BEATS;
      return undefined;
    }
  }
}

function isStoreError(error: unknown, code: StoreError["code"]): error is StoreError {
  return error instanceof StoreError && error.code === code;
}
