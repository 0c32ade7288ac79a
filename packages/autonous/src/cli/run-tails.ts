import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import type { RuntimeEvent } from "@autonous/runtime";
import { parseEvent, runFile, runsWithFiles } from "./records.ts";

/** What each run's file got since it was looked at last. */
export class RunTails {
  readonly #state_dir: string;
  readonly #only: string | undefined;
  readonly #read = new Map<string, number>();

  constructor(state_dir: string, only: string | undefined) {
    this.#state_dir = state_dir;
    this.#only = only;
  }

  /** New events of all runs in the order of their ids, which is that of time. */
  next(): RuntimeEvent[] {
    const runs = this.#only === undefined ? runsWithFiles(this.#state_dir) : [this.#only];
    const events = runs.flatMap((run_id) => this.#newOf(run_id));
    return events.sort((a, b) => (a.event_id < b.event_id ? -1 : 1));
  }

  #newOf(run_id: string): RuntimeEvent[] {
    const fd = openSync(runFile(this.#state_dir, run_id), "r");
    try {
      const from = this.#read.get(run_id) ?? 0;
      const size = fstatSync(fd).size;
      if (size <= from) return [];
      const bytes = Buffer.alloc(size - from);
      readSync(fd, bytes, 0, bytes.length, from);
      const end = bytes.lastIndexOf(10) + 1; // half a line is read again when it is whole
      this.#read.set(run_id, from + end);
      return bytes
        .subarray(0, end)
        .toString("utf8")
        .split("\n")
        .map(parseEvent)
        .filter((event) => event !== undefined);
    } finally {
      closeSync(fd);
    }
  }
}
