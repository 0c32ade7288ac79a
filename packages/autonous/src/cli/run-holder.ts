import { readdirSync, readlinkSync, realpathSync } from "node:fs";

/**
 * The number of another process that writes this record now, as far as we may look. To go on with its run would break
 * the record under it.
 */
export function holderOf(file: string): string | undefined {
  const real = realpathSync(file);
  return readdirSync("/proc").find((pid) => /^\d+$/.test(pid) && pid !== String(process.pid) && holds(pid, real));
}

function holds(pid: string, file: string): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => linkOf(`/proc/${pid}/fd/${fd}`) === file);
  } catch {
    return false; // it is over, or somebody else's
  }
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined; // closed since
  }
}
