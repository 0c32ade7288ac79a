import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { readLines } from "@autonous/runtime";
import type { AuditRecord, RuntimeEvent } from "@autonous/runtime";
import { databaseFile, openStore } from "../store/open-store.ts";
import type { Store } from "../store/store.ts";
import { UsageError } from "./command.ts";

/** The record of a state folder: in the store where the service wrote it, else in each run's file. */
export class Records {
  readonly #state_dir: string;
  readonly #store: Store | undefined;

  constructor(state_dir: string, store: Store | undefined) {
    this.#state_dir = state_dir;
    this.#store = store;
  }

  /** Makes nothing: a state folder that is not there is an empty record. The caller closes it. */
  static async open(state_dir: string): Promise<Records> {
    const file = databaseFile(state_dir);
    return new Records(state_dir, existsSync(file) ? await openStore({ file, clock: Date.now }) : undefined);
  }

  async close(): Promise<void> {
    await this.#store?.close();
  }

  /** Every run, oldest first, with whether the store has it. */
  async runs(): Promise<ReadonlyMap<string, "store" | "file">> {
    const found = new Map<string, "store" | "file">(runsWithFiles(this.#state_dir).map((run_id) => [run_id, "file"]));
    for await (const { run_id } of this.#tasks()) found.set(run_id, "store");
    return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** The run that an id means: its own, or that of the task. */
  async findRun(id: string): Promise<string> {
    const runs = await this.runs();
    if (runs.has(id)) return id;
    for await (const { task_id, run_id } of this.#tasks()) if (task_id === id) return run_id;
    for (const [run_id, where] of runs) {
      if (where === "file")
        for await (const event of readRunFile(this.#state_dir, run_id)) if (event.task_id === id) return run_id;
    }
    throw new UsageError(
      `There is no task or run "${id}" in ${this.#state_dir}; "autonous events tail" shows the latest, --state-dir looks elsewhere`,
    );
  }

  async *read(run_id: string): AsyncIterable<RuntimeEvent> {
    const inStore = await this.#store?.events.read({ run_id, limit: 1 });
    if (this.#store !== undefined && inStore !== undefined && inStore.length > 0)
      yield* this.#store.journal(run_id).read();
    else yield* readRunFile(this.#state_dir, run_id);
  }

  /** Audit records in the order of their runs, each with the run that it belongs to. */
  async *audits(only?: string): AsyncIterable<AuditRecord & { readonly run_id: string }> {
    for (const run_id of only === undefined ? (await this.runs()).keys() : [only]) {
      for await (const { payload } of this.read(run_id)) {
        const audit = payload["audit"] as AuditRecord | undefined;
        if (audit !== undefined) yield { run_id, ...audit };
      }
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

async function* readRunFile(state_dir: string, run_id: string): AsyncIterable<RuntimeEvent> {
  for await (const lines of readLines(runFile(state_dir, run_id))) {
    for (const { text } of lines) {
      const event = parseEvent(text);
      if (event !== undefined) yield event;
    }
  }
}

/** A line that is no event is what `audit verify` tells of; here it is passed over. */
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

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}
