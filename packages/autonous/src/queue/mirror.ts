import { ToolError } from "@autonous/runtime";
import { dropUnfinished, JsonlJournal, runPath, writeRunApprovals } from "@autonous/runtime/internal";
import type { RuntimeEvent } from "@autonous/runtime";
import type { EventType } from "@autonous/runtime/internal";
import { EventFeed, pagesOf } from "../store/event-feed.ts";
import { requireEvent } from "../store/record/event-table.ts";
import type { RecordedRow } from "../store/record/event-table.ts";
import { isObject, parseKept } from "../store/sqlite/kept-json.ts";
import { StoreError } from "../store/store-error.ts";
import type { Store } from "../store/store.ts";

export interface MirrorOptions {
  readonly store: Store;
  readonly state_dir: string;
  /** Where the heads of the chains are kept. */
  readonly heads: string;
  readonly clock: () => number;
  /**
   * Called once for every event, in recording order; after a crash, events since the last saved position are repeated.
   */
  readonly onEvents?: (events: readonly RuntimeEvent[]) => void;
  /** Accepts events that this user did not write; for copies. */
  readonly is_copy?: boolean;
  /** Called when a run's file cannot be written, and when it can again. */
  readonly log: (line: string) => void;
}

const PAGE_SIZE = 500;
const STATE_KEY = "mirror";
/** Retry interval for a file that could not be written. */
const RETRY_MS = 10_000;

/** The files are complete up to `position`, except those of the runs in `behind`. */
interface MirrorState {
  position: number;
  readonly behind: Set<string>;
}

/**
 * Copies the events table to each run's `events.jsonl`. The table is authoritative; the files are for reading and
 * archiving. Only the process that has locked the state folder does this. A file that cannot be written (full disk) or
 * was edited delays no other file, and is retried until it is complete.
 */
export class Mirror {
  readonly #options: MirrorOptions;
  /** What the files do not contain yet. Pass its batches to `update`. */
  readonly feed: EventFeed<RecordedRow>;
  #state: MirrorState | undefined;
  #saved = "";
  #retryAt = 0;
  #isIdle = true;
  readonly #logged = new Set<string>();

  constructor(options: MirrorOptions) {
    this.#options = options;
    this.feed = new EventFeed({
      read: pagesOf(options.store.events, { limit: PAGE_SIZE }),
      after: async () => (await this.#loadState()).position,
    });
  }

  /** Updates the files. Throws if the store cannot be read; the next call does the rest. */
  async catchUp(): Promise<void> {
    for await (const rows of this.feed.backlog()) await this.update(rows);
    await this.update([]);
  }

  /** Writes a batch. An empty one means that the feed has no more for now: files that could not be written are retried. */
  async update(rows: readonly RecordedRow[]): Promise<void> {
    const state = await this.#loadState();
    if (rows.length > 0) return await this.#append(state, rows);
    await this.#retry(state);
    // Saved only when idle: if it is lost, the next start compares the same events again.
    if (this.#isIdle) await this.save();
    this.#isIdle = true;
  }

  /** Saves the position, so that the next start does not compare everything again. */
  async save(): Promise<void> {
    if (this.#state === undefined) return;
    const text = textOf(this.#state);
    if (text === this.#saved) return;
    await this.#options.store.kv.set(STATE_KEY, text);
    this.#saved = text;
  }

  async #loadState(): Promise<MirrorState> {
    if (this.#state !== undefined) return this.#state;
    const text = (await this.#options.store.kv.get(STATE_KEY)) ?? textOf({ position: 0, behind: new Set() });
    this.#saved = text;
    const stored = parseKept(text, isStoredState);
    if (stored === undefined)
      this.#options.log(
        'Invalid "mirror" entry in the table "kv": all run files are compared with the audit log again',
      );
    this.#state = { position: stored?.position ?? 0, behind: new Set(stored?.behind) };
    return this.#state;
  }

  async #append(state: MirrorState, rows: readonly RecordedRow[]): Promise<void> {
    this.#isIdle = false;
    this.#options.onEvents?.(rows.flatMap(({ event }) => ("unreadable" in event ? [] : [event])));
    for (const [run_id, ofRun] of Map.groupBy(rows, (row) => row.run_id)) {
      if (state.behind.has(run_id)) continue;
      const problem = await this.#write(run_id, inPages(eventsOf(ofRun)));
      if (problem === undefined) continue;
      state.behind.add(run_id);
      this.#logProblem(run_id, problem);
    }
    state.position = rows.at(-1)?.position ?? state.position;
  }

  async #retry({ behind }: MirrorState): Promise<void> {
    const { store, clock, log } = this.#options;
    if (behind.size === 0 || clock() < this.#retryAt) return;
    for (const run_id of behind) {
      if ((await store.events.rows({ run_id, limit: 1 })).length === 0) {
        behind.delete(run_id); // pruned
        continue;
      }
      const problem = await this.#write(run_id, inPages(store.journal(run_id).read()));
      if (problem === undefined) {
        behind.delete(run_id);
        log(`The file of run ${run_id} is up to date again`);
      } else this.#logProblem(run_id, problem);
    }
    if (behind.size === 0) this.#logged.clear();
    this.#retryAt = clock() + RETRY_MS;
  }

  /** Returns the error if the file cannot be written. */
  async #write(run_id: string, pages: AsyncIterable<Page>): Promise<Error | undefined> {
    const { state_dir, heads, is_copy = false } = this.#options;
    let journal: JsonlJournal | undefined;
    try {
      journal = new JsonlJournal({ state_dir, run_id, heads, follows: is_copy ? "any" : "sealed" });
      let hasApprovals = false;
      for await (const events of pages) {
        journal.follow(events);
        hasApprovals ||= events.some(({ type }) => APPROVAL_EVENTS.has(type));
        for (const { payload } of events.filter(isInterrupted))
          dropUnfinished(runPath(state_dir, run_id), String(payload["tool_call_id"]));
      }
      if (hasApprovals) await this.#writeApprovals(run_id);
      return undefined;
    } catch (error) {
      return error as Error;
    } finally {
      await journal?.close();
    }
  }

  /** Writes the current approvals, which may be newer than the events: the next events write them again. */
  async #writeApprovals(run_id: string): Promise<void> {
    const { store, state_dir } = this.#options;
    const approvals = await store.approvals.list({ run_id });
    const grants = await store.approvals.grants({ run_id, session: "" });
    writeRunApprovals({ state_dir, run_id }, { approvals, grants });
  }

  /** Logs each message once: a full disk causes the same error for every run and every retry. */
  #logProblem(run_id: string, error: Error): void {
    const { message } = error;
    if (this.#logged.has(message)) return;
    this.#logged.add(message);
    const isDamage = error instanceof StoreError && error.code === "DamagedRow";
    const next = isDamage
      ? "The file is up to date before that row; other runs are not affected"
      : `Nothing is lost; the service retries${error instanceof ToolError ? `. ${error.hint}` : ""}`;
    this.#options.log(`Cannot update the file of run ${run_id}: ${message}. ${next}`);
  }
}

/** Events after which a run's approvals have changed: requested, answered, used or expired. */
const APPROVAL_EVENTS: ReadonlySet<EventType> = new Set([
  "approval_required",
  "approval_granted",
  "approval_denied",
  "tool_call.completed",
  "tool_call.failed",
]);

/** The worker died during the call, and the call is not repeated. */
function isInterrupted({ type, payload }: RuntimeEvent): boolean {
  if (type !== "tool_call.failed") return false;
  const { code } = Object(payload["error"]) as { readonly code?: unknown };
  return code === "Interrupted";
}

type Page = readonly RuntimeEvent[];

function textOf({ position, behind }: MirrorState): string {
  return JSON.stringify({ position, behind: [...behind] });
}

function isStoredState(value: unknown): value is { readonly position: number; readonly behind: readonly string[] } {
  if (!isObject(value)) return false;
  const { position, behind } = value;
  const isPosition = Number.isSafeInteger(position) && Number(position) >= 0;
  return isPosition && Array.isArray(behind) && behind.every((run_id) => typeof run_id === "string");
}

function* eventsOf(rows: readonly RecordedRow[]): Iterable<RuntimeEvent> {
  for (const row of rows) yield requireEvent(row);
}

/** Yields the events before an unreadable one, then throws the error of its reader. */
async function* inPages(events: AsyncIterable<RuntimeEvent> | Iterable<RuntimeEvent>): AsyncIterable<Page> {
  let page: RuntimeEvent[] = [];
  let problem: { readonly error: unknown } | undefined;
  try {
    for await (const event of events) {
      page.push(event);
      if (page.length < PAGE_SIZE) continue;
      yield page;
      page = [];
    }
  } catch (error) {
    problem = { error };
  }
  if (page.length > 0) yield page;
  if (problem !== undefined) throw problem.error;
}
