import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import type { FromWorker, ToWorker } from "./messages.ts";
import { WORKER_NAME } from "./messages.ts";

export interface SupervisorOptions {
  /** The program that the worker is, and its words. It is started with this process's own flags and environment. */
  readonly program: string;
  readonly words: readonly string[];
  readonly onRecorded: () => void;
  /** A worker has ended, however; what it held can be given to the next one. */
  readonly onWorkerEnd: (worker: string) => Promise<void>;
  readonly log: (line: string) => void;
}

const CHECK_MS = 1000;
/** A worker that has not turned its loop for so long hangs. */
const HUNG_MS = 15_000;
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 10_000;
/** A worker that lived so long did not fail by starting. */
const STABLE_MS = 30_000;

/** Keeps one worker running: starts it again when it ends, with growing waits, and ends it when it hangs. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  #child: ChildProcess | undefined;
  #count = 0;
  #waitMs = FIRST_WAIT_MS;
  #aliveAt = 0;
  #stopping = false;
  #restart: NodeJS.Timeout | undefined;
  #check: NodeJS.Timeout | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  start(): void {
    this.#check = setInterval(() => this.#endIfHung(), CHECK_MS);
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
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
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
    const { program, words } = this.#options;
    const worker = `${process.pid}-${Date.now()}-${++this.#count}`;
    // Its text goes to our stderr: stdout is for results.
    const child = fork(program, words, {
      env: { ...process.env, [WORKER_NAME]: worker },
      stdio: ["ignore", 2, 2, "ipc"],
    });
    const startedAt = Date.now();
    this.#child = child;
    this.#aliveAt = startedAt;
    child.on("message", (message: FromWorker) => {
      this.#aliveAt = Date.now();
      if (message.type === "recorded") this.#options.onRecorded();
    });
    child.once(
      "exit",
      (code, signal) => void this.#afterEnd({ worker, startedAt, how: signal ?? `exit code ${code}` }),
    );
    child.once("error", (error) => this.#options.log(`The worker could not be started: ${error.message}`));
  }

  async #afterEnd({ worker, startedAt, how }: { worker: string; startedAt: number; how: string }): Promise<void> {
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
    if (this.#child === undefined || this.#child.exitCode !== null || Date.now() - this.#aliveAt < HUNG_MS) return;
    this.#options.log(
      `The worker hangs: nothing was heard of it for ${HUNG_MS / 1000} seconds. It is ended and started again`,
    );
    this.#child.kill("SIGKILL");
  }

  #tell(message: ToWorker): void {
    // A worker that is ending takes no messages; the next one looks for itself.
    if (this.#child?.connected === true) this.#child.send(message, () => undefined);
  }
}
