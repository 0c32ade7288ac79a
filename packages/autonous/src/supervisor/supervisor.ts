import type { BreakerState } from "../model/failures/circuit-breaker.ts";
import { startChild } from "./child.ts";
import type { Child, ChildProgram } from "./child.ts";
import type { Logger } from "./logger.ts";
import type { FromWorker, ListedTool, PrintedLine } from "./messages.ts";

export interface SupervisorOptions extends ChildProgram {
  readonly onRecorded: () => void;
  /**
   * A worker exited for any reason; its tasks can go to the next one. `blameless`: the supervisor killed it on purpose,
   * so its tasks did not cause the exit.
   */
  readonly onWorkerEnd: (worker: string, options: { readonly blameless: boolean }) => Promise<void>;
  /** A circuit breaker of the worker changed. Breakers do not outlive their worker. */
  readonly onBreaker?: (breaker: BreakerState) => void;
  /** A command of the worker printed something. */
  readonly onOutput?: (output: PrintedLine) => void;
  /** A worker has loaded its modules. */
  readonly onModuleTools?: (tools: readonly ListedTool[]) => void;
  readonly logger: Logger;
  /** How long a worker that is replaced may take to finish its running tasks. */
  readonly drainMs: number;
  /** Interval of the health check. Default: every second. */
  readonly checkMs?: number;
  /** After this many exits in a row the state is `given_up`. */
  readonly maxEnds?: number;
  /** Pause between restarts in the state `given_up`. */
  readonly givenUpWaitMs?: number;
}

/**
 * starting: a process exists and has not reported yet → working, waiting.
 * working: it has reported → waiting, or starting when it is replaced.
 * waiting: it has exited; the next one starts soon → starting, given_up.
 * given_up: too many exited in a row; the next one starts rarely, or on request, until one works.
 * stopped: no further worker is started.
 */
type WorkerState = "starting" | "working" | "waiting" | "given_up" | "stopped";

export interface WorkerStatus {
  readonly state: WorkerState;
  readonly pid: number | null;
  /** Number of unexpected exits. */
  readonly ends: number;
  /** Why the last one exited, and its output. Null when the worker is healthy. */
  readonly why: string | null;
}

const CHECK_MS = 1000;
/**
 * A worker that sent no heartbeat for this many checks in a row hangs. Counted in checks and not in time, so that a worker
 * is not blamed for the time in which this process itself, or the whole machine, was asleep.
 */
const HUNG_CHECKS = 15;
/** For a child that has not reported since its start: on a busy machine that takes long, and a new one would not be faster. */
const STARTING_CHECKS = 120;
/** A worker that ran this long started successfully. */
const STABLE_MS = 30_000;
/** Number of output lines that are reported when the worker keeps exiting. */
const LAST_LINES = 5;

interface RunningWorker {
  readonly child: Child;
  readonly startedAt: number;
  readonly lines: string[];
  /** It was asked to exit: the next one does not count as a restart. */
  isReplaced: boolean;
  /** The supervisor killed it on purpose. */
  isBlameless: boolean;
  /** It had already exited when a restart was requested: the next one starts at once. */
  isFollowedAtOnce: boolean;
}

/** Keeps one worker running: restarts it with growing waits when it exits, and kills it when it hangs. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  #state: WorkerState = "stopped";
  #running: RunningWorker | undefined;
  /** It has exited and its tasks are being released: the next one starts after that. */
  #leaving: RunningWorker | undefined;
  #over: Promise<void> = Promise.resolve();
  #started = 0;
  #ends = 0;
  #endsInARow = 0;
  #why: string | null = null;
  #silentChecks = 0;
  #next: NodeJS.Timeout | undefined;
  #check: NodeJS.Timeout | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  start(): void {
    this.#check = setInterval(() => this.#look(), this.#options.checkMs ?? CHECK_MS);
    this.#spawn();
  }

  status(): WorkerStatus {
    const state = this.#state !== "stopped" && this.#isGivenUp() ? "given_up" : this.#state;
    return { state, pid: this.#running?.child.pid ?? null, ends: this.#ends, why: this.#why };
  }

  wake(): void {
    this.#running?.child.tell({ type: "wake" });
  }

  /** Replaces the worker once its running tasks are finished. In the state `given_up`, starts one at once. */
  restart(): void {
    if (this.#state === "stopped") return;
    if (this.#leaving !== undefined) this.#leaving.isFollowedAtOnce = true;
    else if (this.#running === undefined) this.#spawn();
    else void this.#drain(this.#running, this.#options.drainMs);
  }

  /** Gives the worker this long to finish its running tasks, then kills it. Starts no further worker. */
  async stop(deadlineMs: number): Promise<void> {
    this.#state = "stopped";
    clearInterval(this.#check);
    clearTimeout(this.#next);
    if (this.#running !== undefined) await this.#drain(this.#running, deadlineMs);
    await this.#over;
  }

  /** Kills the worker at once. */
  kill(): void {
    if (this.#running !== undefined) endOnPurpose(this.#running);
  }

  async #drain(running: RunningWorker, deadlineMs: number): Promise<void> {
    running.isReplaced = true;
    running.child.tell({ type: "drain" });
    const timer = setTimeout(() => endOnPurpose(running), deadlineMs);
    await running.child.ended;
    clearTimeout(timer);
  }

  #spawn(): void {
    clearTimeout(this.#next);
    const worker = `${process.pid}-${Date.now()}-${++this.#started}`;
    const log = this.#options.logger.part("worker");
    const lines: string[] = [];
    const child = startChild({
      ...this.#options,
      worker,
      onMessage: (message) => this.#hear(message),
      onLine: (line) => {
        lines.push(line);
        if (lines.length > LAST_LINES) lines.shift();
        log.warn(line, { worker });
      },
      onProblem: ({ message }) => log.warn(`Cannot reach the worker: ${message}`, { worker }),
    });
    const marks = { isReplaced: false, isBlameless: false, isFollowedAtOnce: false };
    const running: RunningWorker = { child, startedAt: Date.now(), lines, ...marks };
    this.#running = running;
    this.#state = "starting";
    this.#silentChecks = 0;
    this.#options.logger.info("Worker started", { worker, pid: child.pid ?? null });
    this.#over = child.ended.then((how) => this.#afterEnd(running, how));
  }

  #hear(message: FromWorker): void {
    const { type } = message;
    this.#silentChecks = 0;
    if (this.#state === "starting") this.#state = "working";
    if (type === "finished") this.#prove();
    if (type === "breaker") this.#options.onBreaker?.(message.breaker);
    else if (type === "output") this.#options.onOutput?.(message.output);
    else if (type === "module_tools") this.#options.onModuleTools?.(message.tools);
    else if (type !== "alive") this.#options.onRecorded();
  }

  #isGivenUp(): boolean {
    return this.#endsInARow >= (this.#options.maxEnds ?? MAX_ENDS);
  }

  /** The worker works: if it exits now, the next one starts without a wait. */
  #prove(): void {
    if (this.#isGivenUp()) this.#options.logger.warn("The worker recovered; tasks run again");
    this.#endsInARow = 0;
    this.#why = null;
  }

  async #afterEnd(running: RunningWorker, how: string): Promise<void> {
    this.#running = undefined;
    this.#leaving = running;
    await this.#seeOff(running);
    this.#leaving = undefined;
    if (this.#state === "stopped" || this.#running !== undefined) return;
    if (running.isReplaced) return this.#spawn();
    this.#ends++;
    this.#endsInARow++;
    if (this.#isGivenUp()) this.#giveUp(running, how);
    else this.#startLater(running, how);
  }

  async #seeOff(running: RunningWorker): Promise<void> {
    const { worker } = running.child;
    try {
      await this.#options.onWorkerEnd(worker, { blameless: running.isBlameless });
    } catch (error) {
      // The lanes are freed anyway when the worker's lease expires.
      this.#options.logger.warn(`Cannot release the tasks of the exited worker: ${(error as Error).message}`, {
        worker,
      });
    }
  }

  #startLater({ child: { worker }, isFollowedAtOnce }: RunningWorker, how: string): void {
    const waitMs = isFollowedAtOnce ? 0 : waitBefore(this.#endsInARow);
    const when = waitMs === 0 ? "at once" : `in ${waitMs} ms`;
    this.#state = "waiting";
    this.#why = `the worker exited (${how})`;
    this.#options.logger.warn(`The worker exited (${how}); restarting ${when}`, { worker, how });
    if (waitMs === 0) this.#spawn();
    else this.#next = setTimeout(() => this.#spawn(), waitMs);
  }

  #giveUp({ child: { worker }, lines, isFollowedAtOnce }: RunningWorker, how: string): void {
    const waitMs = this.#options.givenUpWaitMs ?? GIVEN_UP_WAIT_MS;
    const said = lines.length === 0 ? "no output" : `output: ${lines.join(" | ")}`;
    this.#state = "given_up";
    this.#why = `the worker exited ${this.#endsInARow} times in a row without finishing a task, the last time with ${how}; ${said}`;
    this.#options.logger.error(
      `No tasks are running: ${this.#why}. Messages are still accepted, and a restart is tried every ${waitMs / 1000} seconds; ` +
        `to retry now, fix the cause and send SIGHUP to process ${process.pid}`,
      { worker, how, ends_in_a_row: this.#endsInARow },
    );
    if (isFollowedAtOnce) this.#spawn();
    else this.#next = setTimeout(() => this.#spawn(), waitMs);
  }

  #look(): void {
    const running = this.#running;
    if (running === undefined) return;
    if (this.#state === "working" && Date.now() - running.startedAt > STABLE_MS) this.#prove();
    const allowed = this.#state === "starting" ? STARTING_CHECKS : HUNG_CHECKS;
    if (++this.#silentChecks >= allowed) this.#endHung(running, allowed);
  }

  #endHung(running: RunningWorker, checks: number): void {
    this.#silentChecks = 0;
    const { worker } = running.child;
    const seconds = Math.round((checks * (this.#options.checkMs ?? CHECK_MS)) / 1000);
    this.#options.logger.warn(`The worker hangs: no heartbeat for ${seconds} seconds. Killing and restarting it`, {
      worker,
    });
    running.child.kill();
  }
}

function endOnPurpose(running: RunningWorker): void {
  running.isBlameless = true;
  running.child.kill();
}

const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 5000;
/**
 * This many exits in a row mean a persistent fault. More than twice the crashes after which a task is abandoned, so that
 * two tasks that each crash their worker do not stop the service.
 */
export const MAX_ENDS = 11;

/** Pause between restarts of a worker that keeps exiting. */
const GIVEN_UP_WAIT_MS = 300_000;

/** How long to wait after this many exits in a row: no wait after the first, which may be a one-off. */
export function waitBefore(endsInARow: number): number {
  return endsInARow <= 1 ? 0 : Math.min(FIRST_WAIT_MS * 2 ** (endsInARow - 2), MAX_WAIT_MS);
}
