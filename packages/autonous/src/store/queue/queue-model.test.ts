import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ScratchStore, STORE_KINDS } from "../../../../../test/support/store-places.ts";
import type { Finish, Lease, LeaseKey, Store, Task } from "../store.ts";
import type { TaskState } from "./task-states.ts";

/**
 * Compares the queue with a simple model: whatever people, workers, zombies, crashes and lost answers do to both, the
 * store equals the model after every step.
 */

const WORKERS = ["w1", "w2"] as const;
const MAX_CRASHES = 5;

// oxfmt-ignore
const STEP = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant("ingest" as const), lane: fc.constantFrom("a", "b", "c"), delay: fc.constantFrom(0, 0, 0, 5) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("claim" as const),  worker: fc.constantFrom(...WORKERS), slots: fc.integer({ min: 1, max: 3 }), answer: answerArrives() }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("finish" as const), pick: fc.nat(), how: fc.constantFrom("done", "failed", "retry", "dead", "parked", "cancelled"), next: fc.boolean(), answer: answerArrives() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("crash" as const),  worker: fc.constantFrom(...WORKERS), blameless: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("beat" as const),   worker: fc.constantFrom(...WORKERS) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("cancel" as const), pick: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("retry" as const),  pick: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("drop" as const),   pick: fc.nat() }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("wait" as const),   ms: fc.integer({ min: 1, max: 6 }) }) },
);
type Step = typeof STEP extends fc.Arbitrary<infer Each> ? Each : never;

/** Share of calls that are executed but reported as failed. */
function answerArrives(): fc.Arbitrary<boolean> {
  return fc.constantFrom(true, true, true, true, false);
}

for (const kind of STORE_KINDS) {
  test(`under random operations on ${kind.name} the queue behaves like its model, and nothing is lost`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(STEP, { maxLength: 60 }), async (steps) => {
        const at = new ScratchStore(kind);
        try {
          const run = new Campaign(at, await at.open());
          for (const step of steps) await run.take(step);
          await run.drain();
        } finally {
          await at.close();
        }
      }),
      { numRuns: 60 },
    );
  });
}

interface ModelTask {
  readonly task_id: string;
  readonly lane: string;
  state: TaskState;
  run_at: number;
  attempts: number;
  crashes: number;
  cancel_by: string | null;
}

interface ModelLane {
  held: { readonly worker: string; readonly token: number; readonly leased_at: number } | undefined;
  token: number;
}

const OVER: ReadonlySet<TaskState> = new Set(["done", "failed", "cancelled", "dead_letter"]);
/** The state after a finish. A parked task without a pending approval is ready again. */
const LEFT: Readonly<Record<string, TaskState>> = {
  done: "done",
  failed: "failed",
  retry: "queued",
  dead: "dead_letter",
  parked: "waiting_approval",
  cancelled: "cancelled",
};

class Model {
  /** In the order of each lane. */
  tasks: ModelTask[] = [];
  readonly lanes = new Map<string, ModelLane>();
  readonly beats = new Map<string, number>();

  laneOf(lane: string): ModelLane {
    const known = this.lanes.get(lane) ?? { held: undefined, token: 0 };
    this.lanes.set(lane, known);
    return known;
  }

  headOf(lane: string): ModelTask | undefined {
    return this.tasks.find((task) => task.lane === lane && !OVER.has(task.state));
  }

  holds({ lane, token }: LeaseKey): boolean {
    return this.laneOf(lane).held?.token === token;
  }

  /** The task that the lane would give; ends tasks that may not start any more, as claiming does. */
  #settle(lane: string): void {
    for (let head = this.headOf(lane); head !== undefined; head = this.headOf(lane)) {
      const isWorking = head.state !== "queued" && head.state !== "waiting_approval";
      if (!isWorking || head.crashes < MAX_CRASHES) {
        if (head.cancel_by === null) return;
        head.state = "cancelled";
      } else head.state = head.cancel_by === null ? "dead_letter" : "cancelled";
    }
  }

  /** Lanes with a task that may start. */
  ready(now: number): string[] {
    return [...this.lanes]
      .filter(([lane, { held }]) => held === undefined && this.#canBegin(lane, now))
      .map(([lane]) => lane);
  }

  #canBegin(lane: string, now: number): boolean {
    const head = this.headOf(lane);
    if (head === undefined) return false;
    return head.state !== "queued" || head.run_at <= now;
  }

  begin({ lane, token, worker, task, attempt, resumed }: Lease, now: number): void {
    expect(this.ready(now), "a leased lane, or one whose head has to wait, gives no task").toContain(lane);
    this.#settle(lane);
    const head = this.headOf(lane);
    expect(task.task_id, "a lane gives the first that is not over").toBe(head?.task_id);
    if (head === undefined) return;
    expect(resumed).toBe(head.state !== "queued");
    if (head.state === "queued") head.attempts++;
    head.state = "in_progress";
    const model = this.laneOf(lane);
    expect(token, "a token rises with every lease").toBe(model.token + 1);
    model.token = token;
    model.held = { worker, token, leased_at: now };
    expect({ attempt, crashes: task.crashes }).toEqual({ attempt: head.attempts, crashes: head.crashes });
  }

  /** A claim ends tasks that may not start any more in the lanes that it visits; the model does not fix which ones. */
  follow(tasks: readonly Task[]): void {
    for (const [lane, { held }] of this.lanes) {
      const head = this.headOf(lane);
      const stored = tasks.find(({ task_id }) => task_id === head?.task_id);
      if (held === undefined && stored !== undefined && OVER.has(stored.state)) this.#settle(lane);
    }
  }

  /** Lanes that a claim must have visited if it returned fewer tasks than requested. */
  settleReady(now: number): void {
    for (const lane of this.ready(now)) this.#settle(lane);
  }

  free(
    worker: string,
    { isCrash }: { readonly isCrash: boolean },
    where: (lane: ModelLane) => boolean = () => true,
  ): void {
    for (const [name, lane] of this.lanes) {
      if (lane.held?.worker !== worker || !where(lane)) continue;
      const head = this.headOf(name);
      if (isCrash && head !== undefined) head.crashes++;
      lane.held = undefined;
    }
  }
}

/** Simulates the workers, including zombies. */
class Campaign {
  readonly #at: ScratchStore;
  readonly #store: Store;
  readonly #model = new Model();
  /** Every lease whose answer arrived, including lost ones: zombies try to use them. */
  readonly #leases: Lease[] = [];

  constructor(at: ScratchStore, store: Store) {
    this.#at = at;
    this.#store = store;
  }

  async take(step: Step): Promise<void> {
    if (step.do === "wait") this.#at.now += step.ms;
    else if (step.do === "ingest") await this.#ingest(step);
    else if (step.do === "claim") await this.#claim(step);
    else if (step.do === "finish") await this.#finish(step);
    else if (step.do === "crash") await this.#crash(step);
    else if (step.do === "beat") await this.#beat(step.worker);
    else await this.#ask(step);
    await this.#compare();
  }

  async #ingest({ lane, delay }: { readonly lane: string; readonly delay: number }): Promise<void> {
    const run_at = this.#at.now + delay;
    const { task_id } = await this.#store.inbox.ingest({ source: "test", lane, text: "?", run_at });
    this.#model.laneOf(lane);
    const counters = { attempts: 0, crashes: 0, cancel_by: null };
    this.#model.tasks.push({ task_id, lane, state: "queued", run_at, ...counters });
  }

  async #claim({ worker, slots, answer }: { worker: string; slots: number; answer: boolean }): Promise<void> {
    const { now } = this.#at;
    const leases = await this.#store.inbox.claim(worker, slots);
    if (!this.#model.beats.has(worker)) this.#model.beats.set(worker, now);
    for (const lease of leases) this.#begin(lease, answer);
    if (leases.length === slots) return;
    this.#model.settleReady(now);
    expect(this.#model.ready(now), "nothing that could begin is left").toEqual([]);
  }

  #begin(lease: Lease, answer: boolean): void {
    this.#model.begin(lease, this.#at.now);
    if (answer) this.#leases.push(lease);
  }

  async #finish(step: { pick: number; how: string; next: boolean; answer: boolean }): Promise<void> {
    const lease = this.#leases[step.pick % Math.max(1, this.#leases.length)];
    if (lease === undefined) return;
    const { now } = this.#at;
    const isHeld = this.#model.holds(lease);
    const finishing = this.#store.inbox.finish(lease, { ...finishFor(step.how, now), take_next: step.next });
    if (!isHeld) return await expect(finishing, "a lease that was lost").rejects.toMatchObject({ code: "Fenced" });
    const { next } = await finishing;
    const task = this.#model.headOf(lease.lane);
    if (task === undefined) throw new Error("The model has lost a task");
    task.state = task.cancel_by === null ? (LEFT[step.how] ?? "done") : "cancelled";
    if (task.state === "queued") task.run_at = now + 3;
    this.#model.laneOf(lease.lane).held = undefined;
    if (next !== undefined) this.#begin(next, step.answer);
    else if (step.next) expect(this.#model.ready(now), "nothing that could begin is left").toEqual([]);
  }

  async #crash({ worker, blameless }: { worker: string; blameless: boolean }): Promise<void> {
    await this.#store.inbox.releaseWorker(worker, { blameless });
    this.#model.free(worker, { isCrash: !blameless });
    this.#model.beats.delete(worker);
  }

  async #beat(worker: string): Promise<void> {
    const { now } = this.#at;
    const held = this.#leases.filter((lease) => lease.worker === worker);
    const { lost, cancelled } = await this.#store.inbox.heartbeat(worker, held);
    const isOurs = (lease: Lease): boolean =>
      this.#model.holds(lease) && this.#model.laneOf(lease.lane).held?.worker === worker;
    expect(lost).toEqual(held.filter((lease) => !isOurs(lease)));
    const stopped = held.filter((lease) => isOurs(lease) && this.#model.headOf(lease.lane)?.cancel_by !== null);
    expect(cancelled.map(({ lane }) => lane).toSorted()).toEqual(stopped.map(({ lane }) => lane).toSorted());
    const before = this.#model.beats.get(worker) ?? Number.NEGATIVE_INFINITY;
    const isUnknown = ({ held: lane }: ModelLane): boolean =>
      lane !== undefined &&
      lane.leased_at < before &&
      !held.some(({ token, ...key }) => token === lane.token && this.#model.laneOf(key.lane).held === lane);
    this.#model.free(worker, { isCrash: false }, isUnknown);
    this.#model.beats.set(worker, now);
  }

  async #ask(step: { do: "cancel" | "retry" | "drop"; pick: number }): Promise<void> {
    const { tasks, now } = { tasks: this.#model.tasks, now: this.#at.now };
    const task = tasks[step.pick % Math.max(1, tasks.length)];
    if (task === undefined) return;
    const isOver = OVER.has(task.state);
    const answer = await this.#store.tasks[step.do](task.task_id, "ada");
    if (step.do === "cancel") {
      const isRunning = this.#model.headOf(task.lane) === task && this.#model.laneOf(task.lane).held !== undefined;
      expect(answer?.outcome).toBe(isOver ? "refused" : isRunning ? "stopping" : "done");
      if (isOver) return;
      task.cancel_by = "ada";
      if (!isRunning) task.state = "cancelled";
    } else if (step.do === "drop") {
      const can = task.state === "failed" || task.state === "dead_letter";
      expect(answer?.outcome).toBe(can ? "done" : "refused");
      if (can) Object.assign(task, { state: "cancelled", cancel_by: "ada" });
    } else {
      const can = isOver && task.state !== "done";
      expect(answer?.outcome).toBe(can ? "done" : "refused");
      if (!can) return;
      Object.assign(task, { state: "queued", attempts: 0, crashes: 0, cancel_by: null, run_at: now });
      this.#model.tasks = [...tasks.filter((each) => each !== task), task];
    }
  }

  async #compare(): Promise<void> {
    const { tasks } = await this.#store.tasks.list({ limit: 1000 });
    this.#model.follow(tasks);
    expect(tasks.toReversed().map(modelled)).toEqual(this.#model.tasks);
    for (const lane of this.#model.lanes.keys()) {
      const listed = await this.#store.tasks.list({ lane, limit: 1000 });
      expect(listed.tasks, `of lane ${lane}`).toEqual(tasks.filter((task) => task.lane === lane));
    }
    const { now } = this.#at;
    const next = await this.#store.inbox.nextReadyAt();
    if (this.#model.ready(now).length > 0) expect(next, "a ready task is reported in time").toBeLessThanOrEqual(now);
    for (const { held, state, run_at, lane } of this.#waiting()) {
      if (state === "queued" && held === undefined)
        expect(next, `of lane ${lane}`).toBeLessThanOrEqual(Math.max(run_at, now));
    }
  }

  #waiting(): (ModelTask & Pick<ModelLane, "held">)[] {
    return [...this.#model.lanes].flatMap(([lane, { held }]) => {
      const head = this.#model.headOf(lane);
      return head === undefined ? [] : [{ ...head, held }];
    });
  }

  /** All workers have ended; one correct worker does the rest. */
  async drain(): Promise<void> {
    for (const worker of WORKERS) await this.#crash({ worker, blameless: true });
    const worker = "the last";
    for (;;) {
      this.#at.now += 100;
      await this.#claim({ worker, slots: 9, answer: true });
      const held = this.#leases.filter((lease) => lease.worker === worker && this.#model.holds(lease));
      if (held.length === 0) break;
      for (const lease of held)
        await this.#finish({ pick: this.#leases.indexOf(lease), how: "done", next: false, answer: true });
    }
    await this.#compare();
    expect(this.#model.tasks.filter(({ state }) => !OVER.has(state))).toEqual([]);
    const { by_state } = await this.#store.tasks.counts();
    const dead = this.#model.tasks.filter(({ state }) => state === "dead_letter").length;
    expect(by_state).toEqual(dead === 0 ? {} : { dead_letter: dead });
  }
}

function modelled({ task_id, lane, state, run_at, attempts, crashes, cancel_by }: Task): ModelTask {
  return { task_id, lane, state, run_at, attempts, crashes, cancel_by };
}

function finishFor(how: string, now: number): Finish {
  const error = "it broke";
  if (how === "retry") return { outcome: "retry", error, retry_at: now + 3 };
  if (how === "parked") return { outcome: "parked" };
  if (how === "done") return { outcome: "done", reply: "yes" };
  return { outcome: how === "dead" ? "dead" : how === "failed" ? "failed" : "cancelled", error };
}
