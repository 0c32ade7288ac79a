import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Somebody else serves from this state folder. */
class AlreadyServed extends Error {}

/**
 * Holds the state folder for one service: two would give the same task to two workers. The file names the process and
 * when it began, so that one left behind by a kill, or a number that was given to another process, does not count.
 * Gives the function that lets go.
 */
export function lockStateFolder(state_dir: string): () => void {
  const path = join(state_dir, "serve.lock");
  const mine = `${process.pid} ${startOf(process.pid) ?? ""}\n`;
  const own = `${path}.${process.pid}`;
  writeFileSync(own, mine, { mode: 0o600 });
  try {
    for (let tries = 0; tries < 10; tries++) {
      if (linkIfFree(own, path)) return () => letGo(path, mine);
      const holder = readHolder(path);
      if (holder !== undefined && isAlive(holder)) {
        throw new AlreadyServed(
          `Cannot serve from "${state_dir}": the process ${holder.pid} does already. Stop it, or choose another AUTONOUS_STATE_DIR`,
        );
      }
      rmSync(path, { force: true });
    }
  } finally {
    rmSync(own, { force: true });
  }
  throw new AlreadyServed(`Cannot serve from "${state_dir}": another process is starting there at the same time`);
}

interface Holder {
  readonly pid: number;
  readonly start: string;
}

/** A link appears whole or not at all. */
function linkIfFree(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function letGo(path: string, mine: string): void {
  const holder = readHolder(path);
  if (holder !== undefined && `${holder.pid} ${holder.start}\n` === mine) rmSync(path, { force: true });
}

function readHolder(path: string): Holder | undefined {
  try {
    const [pid = "", start = ""] = readFileSync(path, "utf8").trim().split(" ");
    return { pid: Number(pid), start };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function isAlive({ pid, start }: Holder): boolean {
  return startOf(pid) === start;
}

/** When a process began, as the kernel counts it; undefined where there is none of that number. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined; // no such process
  }
}
