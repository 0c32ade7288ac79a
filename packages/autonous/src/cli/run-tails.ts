import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import type { RuntimeEvent } from "@autonous/runtime";
import { parseEvent, runFile, runsWithFiles } from "./records.ts";

const NEWLINE = 10;
const BLOCK_BYTES = 65_536;

/** The ends of the runs' files: what is there at first, and then what each one got since it was looked at last. */
export class RunTails {
  readonly #state_dir: string;
  readonly #only: string | undefined;
  /** How far each file has been read. */
  readonly #read = new Map<string, number>();

  constructor(state_dir: string, only: string | undefined) {
    this.#state_dir = state_dir;
    this.#only = only;
  }

  /** The last events of all runs, oldest first. What is before them in a file is not read. */
  last(count: number): RuntimeEvent[] {
    const runs = this.#runs();
    for (const run_id of runs) {
      this.#withFile(run_id, (fd) => this.#read.set(run_id, startOfLast(fd, count)));
    }
    return this.next().slice(-count);
  }

  /** New events of all runs in the order of their ids, which is that of time. */
  next(): RuntimeEvent[] {
    const events = this.#runs().flatMap((run_id) => this.#withFile(run_id, (fd) => this.#newOf(run_id, fd)) ?? []);
    return events.sort((a, b) => (a.event_id < b.event_id ? -1 : 1));
  }

  #runs(): readonly string[] {
    return this.#only === undefined ? runsWithFiles(this.#state_dir) : [this.#only];
  }

  /** Undefined where there is no file: the service's store may be ahead of it. */
  #withFile<T>(run_id: string, work: (fd: number) => T): T | undefined {
    let fd: number;
    try {
      fd = openSync(runFile(this.#state_dir, run_id), "r");
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
    const end = bytes.lastIndexOf(NEWLINE) + 1; // half a line is read again when it is whole
    this.#read.set(run_id, from + end);
    const lines = bytes.subarray(0, end).toString("utf8").split("\n");
    return lines.map(parseEvent).filter((event) => event !== undefined);
  }
}

/** Where the last `count` whole lines of a file begin. */
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
