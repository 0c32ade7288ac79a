import type { Journal, OpenJournal, RunFolder } from "../contract/journal.ts";
import type { ActiveSkills } from "../gate/steps/active-skills.ts";
import type { OpenRuns } from "./open-runs.ts";
import { makeRunFolder, openRunFolder, runPath } from "../journal/run-folder.ts";

/** The state of one run. */
export interface Run {
  readonly run_id: string;
  readonly journal: Journal;
  readonly folder: RunFolder;
  /** The skills that restrict its calls. */
  readonly active: ActiveSkills;
  /** Ids of its running calls. */
  readonly calls: Set<string>;
}

/** Maximum number of open journals. Others are reopened when needed. */
const MAX_OPEN = 64;

const USES_PER_TURN = 32;

/** The runs of a runtime, opened on first use. The least recently used are closed again. */
export class Runs {
  readonly #state_dir: string;
  readonly #openJournal: OpenJournal;
  readonly #activeIn: (run_id: string) => ActiveSkills;
  readonly #marks: OpenRuns | undefined;
  readonly #open = new Map<string, Promise<Run>>();
  readonly #busy = new Map<string, number>();
  #uses = 0;

  /** `marks`: records which runs are open; undefined if the journals are not files of this folder. */
  constructor(
    state_dir: string,
    {
      openJournal,
      activeIn,
    }: { readonly openJournal: OpenJournal; readonly activeIn: (run_id: string) => ActiveSkills },
    marks?: OpenRuns,
  ) {
    this.#state_dir = state_dir;
    this.#openJournal = openJournal;
    this.#activeIn = activeIn;
    this.#marks = marks;
  }

  /** Keeps the run open while `work` runs. */
  async use<T>(run_id: string, work: (run: Run) => Promise<T>): Promise<T> {
    // Without this, a caller that makes many quick calls in a row would starve timers, signals and child processes.
    if (++this.#uses % USES_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
    this.#busy.set(run_id, (this.#busy.get(run_id) ?? 0) + 1);
    try {
      return await work(await this.get(run_id));
    } finally {
      const left = (this.#busy.get(run_id) ?? 1) - 1;
      if (left > 0) this.#busy.set(run_id, left);
      else this.#busy.delete(run_id);
      await this.#closeIdle();
    }
  }

  get(run_id: string): Promise<Run> {
    const known = this.#open.get(run_id);
    const run = known ?? this.#make(run_id);
    this.#open.delete(run_id); // moves it to the end (LRU: the first entry is the oldest)
    this.#open.set(run_id, run);
    if (known === undefined) run.catch(() => this.#open.delete(run_id)); // callers get the error; the next call retries
    return run;
  }

  async close(): Promise<void> {
    const runs = [...this.#open.values()];
    this.#open.clear();
    for (const run of await Promise.allSettled(runs)) if (run.status === "fulfilled") await this.#close(run.value);
  }

  async #make(run_id: string): Promise<Run> {
    const path = runPath(this.#state_dir, run_id);
    makeRunFolder(path);
    const journal = await this.#openJournal(run_id);
    this.#marks?.enter(run_id);
    const active = this.#activeIn(run_id);
    for await (const event of journal.read()) active.hear(event);
    return { run_id, journal, folder: openRunFolder(path), active, calls: new Set() };
  }

  async #closeIdle(): Promise<void> {
    if (this.#open.size <= MAX_OPEN) return;
    for (const [run_id, run] of this.#open) {
      if (this.#open.size <= MAX_OPEN) return;
      if (this.#busy.has(run_id)) continue;
      this.#open.delete(run_id);
      const opened = await run.catch(() => undefined); // the callers that opened it already got the error
      if (opened !== undefined) await this.#close(opened);
    }
  }

  /** A run that is closed during a call keeps its mark: the end of that call can no longer be recorded. */
  async #close({ run_id, journal }: Run): Promise<void> {
    await journal.close();
    if (!this.#busy.has(run_id)) this.#marks?.leave(run_id);
  }
}
