import { headsFolder, pauseUntilAborted } from "@autonous/runtime/internal";
import type { Logger } from "../supervisor/logger.ts";
import { Pruner } from "../upkeep/prune.ts";
import type { ServiceContext } from "./context.ts";

const EVERY_MS = 3_600_000;
/** Delay of the first cleanup, so that waiting tasks start first. */
const FIRST_MS = 30_000;
/** Pause between two batches: tasks take precedence over cleanup. */
const BETWEEN_MS = 250;

/** Deletes data past retention, in small batches. A failure is logged and retried. */
// oxlint-disable-next-line typescript/require-await -- other background jobs need to await
export async function startPruning({
  state_dir,
  settings,
  store,
  logger,
}: ServiceContext): Promise<() => Promise<void>> {
  const pruner = new Pruner({ state_dir, heads: headsFolder(), store, clock: Date.now }, settings);
  const log = logger.part("upkeep");
  const stopped = new AbortController();
  const ended = (async () => {
    let lastWarning = "";
    for (let waitMs = FIRST_MS; await pauseUntilAborted(waitMs, stopped.signal); waitMs = EVERY_MS)
      lastWarning = await pruneAll(pruner, { log, signal: stopped.signal, lastWarning });
  })();
  return async () => {
    stopped.abort();
    await ended;
  };
}

interface PruneOptions {
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** The last warning, so that it is not repeated every hour. */
  readonly lastWarning: string;
}

async function pruneAll(pruner: Pruner, { log, signal, lastWarning }: PruneOptions): Promise<string> {
  const problems = new Set<string>();
  const done = { runs: 0, events: 0, changes: 0 };
  try {
    do {
      const report = await pruner.prune();
      if (report === undefined) break; // another process is deleting
      for (const name of ["runs", "events", "changes"] as const) done[name] += report[name];
      for (const run_id of report.damaged)
        problems.add(`the audit log of run ${run_id} is damaged and was not deleted`);
      for (const problem of report.problems) problems.add(problem);
      if (!report.more) break;
    } while (await pauseUntilAborted(BETWEEN_MS, signal));
  } catch (error) {
    problems.add((error as Error).message);
  }
  if (done.runs + done.changes > 0) log.info("Deleted data past retention", done);
  const text = [...problems].join("; ");
  if (text !== "" && text !== lastWarning) log.warn(`Cannot delete all data past retention: ${text}`);
  return text;
}
