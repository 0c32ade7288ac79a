import { existsSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { RuntimeEvent } from "../protocol/event-record.ts";
import { ChainCheck } from "./chain-check.ts";
import type { AuditProblem, ChainOptions, FoundHead } from "./chain-check.ts";
import { EMPTY_TAIL, lineOf } from "./hash-chain.ts";
import { hasHeadFile, headsFolder, readHead, runsWithHeads } from "./heads.ts";
import { readLines } from "./lines.ts";
import { chainIdOf, pruningsFile, readPrunings } from "./prunings.ts";
import type { Gone, PrunedRun, ReadPrunings } from "./prunings.ts";
import { readRecordKey } from "./record-key.ts";
import { isRunId, runPath } from "./run-folder.ts";
import { entriesOf, wrongEntry } from "./record-entries.ts";
import { checkApprovals, namesElsewhere, StoredFiles, unfit } from "./stored-files.ts";

/** What `verifyAudit` found. */
export interface AuditVerdict {
  readonly ok: boolean;
  readonly records: number;
  readonly problems: readonly AuditProblem[];
  /** What is worth knowing and takes nothing from the record, such as a last line that a crash cut short. */
  readonly notes?: readonly AuditProblem[];
  /** What is no longer kept, where something is not: the record of that is a part of what was checked. */
  readonly pruned?: PrunedSummary;
}

interface PrunedSummary {
  readonly runs: number;
  /** Changes that can no longer be undone. */
  readonly changes: number;
  readonly first_ts: string | null;
  readonly last_ts: string | null;
  /** How often the folder was put back from a backup, and what that lost. */
  readonly restores: readonly { readonly ts: string; readonly made_at: string; readonly lost_runs: number }[];
}

interface StoreOptions extends VerifyOptions {
  readonly state_dir: string;
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
  if (!mayHoldRecords(path)) return verdictOf({ records: 0, problems: [{ seq: 0, problem: NOT_A_RECORD }], notes: [] });
  const verdicts: AuditVerdict[] = [];
  for (const file of recordsAt(path)) verdicts.push((await checkFile(file, heads)).verdict);
  const prunings = isStateFolder(path) ? await readPrunings({ state_dir: path, heads }) : undefined;
  const missing = prunings === undefined ? [] : missingRuns(path, heads, prunings);
  const records = verdicts.reduce((sum, verdict) => sum + verdict.records, 0);
  const empty = emptyOf(path, records);
  const grants = prunings === undefined ? [] : checkApprovals(join(path, "grants.json"));
  const problems = [...foreignEntries(path), ...verdicts.flatMap((verdict) => verdict.problems)];
  problems.push(...missing, ...empty, ...grants);
  const notes = empty.length > 0 ? [] : verdicts.flatMap((verdict) => verdict.notes ?? []);
  const pruned = prunings && summaryOf(prunings);
  return { ...verdictOf({ records, problems, notes }), ...(pruned === undefined ? {} : { pruned }) };
}

function verdictOf({ records, problems, notes }: Omit<Required<AuditVerdict>, "ok" | "pruned">): AuditVerdict {
  return { ok: problems.length === 0, records, problems, ...(notes.length === 0 ? {} : { notes }) };
}

function summaryOf({ runs, changes, first_ts, last_ts, restores }: ReadPrunings): PrunedSummary | undefined {
  if (last_ts === undefined && restores.length === 0) return undefined;
  return { runs, changes, first_ts: first_ts ?? null, last_ts: last_ts ?? null, restores };
}

function isStateFolder(path: string): boolean {
  return !isRecord(path) && !isThere(join(path, "events.jsonl"));
}

/** A file, or what stands in the place of a run's file. */
function isRecord(path: string): boolean {
  return isFile(path) || (placeOf(path) !== undefined && isThere(path));
}

function recordsAt(path: string): string[] {
  if (isRecord(path)) return [path];
  if (isThere(join(path, "events.jsonl"))) return [join(path, "events.jsonl")];
  const ofRuns = runsIn(path).map((run_id) => join(path, "runs", run_id, "events.jsonl"));
  return [...ofRuns, pruningsFile(path)].filter(isThere);
}

function runsIn(path: string): readonly string[] {
  return entriesOf(join(path, "runs"))
    .map(({ name }) => name)
    .sort();
}

/** Links and other things in the place of the folders that the records of a state folder lie in. */
function foreignEntries(path: string): readonly AuditProblem[] {
  if (!isStateFolder(path)) return [];
  const runs = runsIn(path).filter((run_id) => isRunId(run_id) && !isThere(join(path, "runs", run_id, "events.jsonl")));
  const folders = ["runs", "pruned"].flatMap((name) => unfit(join(path, name), "folder", name));
  const ofRun = (run_id: string): readonly AuditProblem[] =>
    unfit(join(path, "runs", run_id), "folder", run_id).map((each) => ({ ...each, run_id }));
  return [...folders, ...runs.flatMap(ofRun)];
}

/** A file, a folder, what stands in the place of a run's file, or nothing: of what is gone the heads know. */
function mayHoldRecords(path: string): boolean {
  return !existsSync(path) || isRecord(path) || statSync(path).isDirectory();
}

const NOT_A_RECORD = "not a record: neither a file nor a folder";

/** Links count, wherever they lead. */
function isThere(path: string): boolean {
  return wrongEntry(path, "file") !== undefined || existsSync(path);
}

/** Runs whose heads say that they were recorded in this state folder, of which nothing is there that says why. */
function missingRuns(path: string, heads: string, { byRun }: ReadPrunings): AuditProblem[] {
  const chain = chainIdOf(path);
  return runsWithHeads(heads, realPathOf(path))
    .filter((run_id) => run_id !== chain && !isThere(join(path, "runs", run_id, "events.jsonl")))
    .flatMap((run_id) => {
      const problem = whyMissing(readHead(heads, run_id, realPathOf(path)), byRun.get(run_id));
      return problem === undefined ? [] : [{ seq: 0, run_id, problem }];
    });
}

/** Undefined where the run was pruned, and it is this one that was. */
function whyMissing(head: ReturnType<typeof readHead>, gone: Gone | undefined): string | undefined {
  if (gone === undefined) return "the record of this run is missing; its head still exists";
  if (!gone.isHeaded) return `the record of this run is missing, and its pruning entry (${gone.ts}) is forged`;
  if (typeof head !== "object") return undefined;
  // The head may lag the record by the last append.
  const fits = head.seq === gone.events ? head.hash === gone.last_hash : head.seq < gone.events;
  return fits ? undefined : `the pruned run (${gone.ts}) does not match its stored head`;
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

/** In a run's folder its head tells how far a record goes; of a file elsewhere nothing shows that it was emptied. */
function emptyOf(path: string, records: number): readonly AuditProblem[] {
  const isAlone = isFile(path) && placeOf(path) === undefined;
  return isAlone && records === 0 ? [{ seq: 0, problem: HOLDS_NOTHING }] : [];
}

const HOLDS_NOTHING = "the file contains no event: it is empty, truncated, or neither a record nor an export";

interface CheckedFile {
  readonly chain: ChainCheck;
  readonly verdict: AuditVerdict;
}

/** The chain of a file, that it is of the run that its folder is named after, and what its calls stored beside it. */
async function checkFile(file: string, heads: string): Promise<CheckedFile> {
  const place = placeOf(file);
  const stored = place && new StoredFiles(dirname(file));
  const chain = new ChainCheck({
    ...chainOptions(heads, place?.state_dir ?? dirname(dirname(realPathOf(file)))),
    run_id: place?.run_id,
    onEvent: (event) => stored?.add(event),
  });
  const wrong = unfitRecord(file, place);
  if (wrong.length > 0) return { chain, verdict: verdictOf({ records: 0, problems: wrong, notes: [] }) };
  for await (const lines of readLines(file)) for (const line of lines) chain.add(line);
  const { problems, notes } = chain.verdict();
  const named = (each: AuditProblem): AuditProblem => ({ ...each, run_id: chain.run_id ?? "" });
  const beside = await stored?.check();
  const copied = copyOf(place, place && findHead(heads, chain.run_id ?? "", place.state_dir));
  const all = [...problems, ...[...copied, ...(beside?.problems ?? [])].map(named)];
  const linked = place === undefined ? [] : namesElsewhere(file, "events.jsonl");
  const more = [...linked, ...(beside?.notes ?? [])].map(named);
  return { chain, verdict: verdictOf({ records: chain.records, problems: all, notes: [...notes, ...more] }) };
}

/** A record in its own folder is a regular file, and the folder is one: a file elsewhere may be anything that can be read. */
function unfitRecord(file: string, place: RunPlace | undefined): readonly AuditProblem[] {
  const isPrunings = basename(dirname(file)) === "pruned";
  if (place === undefined) return isPrunings ? unfit(file, "file", "pruned/events.jsonl") : [];
  const { run_id } = place;
  const folder = unfit(place.folder, "folder", run_id);
  const found = folder.length > 0 ? folder : unfit(join(place.folder, "events.jsonl"), "file", "events.jsonl");
  return found.map((each) => ({ ...each, run_id }));
}

interface RunPlace {
  readonly state_dir: string;
  readonly folder: string;
  readonly run_id: string;
}

/**
 * The run that a file has to hold, where it lies as a run's file does; undefined for any other file. By its name first: a
 * link that stands for the run's folder leads away from there.
 */
function placeOf(file: string): RunPlace | undefined {
  if (basename(file) !== "events.jsonl") return undefined;
  const folder = dirname(resolve(file));
  return runPlace(join(realPathOf(dirname(folder)), basename(folder))) ?? runPlace(realPathOf(folder));
}

function runPlace(folder: string): RunPlace | undefined {
  const run_id = basename(folder);
  if (basename(dirname(folder)) !== "runs" || !isRunId(run_id)) return undefined;
  return { run_id, folder, state_dir: dirname(dirname(folder)) };
}

/** A record that was recorded elsewhere and is still there was copied here. One that is only here was moved. */
function copyOf(place: RunPlace | undefined, head: FoundHead): AuditProblem[] {
  if (place === undefined || typeof head !== "object" || head.state_dir === place.state_dir) return [];
  if (!existsSync(join(runPath(head.state_dir, place.run_id), "events.jsonl"))) return [];
  const problem = `this is a copy: the run was recorded in "${head.state_dir}" and still exists there`;
  return [{ seq: 0, problem, kind: "unproven" }];
}

/** The head of the run in this folder; else that of a run of the same id elsewhere, of which this may be a copy. */
function findHead(heads: string, run_id: string, state_dir: string): FoundHead {
  const own = readHead(heads, run_id, state_dir);
  if (own !== undefined) return own;
  return hasHeadFile(heads, run_id, state_dir) ? "begun" : readHead(heads, run_id);
}

function chainOptions(heads: string, state_dir: string): Pick<ChainOptions, "findHead" | "key"> {
  return { findHead: (run_id) => findHead(heads, run_id, state_dir), key: readRecordKey() };
}

/** The same for the file of one run, and what would be left of it if it were no longer kept. */
export async function summarizeRun(
  { state_dir, run_id }: { readonly state_dir: string; readonly run_id: string },
  options: VerifyOptions = {},
): Promise<AuditVerdict & { readonly run: PrunedRun }> {
  const file = join(runPath(state_dir, run_id), "events.jsonl");
  const { chain, verdict } = await checkFile(file, options.heads ?? headsFolder());
  const { first, last, records } = chain;
  const run = {
    run_id,
    task_id: first?.task_id ?? null,
    events: last?.seq ?? records,
    first_ts: first?.ts ?? null,
    last_ts: last?.ts ?? null,
    last_hash: last?.hash ?? EMPTY_TAIL.hash,
  };
  return { ...verdict, run };
}

/** A row of a store that cannot be given as an event, and what is wrong with it. */
export interface UnreadableEvent {
  readonly unreadable: string;
}

/** The same for a record that is kept elsewhere than in a file. Its head follows it, so it may not have one yet. */
export async function verifyEvents(
  run_id: string,
  events: AsyncIterable<RuntimeEvent | UnreadableEvent>,
  { state_dir, heads = headsFolder() }: StoreOptions,
): Promise<AuditVerdict> {
  const chain = new ChainCheck({ ...chainOptions(heads, realPathOf(state_dir)), run_id, headFollows: true });
  for await (const event of events) {
    if ("unreadable" in event) chain.addUnreadable(event.unreadable);
    else chain.add({ text: lineOf(event), whole: true });
  }
  return verdictOf({ records: chain.records, ...chain.verdict() });
}
