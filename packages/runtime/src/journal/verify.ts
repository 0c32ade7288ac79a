import { existsSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { RuntimeEvent } from "../protocol/event-record.ts";
import { ChainCheck } from "./chain-check.ts";
import type { AuditProblem, ChainOptions, StoredHead } from "./chain-check.ts";
import { EMPTY_TAIL, lineOf } from "./hash-chain.ts";
import { hasHeadFile, headsFolder, readHead, runsWithHeads } from "./heads.ts";
import { readLines } from "./read-lines.ts";
import { chainIdOf, pruningsFile, readPrunings } from "./prunings.ts";
import type { RunRemoval, PrunedRun, ReadPrunings } from "./prunings.ts";
import { readRecordKey } from "./record-key.ts";
import { isRunId, runPath } from "./run-folder.ts";
import { entriesOf, wrongEntry } from "./record-entries.ts";
import { checkApprovals, namesElsewhere, StoredFiles, unfit } from "./stored-files.ts";

/** What `verifyAudit` found. */
export interface AuditVerdict {
  readonly ok: boolean;
  readonly records: number;
  readonly problems: readonly AuditProblem[];
  /** Remarks that do not affect the record, such as a last line truncated by a crash. */
  readonly notes?: readonly AuditProblem[];
  /** The deleted data, if any: the record of deletions was checked too. */
  readonly pruned?: PrunedSummary;
}

interface PrunedSummary {
  readonly runs: number;
  /** Changes that can no longer be undone. */
  readonly changes: number;
  readonly first_ts: string | null;
  readonly last_ts: string | null;
  /** How often the folder was restored from a backup, and the data lost by that. */
  readonly restores: readonly { readonly ts: string; readonly made_at: string; readonly lost_runs: number }[];
}

interface StoreOptions extends VerifyOptions {
  readonly state_dir: string;
}

export interface VerifyOptions {
  /** The folder of the heads. Default: the user's own state directory. */
  readonly heads?: string;
}

/**
 * Checks a record: `path` is an `events.jsonl`, a run's folder, or a state folder with all of its runs. Finds changed,
 * removed and reordered records, a cut tail, a run restored to an earlier state and a missing run. A deleted state
 * folder is detected by the heads of its runs.
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

/** A file, or another entry in place of a run's file. */
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

/** Links and other entries in place of the folders that contain the records of a state folder. */
function foreignEntries(path: string): readonly AuditProblem[] {
  if (!isStateFolder(path)) return [];
  const runs = runsIn(path).filter((run_id) => isRunId(run_id) && !isThere(join(path, "runs", run_id, "events.jsonl")));
  const folders = ["runs", "pruned"].flatMap((name) => unfit(join(path, name), "folder", name));
  const ofRun = (run_id: string): readonly AuditProblem[] =>
    unfit(join(path, "runs", run_id), "folder", run_id).map((each) => ({ ...each, run_id }));
  return [...folders, ...runs.flatMap(ofRun)];
}

/** A file, a folder, another entry in place of a run's file, or nothing: the heads reveal missing runs. */
function mayHoldRecords(path: string): boolean {
  return !existsSync(path) || isRecord(path) || statSync(path).isDirectory();
}

const NOT_A_RECORD = "not a record: neither a file nor a folder";

/** Links count, whatever their target. */
function isThere(path: string): boolean {
  return wrongEntry(path, "file") !== undefined || existsSync(path);
}

/** Runs whose heads say that they were recorded in this state folder, and that are missing without an explanation. */
function missingRuns(path: string, heads: string, { byRun }: ReadPrunings): AuditProblem[] {
  const chain = chainIdOf(path);
  return runsWithHeads(heads, realPathOf(path))
    .filter((run_id) => run_id !== chain && !isThere(join(path, "runs", run_id, "events.jsonl")))
    .flatMap((run_id) => {
      const problem = whyMissing(readHead(heads, run_id, realPathOf(path)), byRun.get(run_id));
      return problem === undefined ? [] : [{ seq: 0, run_id, problem }];
    });
}

/** Undefined if the run was pruned, and it is the one that was. */
function whyMissing(head: ReturnType<typeof readHead>, gone: RunRemoval | undefined): string | undefined {
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

/** The path of an existing or missing folder. */
function realPathOf(path: string): string {
  const absolute = resolve(path);
  if (existsSync(absolute)) return realpathSync(absolute);
  return absolute === "/" ? absolute : join(realPathOf(dirname(absolute)), basename(absolute));
}

/** In a run's folder its head shows how long a record is; nothing shows that a file elsewhere was emptied. */
function emptyOf(path: string, records: number): readonly AuditProblem[] {
  const isAlone = isFile(path) && placeOf(path) === undefined;
  return isAlone && records === 0 ? [{ seq: 0, problem: HOLDS_NOTHING }] : [];
}

const HOLDS_NOTHING = "the file contains no event: it is empty, truncated, or neither a record nor an export";

interface CheckedFile {
  readonly chain: ChainCheck;
  readonly verdict: AuditVerdict;
}

/** Checks a file's chain, that it belongs to the run that its folder is named after, and the files its calls stored. */
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

/** A record in its own folder is a regular file in a real folder; a file elsewhere may be anything readable. */
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
 * The run that a file must contain, if it is at the path of a run's file; undefined for any other file. By its name
 * first: a link in place of the run's folder leads away from there.
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

/** A record that was recorded elsewhere and still exists there was copied here. One that exists only here was moved. */
function copyOf(place: RunPlace | undefined, head: StoredHead): AuditProblem[] {
  if (place === undefined || typeof head !== "object" || head.state_dir === place.state_dir) return [];
  if (!existsSync(join(runPath(head.state_dir, place.run_id), "events.jsonl"))) return [];
  const problem = `this is a copy: the run was recorded in "${head.state_dir}" and still exists there`;
  return [{ seq: 0, problem, kind: "unproven" }];
}

/** The head of the run in this folder; else that of a run with the same id elsewhere, of which this may be a copy. */
function findHead(heads: string, run_id: string, state_dir: string): StoredHead {
  const own = readHead(heads, run_id, state_dir);
  if (own !== undefined) return own;
  return hasHeadFile(heads, run_id, state_dir) ? "begun" : readHead(heads, run_id);
}

function chainOptions(heads: string, state_dir: string): Pick<ChainOptions, "findHead" | "key"> {
  return { findHead: (run_id) => findHead(heads, run_id, state_dir), key: readRecordKey() };
}

/** The same for the file of one run, and what would remain of it after pruning. */
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

/** A row of a store that cannot be returned as an event, with the problem. */
export interface UnreadableEvent {
  readonly unreadable: string;
}

/** The same for a record that is not stored in a file. Its head lags behind, so it may not have one yet. */
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
