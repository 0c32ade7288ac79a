import { realpathSync } from "node:fs";
import { openFiles } from "../../upkeep/open-files.ts";

/**
 * The pid of another process that is writing this record, as far as this user can see. Resuming its run would corrupt
 * the record.
 */
export function holderOf(file: string): string | undefined {
  const real = realpathSync(file);
  for (const { pid, path } of openFiles()) if (path === real) return pid;
  return undefined;
}
