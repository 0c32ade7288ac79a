import { JsonlJournal, writeRunApprovals } from "@autonous/runtime";
import type { EventType, RuntimeEvent } from "@autonous/runtime";
import type { Store } from "../store/store.ts";

export interface MirrorOptions {
  readonly store: Store;
  readonly state_dir: string;
  /** Where the heads of the chains are kept. */
  readonly heads: string;
  readonly clock: () => number;
  /** Told of every event once, in the order of recording; those since the last start's end come again after a crash. */
  readonly onEvents?: (events: readonly RuntimeEvent[]) => void;
  /** Takes events that this user did not write, for a copy. */
  readonly is_copy?: boolean;
  /** Told when a run's file cannot be written, and when it can again. */
  readonly log: (line: string) => void;
}

const A_READ = 500;
const STATE = "mirror";
/** How often a file that could not be written is tried again. */
const RETRY_MS = 10_000;

/** How far the files are: up to a position, but for the runs that are behind. */
interface State {
  position: number;
  readonly behind: Set<string>;
}

/**
 * Follows the events table into each run's `events.jsonl`: the table is the truth, the files are there to be read and
 * kept. One process does this, the one that holds the state folder. A file that cannot be written (a full disk), or
 * that is not what was written (somebody changed it), holds up no other, and is tried again until it is whole.
 */
export class Mirror {
  readonly #options: MirrorOptions;
  #state: State | undefined;
  #saved = "";
  #retryAt = 0;
  readonly #told = new Set<string>();

  constructor(options: MirrorOptions) {
    this.#options = options;
  }

  /** Brings the files up to date. Throws when the store cannot be read; what was not done is done the next time. */
  async catchUp(): Promise<void> {
    this.#state ??= await this.#load();
    const isNew = await this.#follow(this.#state);
    await this.#retry(this.#state);
    // Remembered in the pauses only: to lose it costs the next start a second look at the same events.
    if (!isNew) await this.save();
  }

  /** Remembers how far the files are, so that the next start need not look at everything again. */
  async save(): Promise<void> {
    if (this.#state === undefined) return;
    const text = textOf(this.#state);
    if (text === this.#saved) return;
    await this.#options.store.kv.set(STATE, text);
    this.#saved = text;
  }

  async #load(): Promise<State> {
    const text = (await this.#options.store.kv.get(STATE)) ?? textOf({ position: 0, behind: new Set() });
    this.#saved = text;
    const { position, behind } = JSON.parse(text) as { position: number; behind: readonly string[] };
    return { position, behind: new Set(behind) };
  }

  async #follow(state: State): Promise<boolean> {
    const { store } = this.#options;
    const before = state.position;
    for (;;) {
      const recorded = await store.events.read({ after: state.position, limit: A_READ });
      const last = recorded.at(-1);
      if (last === undefined) return state.position > before;
      const all = recorded.map(({ event }) => event);
      this.#options.onEvents?.(all);
      for (const [run_id, events] of byRun(all)) {
        if (state.behind.has(run_id)) continue;
        const problem = await this.#write(run_id, [events]);
        if (problem === undefined) continue;
        state.behind.add(run_id);
        this.#tell(run_id, problem);
      }
      state.position = last.position;
    }
  }

  async #retry({ behind }: State): Promise<void> {
    const { store, clock, log } = this.#options;
    if (behind.size === 0 || clock() < this.#retryAt) return;
    for (const run_id of behind) {
      if ((await store.events.read({ run_id, limit: 1 })).length === 0) {
        behind.delete(run_id); // it is no longer kept
        continue;
      }
      const problem = await this.#write(run_id, pagesOf(store.journal(run_id).read()));
      if (problem === undefined) {
        behind.delete(run_id);
        log(`The file of run ${run_id} is up to date again`);
      } else this.#tell(run_id, problem);
    }
    if (behind.size === 0) this.#told.clear();
    this.#retryAt = clock() + RETRY_MS;
  }

  /** Gives what the file system, or the file, had against it. */
  async #write(run_id: string, pages: AsyncIterable<Page> | Iterable<Page>): Promise<Error | undefined> {
    const { state_dir, heads, is_copy = false } = this.#options;
    let journal: JsonlJournal | undefined;
    try {
      journal = new JsonlJournal({ state_dir, run_id, heads, follows: is_copy ? "any" : "sealed" });
      let asked = false;
      for await (const events of pages) {
        journal.follow(events);
        asked ||= events.some(({ type }) => ABOUT_APPROVALS.has(type));
      }
      if (asked) await this.#writeApprovals(run_id);
      return undefined;
    } catch (error) {
      return error as Error;
    } finally {
      await journal?.close();
    }
  }

  /** As they are now, which may be further than the events: the next ones bring them up to date again. */
  async #writeApprovals(run_id: string): Promise<void> {
    const { store, state_dir } = this.#options;
    const approvals = await store.approvals.list({ run_id });
    const grants = await store.approvals.grants({ run_id, session: "" });
    writeRunApprovals({ state_dir, run_id }, { approvals, grants });
  }

  /** Once: a full disk says the same of every run, and again at every try. */
  #tell(run_id: string, { message }: Error): void {
    if (this.#told.has(message)) return;
    this.#told.add(message);
    this.#options.log(
      `The file of run ${run_id} does not follow the record: ${message}. Nothing is lost; it is tried again`,
    );
  }
}

/** After these a run's approvals have changed: they were asked for, answered, used up or are over. */
const ABOUT_APPROVALS: ReadonlySet<EventType> = new Set([
  "approval_required",
  "approval_granted",
  "approval_denied",
  "tool_call.completed",
  "tool_call.failed",
]);

type Page = readonly RuntimeEvent[];

function textOf({ position, behind }: State): string {
  return JSON.stringify({ position, behind: [...behind] });
}

function byRun(events: readonly RuntimeEvent[]): Map<string, RuntimeEvent[]> {
  return Map.groupBy(events, ({ run_id }) => run_id);
}

async function* pagesOf(events: AsyncIterable<RuntimeEvent>): AsyncIterable<Page> {
  let page: RuntimeEvent[] = [];
  for await (const event of events) {
    page.push(event);
    if (page.length < A_READ) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}
