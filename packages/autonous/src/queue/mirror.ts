import { JsonlJournal } from "@autonous/runtime";
import type { RuntimeEvent } from "@autonous/runtime";
import type { Store } from "../store/store.ts";

export interface MirrorOptions {
  readonly store: Store;
  readonly state_dir: string;
  /** Where the heads of the chains are kept. */
  readonly heads: string;
}

const A_READ = 500;
const POSITION = "mirror.position";

/**
 * Follows the events table into each run's `events.jsonl`: the table is the truth, the files are there to be read and
 * kept. One process does this; after a crash it goes on where the files end.
 */
export class Mirror {
  readonly #options: MirrorOptions;
  #position: number | undefined;
  #saved = 0;
  #under_way: Promise<void> = Promise.resolve();

  constructor(options: MirrorOptions) {
    this.#options = options;
  }

  /** Brings the files up to date. Calls wait for each other. */
  async catchUp(): Promise<void> {
    const next = this.#under_way.then(() => this.#follow());
    this.#under_way = next.catch(() => undefined); // the caller of this round is told; the next round tries again
    await next;
  }

  async #follow(): Promise<void> {
    const { store } = this.#options;
    this.#position ??= Number((await store.kv.get(POSITION)) ?? 0);
    for (;;) {
      const recorded = await store.events.read({ after: this.#position, limit: A_READ });
      const last = recorded.at(-1);
      if (last === undefined) break;
      for (const [run_id, events] of byRun(recorded.map(({ event }) => event))) await this.#write(run_id, events);
      this.#position = last.position;
    }
  }

  /** Remembers how far the files are, so that the next start need not look at everything again. */
  async save(): Promise<void> {
    if (this.#position === undefined || this.#position === this.#saved) return;
    await this.#options.store.kv.set(POSITION, String(this.#position));
    this.#saved = this.#position;
  }

  async #write(run_id: string, events: readonly RuntimeEvent[]): Promise<void> {
    const { state_dir, heads } = this.#options;
    const journal = new JsonlJournal({ state_dir, run_id, heads });
    try {
      journal.follow(events);
    } finally {
      await journal.close();
    }
  }
}

function byRun(events: readonly RuntimeEvent[]): Map<string, RuntimeEvent[]> {
  const runs = new Map<string, RuntimeEvent[]>();
  for (const event of events) {
    const known = runs.get(event.run_id);
    if (known === undefined) runs.set(event.run_id, [event]);
    else known.push(event);
  }
  return runs;
}
