import { closeSync, constants, existsSync, ftruncateSync, readSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../contract/host.ts";
import type { RuntimeEvent } from "../protocol/event-record.ts";
import { makeId, makeTraceId } from "../protocol/ids.ts";
import { hashOfEvent } from "./hash-chain.ts";
import { readHead } from "./heads.ts";
import { JsonlJournal } from "./jsonl-journal.ts";
import { readLines } from "./read-lines.ts";
import { wrongEntry } from "./record-entries.ts";
import { openOwnFile } from "../own-files/read-own-file.ts";

/** The remaining facts about a run whose record was deleted. */
export interface PrunedRun {
  readonly run_id: string;
  readonly task_id: string | null;
  readonly events: number;
  readonly first_ts: string | null;
  readonly last_ts: string | null;
  readonly last_hash: string;
}

/** `upkeep.pruned`. */
interface PrunedPayload {
  /** The retention setting that applied, such as `AUTONOUS_KEEP_DAYS=30`. */
  readonly setting: string;
  readonly runs: readonly PrunedRun[];
  /** Logs of changes that can no longer be undone. */
  readonly undo?: { readonly logs: readonly string[]; readonly changes: number };
}

/** `upkeep.restored`. */
export interface RestoredPayload {
  readonly backup: string;
  /** When the backup was made, ISO 8601. */
  readonly made_at: string;
  /** Runs that the backup does not contain. */
  readonly lost: readonly PrunedRun[];
  /** Runs that continued after the backup was made. */
  readonly cut: readonly { readonly run_id: string; readonly events: number; readonly kept: number }[];
}

export interface PruningsPlace {
  readonly state_dir: string;
  /** The folder of the heads. */
  readonly heads: string;
}

/** The record of deletions: a chain like that of a run, in a separate folder, and never pruned itself. */
function pruningsFolder(state_dir: string): string {
  return join(state_dir, "pruned");
}

/** The path of the record of prunings in a state folder. */
export function pruningsFile(state_dir: string): string {
  return join(pruningsFolder(state_dir), "events.jsonl");
}

/** Writes the record of prunings, which is created with its first entry. The caller ensures that one process writes. */
export class Prunings {
  readonly #place: PruningsPlace;
  readonly #clock: Clock;
  #last: RuntimeEvent | undefined;
  #journal: JsonlJournal | undefined;

  private constructor(place: PruningsPlace, clock: Clock, last: RuntimeEvent | undefined) {
    this.#place = place;
    this.#clock = clock;
    this.#last = last;
  }

  /** Throws if the record does not match its stored head: then nothing may be removed because of it. */
  static async open(place: PruningsPlace, clock: Clock): Promise<Prunings> {
    const { state_dir, heads } = place;
    const last = await takeOffUnheaded(pruningsFile(state_dir), readHead(heads, chainIdOf(state_dir) ?? "", state_dir));
    return new Prunings(place, clock, last);
  }

  /** The last entry: the files it lists may not be removed yet. */
  get last(): PrunedPayload | undefined {
    return this.#last?.type === "upkeep.pruned" ? (this.#last.payload as unknown as PrunedPayload) : undefined;
  }

  /** Resolves when the entry and its head are on the disk. Only then remove the files it lists. */
  async record(...entry: ["upkeep.pruned", PrunedPayload] | ["upkeep.restored", RestoredPayload]): Promise<void> {
    const [type, payload] = entry;
    const { state_dir, heads } = this.#place;
    const now = this.#clock();
    const run_id = this.#last?.run_id ?? makeId("prune", now);
    const journal = (this.#journal ??= new JsonlJournal({
      state_dir,
      run_id,
      heads,
      folder: pruningsFolder(state_dir),
    }));
    const about = { trace_id: makeTraceId(), task_id: null, run_id, parent_id: null };
    const draft = { event_id: makeId("evt", now), ts: new Date(now).toISOString(), type, ...about };
    const [event] = await journal.append([{ ...draft, payload: { ...payload } }], { durable: true });
    journal.syncHead();
    this.#last = event;
  }

  async close(): Promise<void> {
    await this.#journal?.close();
  }
}

/**
 * Nothing is removed before the head is written. So a line beyond the head comes from an interrupted write or from
 * another program: either way, the deletion that it reports did not happen.
 */
async function takeOffUnheaded(file: string, head: ReturnType<typeof readHead>): Promise<RuntimeEvent | undefined> {
  if (head === "damaged" || wrongEntry(file, "file") !== undefined) throw changed(file);
  let last: RuntimeEvent | undefined;
  let size = 0;
  if (existsSync(file))
    for await (const lines of readLines(file))
      for (const { text, whole } of lines) {
        if (head !== undefined && last?.seq === head.seq) continue;
        if (whole) size += Buffer.byteLength(text) + 1;
        last = whole ? parse(text) : last;
      }
  if (head === undefined) return last;
  if (last?.seq !== head.seq || last.hash !== head.hash || hashOfEvent(last) !== head.hash) throw changed(file);
  const fd = openOwnFile(file, constants.O_RDWR);
  try {
    ftruncateSync(fd, size);
  } finally {
    closeSync(fd);
  }
  return last;
}

function changed(file: string): Error {
  return new Error(
    `Cannot add to the record of prunings: "${file}" changed since the last write; run "autonous audit verify"`,
  );
}

/** A link, a pipe or a folder in its place is ignored here: `verifyAudit` reports it. */
function isRegular(file: string): boolean {
  return existsSync(file) && wrongEntry(file, "file") === undefined;
}

/** The name under which the head of this record is stored, from its first event. */
export function chainIdOf(state_dir: string): string | undefined {
  const file = pruningsFile(state_dir);
  if (!isRegular(file)) return undefined;
  const fd = openOwnFile(file);
  try {
    const first = parse(firstLine(fd));
    return typeof first?.run_id === "string" ? first.run_id : undefined;
  } finally {
    closeSync(fd);
  }
}

const BLOCK = 65_536;

function firstLine(fd: number): string {
  const blocks: Buffer[] = [];
  for (;;) {
    const block = Buffer.alloc(BLOCK);
    const size = readSync(fd, block, 0, BLOCK, null);
    const end = block.subarray(0, size).indexOf(10);
    blocks.push(block.subarray(0, end < 0 ? size : end));
    if (end >= 0 || size === 0) return Buffer.concat(blocks).toString("utf8");
  }
}

/** The outcome of a run that no longer exists. */
export interface RunRemoval extends PrunedRun {
  readonly by: "pruning" | "restore";
  readonly ts: string;
  /** The setting, or the backup. */
  readonly why: string;
  /** Covered by the head outside the state folder. */
  readonly isHeaded: boolean;
}

interface RestoreEntry {
  readonly ts: string;
  readonly made_at: string;
  readonly lost_runs: number;
}

export interface ReadPrunings {
  readonly byRun: ReadonlyMap<string, RunRemoval>;
  readonly runs: number;
  readonly changes: number;
  readonly first_ts: string | undefined;
  readonly last_ts: string | undefined;
  readonly restores: readonly RestoreEntry[];
}

/** The entire record, as written; `verifyAudit` finds out whether it is true. */
export async function readPrunings({ state_dir, heads }: PruningsPlace): Promise<ReadPrunings> {
  const byRun = new Map<string, RunRemoval>();
  const restores: RestoreEntry[] = [];
  const file = pruningsFile(state_dir);
  const found = {
    runs: 0,
    changes: 0,
    first_ts: undefined as string | undefined,
    last_ts: undefined as string | undefined,
  };
  const head = readHead(heads, chainIdOf(state_dir) ?? "", state_dir);
  const headSeq = typeof head === "object" ? head.seq : head === "damaged" ? 0 : Number.POSITIVE_INFINITY;
  if (isRegular(file))
    for await (const lines of readLines(file))
      for (const { text } of lines) {
        const event = parse(text);
        const isHeaded = (event?.seq ?? 0) <= headSeq;
        if (event?.type === "upkeep.pruned") {
          const { setting = "", undo } = event.payload as Partial<PrunedPayload>;
          const runs = runsIn(event.payload["runs"]);
          for (const run of runs)
            byRun.set(run.run_id, { ...run, by: "pruning", ts: event.ts, why: setting, isHeaded });
          found.runs += runs.length;
          found.changes += undo?.changes ?? 0;
          found.first_ts ??= event.ts;
          found.last_ts = event.ts;
        } else if (event?.type === "upkeep.restored") {
          const { backup = "", made_at = "" } = event.payload as Partial<RestoredPayload>;
          const lost = runsIn(event.payload["lost"]);
          for (const run of lost) byRun.set(run.run_id, { ...run, by: "restore", ts: event.ts, why: backup, isHeaded });
          restores.push({ ts: event.ts, made_at, lost_runs: lost.length });
        }
      }
  return { byRun, restores, ...found };
}

function parse(text: string): RuntimeEvent | undefined {
  try {
    const event = JSON.parse(text) as RuntimeEvent | null;
    return typeof event?.payload === "object" && event.payload !== null ? event : undefined;
  } catch {
    return undefined; // torn, or not an event: `verifyAudit` reports it
  }
}

/** Skips invalid entries: the hash check reports forged and damaged lines. */
function runsIn(value: unknown): readonly PrunedRun[] {
  if (!Array.isArray(value)) return [];
  return value.filter((run: Partial<PrunedRun> | null): run is PrunedRun => typeof run?.run_id === "string");
}
