import { readdirSync, readlinkSync } from "node:fs";

interface OpenFile {
  readonly pid: string;
  /** As the system has it: no link is in it. */
  readonly path: string;
}

/** Every file that another process has open now, as far as we may look. */
export function* openFiles(): Iterable<OpenFile> {
  for (const pid of readdirSync("/proc")) {
    if (!/^\d+$/.test(pid) || pid === String(process.pid)) continue;
    for (const fd of namesOrNone(`/proc/${pid}/fd`)) {
      const path = linkOf(`/proc/${pid}/fd/${fd}`);
      if (path !== undefined) yield { pid, path };
    }
  }
}

function namesOrNone(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch {
    return []; // the process is over, or somebody else's
  }
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined; // closed since
  }
}
