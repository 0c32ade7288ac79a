import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import type { FromWorker, ToWorker } from "./messages.ts";
import { WORKER_NAME } from "./messages.ts";

export interface SupervisorOptions {
  /** The program that the worker is, its words, and the flags that Node needs for it. */
  readonly program: string;
  readonly words: readonly string[];
  readonly flags: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly onRecorded: () => void;
  /** A worker has ended, however; what it held can be given to the next one. */
  readonly onWorkerEnd: (worker: string) => Promise<void>;
  readonly log: (line: string) => void;
  /** How often the worker is looked at. Default: every second. */
  readonly checkMs?: number;
}

const CHECK_MS = 1000;
/**
 * A worker that was not heard of at so many checks in a row hangs. Counted in checks and not in time, so that a worker
 * is not blamed for the time in which this process itself, or the whole machine, was asleep.
 */
const HUNG_CHECKS = 15;
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 10_000;
/** A worker that lived so long did not fail by starting. */
const STABLE_MS = 30_000;

interface End {
  readonly worker: string;
  readonly startedAt: number;
  readonly how: string;
}

/** Keeps one worker running: starts it again when it ends, with growing waits, and ends it when it hangs. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  #child: ChildProcess | undefined;
  #count = 0;
  #waitMs = FIRST_WAIT_MS;
  #silentChecks = 0;
  #stopping = false;
  #restart: NodeJS.Timeout | undefined;
  #check: NodeJS.Timeout | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  start(): void {
    this.#check = setInterval(() => this.#endIfHung(), this.#options.checkMs ?? CHECK_MS);
    this.#spawn();
  }

  wake(): void {
    this.#tell({ type: "wake" });
  }

  /** Lets the worker finish what it has in hand for so long, then ends it. */
  async stop(deadlineMs: number): Promise<void> {
    this.#stopping = true;
    clearInterval(this.#check);
    clearTimeout(this.#restart);
    const child = this.#child;
    if (child === undefined) return;
    const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    this.#tell({ type: "drain" });
    const timer = setTimeout(() => child.kill("SIGKILL"), deadlineMs);
    await ended;
    clearTimeout(timer);
  }

  /** Ends the worker at once. */
  kill(): void {
    this.#child?.kill("SIGKILL");
  }

  #spawn(): void {
    const { program, words, flags, environment } = this.#options;
    const worker = `${process.pid}-${Date.now()}-${++this.#count}`;
    const startedAt = Date.now();
    const ended = (how: string): void => void this.#afterEnd({ worker, startedAt, how });
    let child: ChildProcess;
    try {
      child = fork(program, words, {
        execArgv: [...flags],
        env: { ...environment, [WORKER_NAME]: worker },
        stdio: ["ignore", 2, 2, "ipc"], // its text goes to our stderr: stdout is for results
      });
    } catch (error) {
      return ended(`it could not be started: ${(error as Error).message}`); // no memory for it, for one
    }
    this.#child = child;
    this.#silentChecks = 0;
    child.on("message", (message: FromWorker) => this.#hear(message));
    child.once("exit", (code, signal) => ended(signal ?? `exit code ${code}`));
    child.on("error", (error) => {
      if (child.pid === undefined) ended(`it could not be started: ${error.message}`);
      else this.#options.log(`The worker cannot be reached: ${error.message}`);
    });
  }

  #hear({ type }: FromWorker): void {
    this.#silentChecks = 0;
    if (type === "finished") this.#waitMs = FIRST_WAIT_MS; // it works: should it end now, the next one need not wait
    if (type !== "alive") this.#options.onRecorded();
  }

  async #afterEnd({ worker, startedAt, how }: End): Promise<void> {
    this.#child = undefined;
    try {
      await this.#options.onWorkerEnd(worker);
    } catch (error) {
      // The lanes are freed anyway once the worker has been silent for the time of a lease.
      this.#options.log(`What the ended worker held could not be freed: ${(error as Error).message}`);
    }
    if (this.#stopping) return;
    if (Date.now() - startedAt > STABLE_MS) this.#waitMs = FIRST_WAIT_MS;
    this.#options.log(`The worker ended (${how}); the next one starts in ${this.#waitMs} ms`);
    this.#restart = setTimeout(() => this.#spawn(), this.#waitMs);
    this.#waitMs = Math.min(this.#waitMs * 2, LONGEST_WAIT_MS);
  }

  #endIfHung(): void {
    if (this.#child === undefined || ++this.#silentChecks < HUNG_CHECKS) return;
    this.#silentChecks = 0;
    this.#options.log(
      `The worker hangs: nothing was heard of it for ${HUNG_CHECKS} seconds. It is ended and started again`,
    );
    this.#child.kill("SIGKILL");
  }

  #tell(message: ToWorker): void {
    // A worker that is ending takes no messages; the next one looks for itself.
    if (this.#child?.connected === true) this.#child.send(message, () => undefined);
  }
}
