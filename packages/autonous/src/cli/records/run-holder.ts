import { realpathSync } from "node:fs";
import { openFiles } from "../../upkeep/open-files.ts";

/**
 * The number of another process that writes this record now, as far as we may look. To go on with its run would break
 * the record under it.
 */
export function holderOf(file: string): string | undefined {
  const real = realpathSync(file);
  for (const { pid, path } of openFiles()) if (path === real) return pid;
  return undefined;
}
