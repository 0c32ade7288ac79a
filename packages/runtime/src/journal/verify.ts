import { existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { RuntimeEvent } from "../protocol/event-record.ts";
import { EMPTY_TAIL, hashOfEvent, isSealedLine, lineOf } from "./hash-chain.ts";
import type { Tail } from "./hash-chain.ts";
import { headsFolder, readHead, runsWithHeads } from "./heads.ts";
import { readLines } from "./lines.ts";
import type { Line } from "./lines.ts";
import { chainIdOf, pruningsFile, readPrunings } from "./prunings.ts";
import type { Gone, PrunedRun, ReadPrunings } from "./prunings.ts";
import { runPath } from "./run-folder.ts";

export interface AuditProblem {
  /** Where the chain stops being right; 0 where a whole run is meant. */
  readonly seq: number;
  readonly problem: string;
  readonly run_id?: string;
}

export interface AuditVerdict {
  readonly ok: boolean;
  readonly records: number;
  readonly problems: readonly AuditProblem[];
  /** What is no longer kept, where something is not: the record of that is a part of what was checked. */
  readonly pruned?: PrunedSummary;
}

interface PrunedSummary {
  readonly runs: number;
  /** Changes that can no longer be taken back. */
  readonly changes: number;
  readonly first_ts: string | null;
  readonly last_ts: string | null;
  /** How often the folder was put back from a backup, and what that lost. */
  readonly restores: readonly { readonly ts: string; readonly made_at: string; readonly lost_runs: number }[];
}

export interface VerifyOptions {
  /** Where the heads are kept. Default: the user's own state directory. */
  readonly heads?: string;
}

/**
 * Checks a record: `path` is an `events.jsonl`, a run's folder, or a state folder with all of its runs. Finds changed,
 * removed and reordered records, a cut tail, a run that was put back to an earlier state and one that is gone.
 * A state folder that is gone altogether is known by the heads of its runs.
 */
export async function verifyAudit(path: string, options: VerifyOptions = {}): Promise<AuditVerdict> {
  const heads = options.heads ?? headsFolder();
  const verdicts: AuditVerdict[] = [];
  for (const file of recordsAt(path)) verdicts.push(await verifyFile(file, heads));
  const prunings = isStateFolder(path) ? await readPrunings({ state_dir: path, heads }) : undefined;
  const missing = prunings === undefined ? [] : missingRuns(path, heads, prunings);
  const problems = [...verdicts.flatMap((verdict) => verdict.problems), ...missing];
  const records = verdicts.reduce((sum, verdict) => sum + verdict.records, 0);
  const pruned = prunings && summaryOf(prunings);
  return { ok: problems.length === 0, records, problems, ...(pruned === undefined ? {} : { pruned }) };
}

function summaryOf({ runs, changes, first_ts, last_ts, restores }: ReadPrunings): PrunedSummary | undefined {
  if (last_ts === undefined && restores.length === 0) return undefined;
  return { runs, changes, first_ts: first_ts ?? null, last_ts: last_ts ?? null, restores };
}

function isStateFolder(path: string): boolean {
  return !isFile(path) && !existsSync(join(path, "events.jsonl"));
}

function recordsAt(path: string): string[] {
  if (isFile(path)) return [path];
  if (existsSync(join(path, "events.jsonl"))) return [join(path, "events.jsonl")];
  const runs = join(path, "runs");
  const files = existsSync(runs) ? readdirSync(runs).sort() : [];
  const ofRuns = files.map((run_id) => join(runs, run_id, "events.jsonl"));
  return [...ofRuns, pruningsFile(path)].filter((file) => existsSync(file));
}

/** Runs whose heads say that they were recorded in this state folder, of which nothing is there that says why. */
function missingRuns(path: string, heads: string, { byRun }: ReadPrunings): AuditProblem[] {
  const chain = chainIdOf(path);
  return runsWithHeads(heads, realPathOf(path))
    .filter((run_id) => run_id !== chain && !existsSync(join(path, "runs", run_id, "events.jsonl")))
    .flatMap((run_id) => {
      const problem = whyMissing(readHead(heads, run_id), byRun.get(run_id));
      return problem === undefined ? [] : [{ seq: 0, run_id, problem }];
    });
}

/** Undefined where the run was pruned, and it is this one that was. */
function whyMissing(head: HeadFound, gone: Gone | undefined): string | undefined {
  if (gone === undefined) return "the record of this run is gone; its head is still known";
  if (!gone.isHeaded) return `the record of this run is gone, and what says that it was pruned (${gone.ts}) is forged`;
  if (typeof head !== "object") return undefined;
  // The head may lag the record by the last append.
  const fits = head.seq === gone.events ? head.hash === gone.last_hash : head.seq < gone.events;
  return fits ? undefined : `the run that was pruned (${gone.ts}) is not the one whose head was kept`;
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** Where a folder is, or was. */
function realPathOf(path: string): string {
  const absolute = resolve(path);
  if (existsSync(absolute)) return realpathSync(absolute);
  return absolute === "/" ? absolute : join(realPathOf(dirname(absolute)), basename(absolute));
}

async function verifyFile(file: string, heads: string): Promise<AuditVerdict> {
  return (await checkFile(file, heads)).verdict(basename(dirname(file)));
}

async function checkFile(file: string, heads: string): Promise<ChainCheck> {
  const chain = new ChainCheck((run_id) => readHead(heads, run_id));
  for await (const lines of readLines(file)) for (const line of lines) chain.add(line);
  return chain;
}

/** The same for the file of one run, and what would be left of it if it were no longer kept. */
export async function summarizeRun(
  { state_dir, run_id }: { readonly state_dir: string; readonly run_id: string },
  options: VerifyOptions = {},
): Promise<AuditVerdict & { readonly run: PrunedRun }> {
  const chain = await checkFile(join(runPath(state_dir, run_id), "events.jsonl"), options.heads ?? headsFolder());
  const { first, last, records } = chain;
  const run = {
    run_id,
    task_id: first?.task_id ?? null,
    events: last?.seq ?? records,
    first_ts: first?.ts ?? null,
    last_ts: last?.ts ?? null,
    last_hash: last?.hash ?? EMPTY_TAIL.hash,
  };
  return { ...chain.verdict(run_id), run };
}

/** The same for a record that is kept elsewhere than in a file. */
export async function verifyEvents(
  run_id: string,
  events: AsyncIterable<RuntimeEvent>,
  options: VerifyOptions = {},
): Promise<AuditVerdict> {
  const chain = new ChainCheck((id) => readHead(options.heads ?? headsFolder(), id));
  for await (const event of events) chain.add({ text: lineOf(event), whole: true });
  return chain.verdict(run_id);
}

type HeadFound = ReturnType<typeof readHead>;

/** Follows one chain line by line. A bad link is told once; the next one is judged by what its own line claims. */
class ChainCheck {
  readonly problems: { seq: number; problem: string }[] = [];
  records = 0;
  run_id: string | undefined;
  first: RuntimeEvent | undefined;
  last: RuntimeEvent | undefined;
  readonly #findHead: (run_id: string) => HeadFound;
  #tail: Tail = EMPTY_TAIL;
  #head: HeadFound;
  #headHash: string | undefined;

  constructor(findHead: (run_id: string) => HeadFound) {
    this.#findHead = findHead;
  }

  add({ text, whole }: Line): void {
    const expected = this.#tail.seq + 1;
    const event = whole ? parseEvent(text) : undefined;
    if (event === undefined) return this.#tell(expected, whole ? "the line is no event" : tornLine(text));
    this.records++;
    this.first ??= event;
    this.last = event;
    if (this.run_id === undefined) this.#begin(event.run_id);
    if (event.run_id !== this.run_id) this.#tell(event.seq, `the event belongs to another run ("${event.run_id}")`);
    if (event.seq !== expected) this.#tell(event.seq, `expected record ${expected} here, found ${event.seq}`);
    else if (event.prev_hash !== this.#tail.hash) this.#tell(event.seq, "does not follow from the record before it");
    if (!isSealedLine(text, event) && hashOfEvent(event) !== event.hash) {
      this.#tell(event.seq, "the content was changed");
    }
    this.#tail = { seq: event.seq, hash: event.hash };
    if (typeof this.#head === "object" && event.seq === this.#head.seq) this.#headHash = event.hash;
  }

  /** `folder` is the run that it ought to be, for a record that has nothing to say of itself. */
  verdict(folder: string): AuditVerdict {
    if (this.run_id === undefined) this.#begin(folder);
    this.#compareWithHead();
    const run_id = this.run_id ?? folder;
    const problems = this.problems.map((each) => ({ ...each, run_id }));
    return { ok: problems.length === 0, records: this.records, problems };
  }

  #compareWithHead(): void {
    const head = this.#head;
    if (head === undefined) return;
    if (head === "damaged") return this.#tell(this.#tail.seq, "the head that is kept outside cannot be read");
    if (this.#headHash === head.hash) return;
    const problem =
      this.#headHash === undefined
        ? `the record ends at ${this.#tail.seq}, but it went on to ${head.seq}: the tail was cut`
        : "the record is not the one whose head was kept: it was rewritten";
    this.#tell(this.#headHash === undefined ? this.#tail.seq + 1 : head.seq, problem);
  }

  #begin(run_id: string): void {
    this.run_id = run_id;
    this.#head = this.#findHead(run_id);
  }

  #tell(seq: number, problem: string): void {
    this.problems.push({ seq, problem });
  }
}

function tornLine(text: string): string {
  return `the last line is torn (${Buffer.byteLength(text)} bytes); the next start of this run takes it off`;
}

function parseEvent(text: string): RuntimeEvent | undefined {
  try {
    const value = JSON.parse(text) as RuntimeEvent | null;
    return typeof value?.seq === "number" && typeof value.run_id === "string" ? value : undefined;
  } catch {
    return undefined; // told as "no event" by the caller
  }
}
