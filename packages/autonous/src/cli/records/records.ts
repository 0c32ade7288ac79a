import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { headsFolder, readLines, readPrunings } from "@autonous/runtime/internal";
import type { RuntimeEvent } from "@autonous/runtime";
import type { AuditRecord, RunRemoval } from "@autonous/runtime/internal";
import { databaseFile, openStore } from "../../store/open-store.ts";
import type { Store } from "../../store/store.ts";
import { allForgotten } from "../../upkeep/verify-state.ts";
import { UsageError } from "../command.ts";

export type RecordedAudit = AuditRecord & { readonly run_id: string };

/** An audit record and the event that contains it. */
export interface AuditedEvent {
  readonly record: RecordedAudit;
  readonly event: RuntimeEvent;
}

/** The records of a state folder: from the store for the service's runs, else from each run's file. */
export class Records {
  readonly #state_dir: string;
  readonly #store: Store | undefined;

  constructor(state_dir: string, store: Store | undefined) {
    this.#state_dir = state_dir;
    this.#store = store;
  }

  /** Creates nothing: a missing state folder is an empty record. The caller closes it. */
  static async open(state_dir: string): Promise<Records> {
    const file = databaseFile(state_dir);
    return new Records(state_dir, existsSync(file) ? await openStore({ file, clock: Date.now }) : undefined);
  }

  /** Undefined if no service ever ran. */
  get store(): Store | undefined {
    return this.#store;
  }

  async close(): Promise<void> {
    await this.#store?.close();
  }

  /** Every run, oldest first, with whether the store has it. */
  async runs(): Promise<ReadonlyMap<string, "store" | "file">> {
    const found = new Map<string, "store" | "file">(runsWithFiles(this.#state_dir).map((run_id) => [run_id, "file"]));
    for await (const { run_id } of this.#tasks()) found.set(run_id, "store");
    if (this.#store !== undefined) for (const run_id of (await allForgotten(this.#store)).keys()) found.delete(run_id);
    return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** The run of an id, which may be that of a run or a task. */
  async findRun(id: string): Promise<string> {
    if (id !== "" && (await this.#isStored(id))) return id;
    const stored = await this.#store?.tasks.get(id);
    if (stored !== undefined && (await this.#isStored(stored.task.run_id))) return stored.task.run_id;
    const runs = await this.runs();
    if (runs.has(id)) return id;
    await this.#refuseForgotten(id);
    for (const [run_id, where] of runs) {
      if (where === "file")
        for await (const events of readRunFile(this.#state_dir, run_id))
          for (const { task_id } of events) if (task_id === id) return run_id;
    }
    throw new UsageError(
      `No task or run "${id}" in ${this.#state_dir}; "autonous sessions" lists chats and runs, "autonous tasks list" the tasks of the service; --state-dir selects another state folder`,
    );
  }

  /** Throws an explanation if the id belongs to a pruned or lost run. */
  async #refuseForgotten(id: string): Promise<void> {
    const { byRun } = await readPrunings({ state_dir: this.#state_dir, heads: headsFolder() });
    const gone = byRun.get(id) ?? byRun.values().find(({ task_id }) => task_id === id);
    if (gone !== undefined) throw new UsageError(goneText(gone));
  }

  async *read(run_id: string): AsyncIterable<RuntimeEvent> {
    if (this.#store !== undefined && (await this.#isStored(run_id))) {
      // Skips unreadable rows, as with lines of a file; `audit verify` reports them.
      for await (const event of this.#store.checks.events(run_id)) if (!("unreadable" in event)) yield event;
    } else for await (const events of readRunFile(this.#state_dir, run_id)) yield* events;
  }

  async #isStored(run_id: string): Promise<boolean> {
    if (this.#store === undefined) return false;
    for await (const _ of this.#store.checks.events(run_id)) return true;
    return false;
  }

  /** Audit records in batches, ordered by run, each with its run. */
  async *audits(only?: string): AsyncIterable<Iterable<AuditedEvent>> {
    for (const run_id of only === undefined ? (await this.runs()).keys() : [only]) {
      const pieces = (await this.#isStored(run_id))
        ? inPieces(this.read(run_id))
        : readRunFile(this.#state_dir, run_id, mayHoldAudit);
      for await (const events of pieces) yield auditsIn(events, run_id);
    }
  }

  async *#tasks(): AsyncIterable<{ readonly task_id: string; readonly run_id: string }> {
    let after: number | undefined;
    do {
      const page = await this.#store?.tasks.list({ limit: 500, ...(after === undefined ? {} : { after }) });
      yield* page?.tasks ?? [];
      after = page?.next ?? undefined;
    } while (after !== undefined);
  }
}

/** Explains why a run is gone. */
function goneText({ run_id, by, ts, why, events, first_ts, last_ts }: RunRemoval): string {
  const what = `${events} records from ${first_ts ?? "?"} to ${last_ts ?? "?"}`;
  return by === "pruning"
    ? `The run "${run_id}" (${what}) was pruned on ${ts} by ${why}`
    : `The run "${run_id}" (${what}) is lost: the state folder was restored on ${ts} from "${why}", which is older`;
}

export function runsWithFiles(state_dir: string): string[] {
  const folder = join(state_dir, "runs");
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((run_id) => existsSync(runFile(state_dir, run_id)))
    .sort();
}

export function runFile(state_dir: string, run_id: string): string {
  return join(state_dir, "runs", run_id, "events.jsonl");
}

/** In batches. Lines are parsed lazily, because a whole batch would use much memory. */
async function* readRunFile(
  state_dir: string,
  run_id: string,
  isWanted: (line: string) => boolean = () => true,
): AsyncIterable<Iterable<RuntimeEvent>> {
  for await (const lines of readLines(runFile(state_dir, run_id))) yield eventsIn(lines, isWanted);
}

function* eventsIn(lines: Iterable<{ readonly text: string }>, isWanted: (line: string) => boolean) {
  for (const { text } of lines) {
    const event = isWanted(text) ? parseEvent(text) : undefined;
    if (event !== undefined) yield event;
  }
}

function* auditsIn(events: Iterable<RuntimeEvent>, run_id: string): Iterable<AuditedEvent> {
  for (const event of events) {
    const audit = event.payload["audit"];
    if (isAudit(audit)) yield { record: { run_id, ...audit }, event };
  }
}

/** A cheap pre-check: most lines contain no audit record, and parsing a million of them is slow. */
function mayHoldAudit(line: string): boolean {
  return line.includes('"audit":');
}

async function* inPieces(events: AsyncIterable<RuntimeEvent>): AsyncIterable<Iterable<RuntimeEvent>> {
  for await (const event of events) yield [event];
}

/** Undefined for an invalid line: it is skipped here, and `audit verify` reports it. */
export function parseEvent(line: string): RuntimeEvent | undefined {
  try {
    const event = JSON.parse(line) as Partial<RuntimeEvent> | null;
    const isEvent = typeof event?.event_id === "string" && typeof event.type === "string" && isObject(event.payload);
    return isEvent ? (event as RuntimeEvent) : undefined;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
}

/** Invalid audit records are skipped too; `audit verify` reports them. */
function isAudit(value: unknown): value is AuditRecord {
  if (!isObject(value)) return false;
  const { tool, tool_call_id, policy, result } = value;
  return typeof tool === "string" && typeof tool_call_id === "string" && isObject(policy) && isObject(result);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
