import { readdirSync, readlinkSync } from "node:fs";

interface OpenFile {
  readonly pid: string;
  /** With all symbolic links resolved. */
  readonly path: string;
}

/** All files that other processes have open now, as far as our permissions let us see. */
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
    return []; // the process ended, or belongs to another user
  }
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined; // closed meanwhile
  }
}
