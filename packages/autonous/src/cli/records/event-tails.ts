import { existsSync } from "node:fs";
import type { RuntimeEvent } from "@autonous/runtime";
import { databaseFile, openStore } from "../../store/open-store.ts";
import type { RecordedRow } from "../../store/record/events.ts";
import type { Store } from "../../store/store.ts";
import { RunTails } from "./run-tails.ts";

interface EventTailsOptions {
  readonly state_dir: string;
  readonly run_id?: string | undefined;
  /** In a run shared by several tasks: only this task. */
  readonly task_id?: string | undefined;
}

const PAGE_SIZE = 500;

/**
 * Follows the events of a state folder: the service's from its store, which is ahead of the files; the command line's
 * from the runs' files. The caller closes it.
 */
export class EventTails {
  readonly #options: EventTailsOptions;
  readonly #files: RunTails;
  #store: Store | undefined;
  /** The position up to which the store was read. */
  #position = 0;

  constructor(options: EventTailsOptions) {
    this.#options = options;
    const isElsewhere = (run_id: string): Promise<boolean> => this.#isStored(run_id);
    this.#files = new RunTails({ state_dir: options.state_dir, only: options.run_id, isElsewhere });
  }

  /** The latest events of both, oldest first. */
  async last(count: number): Promise<readonly RuntimeEvent[]> {
    const store = await this.#open();
    const [newest] = (await store?.events.lastRows({ limit: 1 })) ?? [];
    this.#position = newest?.position ?? 0;
    const stored = (await store?.events.lastRows({ ...this.#filter(), limit: count })) ?? [];
    const shown = readable(stored.filter(({ position }) => position <= this.#position));
    return this.#merge(shown, await this.#files.last(count)).slice(-count);
  }

  /** New events since the last call. */
  async next(): Promise<readonly RuntimeEvent[]> {
    const stored: RuntimeEvent[] = [];
    const store = await this.#open();
    for (let isMore = store !== undefined; isMore;) {
      const page = (await store?.events.rows({ ...this.#filter(), after: this.#position, limit: PAGE_SIZE })) ?? [];
      stored.push(...readable(page));
      this.#position = page.at(-1)?.position ?? this.#position;
      isMore = page.length === PAGE_SIZE;
    }
    return this.#merge(stored, await this.#files.next());
  }

  async close(): Promise<void> {
    await this.#store?.close();
  }

  /** A service may start while events are followed. */
  async #open(): Promise<Store | undefined> {
    const file = databaseFile(this.#options.state_dir);
    if (this.#store === undefined && existsSync(file)) this.#store = await openStore({ file, clock: Date.now });
    return this.#store;
  }

  async #isStored(run_id: string): Promise<boolean> {
    return ((await this.#store?.events.rows({ run_id, limit: 1 })) ?? []).length > 0;
  }

  #filter(): { readonly run_id?: string } {
    const { run_id } = this.#options;
    return run_id === undefined ? {} : { run_id };
  }

  /** By the time in their ids. Each list keeps its order: in the store that is the order of recording. */
  #merge(stored: readonly RuntimeEvent[], others: readonly RuntimeEvent[]): readonly RuntimeEvent[] {
    const merged: RuntimeEvent[] = [];
    let at = 0;
    for (const event of stored) {
      for (let other = others[at]; other !== undefined && other.event_id < event.event_id; other = others[++at])
        merged.push(other);
      merged.push(event);
    }
    const { task_id } = this.#options;
    const all = [...merged, ...others.slice(at)];
    return task_id === undefined ? all : all.filter((event) => event.task_id === task_id);
  }
}

/** Skips unreadable rows, as with lines of a file; `audit verify` reports them. */
function readable(rows: readonly RecordedRow[]): readonly RuntimeEvent[] {
  return rows.flatMap(({ event }) => ("unreadable" in event ? [] : [event]));
}
