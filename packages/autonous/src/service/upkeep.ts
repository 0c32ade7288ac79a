import { headsFolder } from "@autonous/runtime";
import type { Logger } from "../supervisor/logger.ts";
import { Pruner } from "../upkeep/prune.ts";
import type { ServiceContext } from "./context.ts";

const EVERY_MS = 3_600_000;
/** The first time soon after the start, when those who wait for it have been served. */
const FIRST_MS = 30_000;
/** Between two batches: what is to be removed has waited for days, and tasks have not. */
const BETWEEN_MS = 250;

/** Removes what is kept for longer than it is to be, a little at a time. A failure is told and tried again. */
// oxlint-disable-next-line typescript/require-await -- what starts in the background may have to wait
export async function startUpkeep({
  state_dir,
  settings,
  store,
  logger,
}: ServiceContext): Promise<() => Promise<void>> {
  const pruner = new Pruner({ state_dir, heads: headsFolder(), store, clock: Date.now }, settings);
  const log = logger.part("upkeep");
  const stopped = new AbortController();
  const ended = (async () => {
    let told = "";
    for (let waitMs = FIRST_MS; await waited(waitMs, stopped.signal); waitMs = EVERY_MS)
      told = await pruneAll(pruner, { log, signal: stopped.signal, told });
  })();
  return async () => {
    stopped.abort();
    await ended;
  };
}

interface Pruning {
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** What was told the last time: it need not be said every hour. */
  readonly told: string;
}

async function pruneAll(pruner: Pruner, { log, signal, told }: Pruning): Promise<string> {
  const problems = new Set<string>();
  const done = { runs: 0, events: 0, changes: 0 };
  try {
    do {
      const report = await pruner.prune();
      if (report === undefined) break; // another process is at it
      for (const name of ["runs", "events", "changes"] as const) done[name] += report[name];
      for (const run_id of report.damaged) problems.add(`the record of run ${run_id} is damaged, and is kept`);
      for (const problem of report.problems) problems.add(problem);
      if (!report.more) break;
    } while (await waited(BETWEEN_MS, signal));
  } catch (error) {
    problems.add((error as Error).message);
  }
  if (done.runs + done.changes > 0) log.info("What was kept for long enough was removed", done);
  const text = [...problems].join("; ");
  if (text !== "" && text !== told) log.warn(`Not everything that is old could be removed: ${text}`);
  return text;
}

/** False when it is time to stop. */
function waited(ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const stop = (): void => {
      clearTimeout(timer);
      resolve(false);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve(true);
    }, ms);
    signal.addEventListener("abort", stop, { once: true });
  });
}
