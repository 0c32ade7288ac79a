import { readPrunings, verifyAudit, verifyEvents } from "@autonous/runtime";
import type { AuditProblem, AuditVerdict, Gone } from "@autonous/runtime";
import type { ForgottenRun, Store } from "../store/store.ts";

interface VerifiedPlace {
  readonly state_dir: string;
  readonly heads: string;
  readonly store: Store | undefined;
}

const A_PAGE = 500;

/** The files of a state folder, and the store beside them: whichever was tampered with is told. */
export async function verifyState({ state_dir, heads, store }: VerifiedPlace): Promise<AuditVerdict> {
  const files = await verifyAudit(state_dir, { heads });
  if (store === undefined) return files;
  const forgotten = await allForgotten(store);
  const { byRun } =
    forgotten.size === 0 ? { byRun: new Map<string, Gone>() } : await readPrunings({ state_dir, heads });
  const problems: AuditProblem[] = [...files.problems];
  let records = 0;
  for await (const run_id of storedRuns(store)) {
    const left = forgotten.get(run_id);
    if (left !== undefined && isTold(left, byRun.get(run_id))) continue;
    const verdict = await verifyEvents(run_id, store.journal(run_id).read(), { heads });
    records += verdict.records;
    // Until it is on record that a run is no longer kept, all of it has to be there.
    const isThere = left === undefined || (left.removed_at === null && verdict.records === left.events);
    if (isThere) problems.push(...verdict.problems);
    else problems.push({ seq: 0, run_id, problem: "the run was taken out of the store, and no pruning tells of it" });
  }
  // A run that the store has and a file follows is one record, not two.
  return { ...files, ok: problems.length === 0, records: Math.max(files.records, records), problems };
}

function isTold(left: ForgottenRun, gone: Gone | undefined): boolean {
  return gone?.isHeaded === true && gone.events === left.events && gone.last_hash === left.last_hash;
}

/** Runs of the store that are no longer kept, by their ids. */
export async function allForgotten(store: Store): Promise<ReadonlyMap<string, ForgottenRun>> {
  const found = new Map<string, ForgottenRun>();
  for (let after = ""; ;) {
    const page = await store.upkeep.allForgotten({ after, limit: A_PAGE });
    for (const run of page) found.set(run.run_id, run);
    after = page.at(-1)?.run_id ?? "";
    if (page.length < A_PAGE) return found;
  }
}

async function* storedRuns(store: Store): AsyncIterable<string> {
  let after: number | undefined;
  do {
    const page = await store.tasks.list({ limit: A_PAGE, ...(after === undefined ? {} : { after }) });
    for (const { run_id } of page.tasks) yield run_id;
    after = page.next ?? undefined;
  } while (after !== undefined);
}
