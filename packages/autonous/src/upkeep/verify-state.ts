import { lstatSync } from "node:fs";
import { join } from "node:path";
import { verifyAudit } from "@autonous/runtime";
import { readPrunings, verifyEvents } from "@autonous/runtime/internal";
import type { AuditVerdict } from "@autonous/runtime";
import type { AuditProblem, AuditRecord, RunRemoval } from "@autonous/runtime/internal";
import type { ForgottenRun, Store } from "../store/store.ts";
import { runFolders } from "./run-folders.ts";
import { wholeLines } from "./whole-lines.ts";

interface VerifiedPlace {
  readonly state_dir: string;
  readonly heads: string;
  readonly store: Store | undefined;
}

const PAGE_ORDER = 500;

/** Verifies the files of a state folder and its store against each other: reports what either one lacks. */
export async function verifyState({ state_dir, heads, store }: VerifiedPlace): Promise<AuditVerdict> {
  const files = await verifyAudit(state_dir, { heads });
  if (store === undefined) return files;
  const forgotten = await allForgotten(store);
  const { byRun } = await readPrunings({ state_dir, heads });
  const problems: AuditProblem[] = [...files.problems];
  const stored = new Set<string>();
  let records = 0;
  for await (const run_id of storedRuns(store)) {
    stored.add(run_id);
    const left = forgotten.get(run_id);
    if (left !== undefined && isRecordedAs(left, byRun.get(run_id))) continue;
    const verdict = await verifyStored({ store, state_dir, heads }, run_id);
    records += verdict.records;
    // A run must be complete until its pruning is recorded.
    const isThere = left === undefined || (left.removed_at === null && verdict.records === left.events);
    if (isThere) problems.push(...verdict.problems);
    else problems.push({ seq: 0, run_id, problem: "the run was removed from the store, but no pruning is recorded" });
  }
  problems.push(...(await store.checks.contradictions()));
  problems.push(...(await missingInStore(state_dir, stored)));
  const all = withoutRepeats(problems);
  // A run that is in the store and in a file counts once.
  return { ...files, ok: all.length === 0, records: Math.max(files.records, records), problems: all };
}

/** The chain of a run's rows, and the results that its calls stored. */
async function verifyStored(place: VerifiedPlace & { readonly store: Store }, run_id: string): Promise<AuditVerdict> {
  const { store, state_dir, heads } = place;
  const results = new Map<string, string>();
  async function* events(): ReturnType<Store["checks"]["events"]> {
    for await (const event of store.checks.events(run_id)) {
      const audit = "unreadable" in event ? undefined : (event.payload["audit"] as Partial<AuditRecord> | undefined);
      const sha256 = audit?.hashes?.["result_sha256"];
      if (sha256 !== undefined && audit?.tool_call_id !== undefined) results.set(audit.tool_call_id, sha256);
      yield event;
    }
  }
  const verdict = await verifyEvents(run_id, events(), { heads, state_dir });
  const changed = results.size === 0 ? [] : await store.checks.changedResults(run_id, results);
  const more = changed.map((id) => ({
    seq: 0,
    run_id,
    problem: `the stored result of call "${id}" does not match the audit log`,
  }));
  return { ...verdict, ok: verdict.ok && more.length === 0, problems: [...verdict.problems, ...more] };
}

/** The first event in the log of a task, or of the service itself. */
const OF_SERVICE = /"type":"(?:task\.queued|access\.\w+)"/;

/** Runs whose files say that they belong to the service, but that are missing in the store. */
async function missingInStore(state_dir: string, stored: ReadonlySet<string>): Promise<readonly AuditProblem[]> {
  const problems: AuditProblem[] = [];
  for await (const { run_id, lastMs } of runFolders(state_dir)) {
    if (lastMs === undefined || stored.has(run_id)) continue;
    const file = join(state_dir, "runs", run_id, "events.jsonl");
    if (lstatSync(file, { throwIfNoEntry: false })?.isFile() !== true) continue; // the check of the files reports it
    const first = (await wholeLines(file, 1)).last ?? "";
    if (!OF_SERVICE.test(first)) continue; // a run of the command line or of a library
    const problem = "the file of this run belongs to the service, but the run is missing in the store: it was removed";
    problems.push({ seq: 0, run_id, problem });
  }
  return problems;
}

/** A run's file mirrors its rows, so both report the same damage. */
function withoutRepeats(problems: readonly AuditProblem[]): readonly AuditProblem[] {
  const keyOf = ({ run_id = "", seq, problem }: AuditProblem): string => `${run_id} ${seq} ${problem}`;
  return [...new Map(problems.map((each) => [keyOf(each), each])).values()];
}

function isRecordedAs(left: ForgottenRun, gone: RunRemoval | undefined): boolean {
  return gone?.isHeaded === true && gone.events === left.events && gone.last_hash === left.last_hash;
}

/** Pruned runs of the store, by id. */
export async function allForgotten(store: Store): Promise<ReadonlyMap<string, ForgottenRun>> {
  const found = new Map<string, ForgottenRun>();
  for (let after = ""; ;) {
    const page = await store.upkeep.allForgotten({ after, limit: PAGE_ORDER });
    for (const run of page) found.set(run.run_id, run);
    after = page.at(-1)?.run_id ?? "";
    if (page.length < PAGE_ORDER) return found;
  }
}

async function* storedRuns(store: Store): AsyncIterable<string> {
  const own = await store.checks.serviceChain();
  if (own !== undefined) yield own;
  let after: number | undefined;
  do {
    const page = await store.tasks.list({ limit: PAGE_ORDER, ...(after === undefined ? {} : { after }) });
    for (const { run_id } of page.tasks) yield run_id;
    after = page.next ?? undefined;
  } while (after !== undefined);
}
