import type { Store } from "../store/store.ts";
import type { WorkerStatus } from "../supervisor/supervisor.ts";

/** What `/healthz` says, to anybody on this machine: so nothing of what was said or went wrong. The log has more. */
export type Health = { readonly ok: true } | { readonly ok: false; readonly why: string };

interface HealthParts {
  readonly store: { readonly kv: Pick<Store["kv"], "set"> };
  readonly workerStatus: () => WorkerStatus;
  readonly clock: () => number;
}

/** The service is well while a worker is there, or about to be. */
// oxfmt-ignore
const WORKER = {
  starting: undefined,
  working:  undefined,
  waiting:  "the worker ended and is started again",
  given_up: "the worker does not stay up; the log says why",
  stopped:  "the service is stopping",
} as const satisfies Record<WorkerStatus["state"], string | undefined>;

/** Asked by many, the store is written to seldom. */
const TRY_MS = 5000;
const KEY = "health";

export function createHealth({ store, workerStatus, clock }: HealthParts): () => Promise<Health> {
  let tried: { readonly at: number; readonly problem: Promise<string | undefined> } | undefined;
  return async () => {
    const worker = WORKER[workerStatus().state];
    if (worker !== undefined) return { ok: false, why: worker };
    if (tried === undefined || Math.abs(clock() - tried.at) > TRY_MS)
      tried = { at: clock(), problem: tryStore(store, new Date(clock()).toISOString()) };
    const problem = await tried.problem;
    return problem === undefined ? { ok: true } : { ok: false, why: problem };
  };
}

async function tryStore({ kv }: HealthParts["store"], now: string): Promise<string | undefined> {
  try {
    await kv.set(KEY, now);
    return undefined;
  } catch {
    return "the store cannot be written"; // why, its own users tell in the log
  }
}
