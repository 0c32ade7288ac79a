import { closeSync, fstatSync, readSync, statSync } from "node:fs";
import { openOwnFile } from "@autonous/runtime/internal";
import type { RuntimeEvent } from "@autonous/runtime";
import { parseEvent, runFile, runsWithFiles } from "./records.ts";

const NEWLINE = 10;
const BLOCK_BYTES = 65_536;

interface RunTailsOptions {
  readonly state_dir: string;
  /** Only this run. */
  readonly only?: string | undefined;
  /** Whether another source shows the run. Called once per run. */
  readonly isElsewhere?: (run_id: string) => Promise<boolean>;
}

/** Follows the runs' files: first their last events, then what was appended since the last read. */
export class RunTails {
  readonly #options: RunTailsOptions;
  readonly #elsewhere = new Map<string, boolean>();
  /** How far each file has been read. */
  readonly #read = new Map<string, number>();

  constructor(options: RunTailsOptions) {
    this.#options = options;
  }

  /** The last events of all runs, oldest first. Earlier parts of the files are not read. */
  async last(count: number): Promise<RuntimeEvent[]> {
    const files = this.#files().sort((a, b) => b.changedMs - a.changedMs);
    let opened = 0;
    for (const { run_id, size } of files) {
      // The latest events are in the most recently changed files, at least one in each.
      const isLate = opened < count && !(await this.#isElsewhere(run_id));
      if (!isLate) this.#read.set(run_id, size);
      else if (this.#withFile(run_id, (fd) => this.#read.set(run_id, startOfLast(fd, count))) !== undefined) opened++;
    }
    return (await this.next()).slice(-count);
  }

  /** New events of all runs in the order of their ids, which is that of time. */
  async next(): Promise<RuntimeEvent[]> {
    const events: RuntimeEvent[] = [];
    for (const { run_id, size } of this.#files()) {
      if (size <= (this.#read.get(run_id) ?? 0) || (await this.#isElsewhere(run_id))) continue;
      for (const event of this.#withFile(run_id, (fd) => this.#newOf(run_id, fd)) ?? []) events.push(event);
    }
    return events.sort((a, b) => (a.event_id < b.event_id ? -1 : 1));
  }

  #files(): { readonly run_id: string; readonly size: number; readonly changedMs: number }[] {
    const { state_dir, only } = this.#options;
    const runs = only === undefined ? runsWithFiles(state_dir) : [only];
    return runs.flatMap((run_id) => {
      const file = statSync(runFile(state_dir, run_id), { throwIfNoEntry: false });
      return file === undefined ? [] : [{ run_id, size: file.size, changedMs: file.mtimeMs }];
    });
  }

  async #isElsewhere(run_id: string): Promise<boolean> {
    const known = this.#elsewhere.get(run_id) ?? (await this.#options.isElsewhere?.(run_id)) ?? false;
    this.#elsewhere.set(run_id, known);
    return known;
  }

  /** Undefined if the file does not exist: the service's store may be ahead of it. */
  #withFile<T>(run_id: string, work: (fd: number) => T): T | undefined {
    let fd: number;
    try {
      fd = openOwnFile(runFile(this.#options.state_dir, run_id));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
    try {
      return work(fd);
    } finally {
      closeSync(fd);
    }
  }

  #newOf(run_id: string, fd: number): RuntimeEvent[] {
    const from = this.#read.get(run_id) ?? 0;
    const { size } = fstatSync(fd);
    if (size <= from) return [];
    const bytes = Buffer.alloc(size - from);
    readSync(fd, bytes, 0, bytes.length, from);
    const end = bytes.lastIndexOf(NEWLINE) + 1; // a partial line is read again once it is complete
    this.#read.set(run_id, from + end);
    const lines = bytes.subarray(0, end).toString("utf8").split("\n");
    return lines.map(parseEvent).filter((event) => event !== undefined);
  }
}

/** The offset of the last `count` complete lines of a file. */
function startOfLast(fd: number, count: number): number {
  const block = Buffer.alloc(BLOCK_BYTES);
  let lineEnds = 0;
  for (let to = fstatSync(fd).size; to > 0;) {
    const from = Math.max(0, to - BLOCK_BYTES);
    const length = readSync(fd, block, 0, to - from, from);
    for (
      let at = block.subarray(0, length).lastIndexOf(NEWLINE);
      at >= 0;
      at = at === 0 ? -1 : block.lastIndexOf(NEWLINE, at - 1)
    ) {
      lineEnds++;
      if (lineEnds > count) return from + at + 1;
    }
    to = from;
  }
  return 0;
}
