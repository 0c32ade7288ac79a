import { existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { RuntimeEvent } from "../protocol/event-record.ts";
import { EMPTY_TAIL, hashOfEvent, isSealedLine, lineOf } from "./hash-chain.ts";
import type { Tail } from "./hash-chain.ts";
import { headsFolder, readHead, runsWithHeads } from "./heads.ts";
import { readLines } from "./lines.ts";
import type { Line } from "./lines.ts";

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
  const problems = [...verdicts.flatMap((verdict) => verdict.problems), ...missingRuns(path, heads)];
  const records = verdicts.reduce((sum, verdict) => sum + verdict.records, 0);
  return { ok: problems.length === 0, records, problems };
}

function recordsAt(path: string): string[] {
  if (isFile(path)) return [path];
  if (existsSync(join(path, "events.jsonl"))) return [join(path, "events.jsonl")];
  const runs = join(path, "runs");
  if (!existsSync(runs)) return [];
  const files = readdirSync(runs)
    .sort()
    .map((run_id) => join(runs, run_id, "events.jsonl"));
  return files.filter((file) => existsSync(file));
}

/** Runs whose heads say that they were recorded in this state folder, and of which nothing is there. */
function missingRuns(path: string, heads: string): AuditProblem[] {
  if (isFile(path) || existsSync(join(path, "events.jsonl"))) return [];
  return runsWithHeads(heads, realPathOf(path))
    .filter((run_id) => !existsSync(join(path, "runs", run_id, "events.jsonl")))
    .map((run_id) => ({ seq: 0, run_id, problem: "the record of this run is gone; its head is still known" }));
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
  const chain = new ChainCheck((run_id) => readHead(heads, run_id));
  for await (const lines of readLines(file)) for (const line of lines) chain.add(line);
  return chain.verdict(basename(dirname(file)));
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
