import { dropUnfinished, JsonlJournal, runPath, ToolError, writeRunApprovals } from "@autonous/runtime";
import type { EventType, RuntimeEvent } from "@autonous/runtime";
import { requireEvent } from "../store/record/events.ts";
import type { RecordedRow } from "../store/record/events.ts";
import { isObject, parseKept } from "../store/sqlite/kept-json.ts";
import { StoreError } from "../store/store-error.ts";
import type { Store } from "../store/store.ts";

export interface MirrorOptions {
  readonly store: Store;
  readonly state_dir: string;
  /** Where the heads of the chains are kept. */
  readonly heads: string;
  readonly clock: () => number;
  /** Called for every event once, in the order of recording; events since the last shutdown come again after a crash. */
  readonly onEvents?: (events: readonly RuntimeEvent[]) => void;
  /** Takes events that this user did not write, for a copy. */
  readonly is_copy?: boolean;
  /** Called when a run's file cannot be written, and when it can again. */
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
    const kept = parseKept(text, isKept);
    if (kept === undefined)
      this.#options.log(
        '"mirror" in the table "kv" is not valid: the files of all runs are compared with the record again',
      );
    return { position: kept?.position ?? 0, behind: new Set(kept?.behind) };
  }

  async #follow(state: State): Promise<boolean> {
    const { store } = this.#options;
    const before = state.position;
    for (;;) {
      const recorded = await store.events.rows({ after: state.position, limit: A_READ });
      const last = recorded.at(-1);
      if (last === undefined) return state.position > before;
      this.#options.onEvents?.(recorded.flatMap(({ event }) => ("unreadable" in event ? [] : [event])));
      for (const [run_id, rows] of Map.groupBy(recorded, (row) => row.run_id)) {
        if (state.behind.has(run_id)) continue;
        const problem = await this.#write(run_id, pagesOf(eventsOf(rows)));
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
      if ((await store.events.rows({ run_id, limit: 1 })).length === 0) {
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
  async #write(run_id: string, pages: AsyncIterable<Page>): Promise<Error | undefined> {
    const { state_dir, heads, is_copy = false } = this.#options;
    let journal: JsonlJournal | undefined;
    try {
      journal = new JsonlJournal({ state_dir, run_id, heads, follows: is_copy ? "any" : "sealed" });
      let asked = false;
      for await (const events of pages) {
        journal.follow(events);
        asked ||= events.some(({ type }) => ABOUT_APPROVALS.has(type));
        for (const { payload } of events.filter(isInterrupted))
          dropUnfinished(runPath(state_dir, run_id), String(payload["tool_call_id"]));
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
  #tell(run_id: string, error: Error): void {
    const { message } = error;
    if (this.#told.has(message)) return;
    this.#told.add(message);
    const isDamage = error instanceof StoreError && error.code === "DamagedRow";
    const next = isDamage
      ? "It follows up to there; other runs are not affected"
      : `Nothing is lost; the service retries${error instanceof ToolError ? `. ${error.hint}` : ""}`;
    this.#options.log(`The file of run ${run_id} does not follow the record: ${message}. ${next}`);
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

/** The worker was lost with the call, and it is not made again. */
function isInterrupted({ type, payload }: RuntimeEvent): boolean {
  if (type !== "tool_call.failed") return false;
  const { code } = Object(payload["error"]) as { readonly code?: unknown };
  return code === "Interrupted";
}

type Page = readonly RuntimeEvent[];

function textOf({ position, behind }: State): string {
  return JSON.stringify({ position, behind: [...behind] });
}

function isKept(value: unknown): value is { readonly position: number; readonly behind: readonly string[] } {
  if (!isObject(value)) return false;
  const { position, behind } = value;
  const isPlace = Number.isSafeInteger(position) && Number(position) >= 0;
  return isPlace && Array.isArray(behind) && behind.every((run_id) => typeof run_id === "string");
}

function* eventsOf(rows: readonly RecordedRow[]): Iterable<RuntimeEvent> {
  for (const row of rows) yield requireEvent(row);
}

/** Gives what comes before an event that cannot be read, and then throws what its reader throws. */
async function* pagesOf(events: AsyncIterable<RuntimeEvent> | Iterable<RuntimeEvent>): AsyncIterable<Page> {
  let page: RuntimeEvent[] = [];
  let problem: { readonly error: unknown } | undefined;
  try {
    for await (const event of events) {
      page.push(event);
      if (page.length < A_READ) continue;
      yield page;
      page = [];
    }
  } catch (error) {
    problem = { error };
  }
  if (page.length > 0) yield page;
  if (problem !== undefined) throw problem.error;
}
