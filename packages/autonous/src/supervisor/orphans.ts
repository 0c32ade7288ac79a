import { readdirSync, readFileSync, realpathSync } from "node:fs";
import { WORKER_NAME } from "./messages.ts";

/**
 * Kills the workers of a state folder whose supervisor has exited. Workers exit by themselves when they notice that; one
 * that sleeps or hangs does not, and may keep the store's lock. Returns their process ids.
 */
export function endOrphans(state_dir: string): readonly number[] {
  const folder = realPath(state_dir);
  if (folder === undefined) return [];
  const orphans = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => isOrphan(pid, folder));
  for (const pid of orphans) end(pid);
  return orphans;
}

/** A worker's name begins with the process id of its supervisor, which is its parent while it lives. */
function isOrphan(pid: number, state_dir: string): boolean {
  const words = read(pid, "cmdline").split("\0");
  if (!words.includes("worker") || words[words.indexOf("--state-dir") + 1] !== state_dir) return false;
  const named = read(pid, "environ")
    .split("\0")
    .find((each) => each.startsWith(`${WORKER_NAME}=`));
  const supervisor = /=(\d+)-/.exec(named ?? "")?.[1];
  const stat = read(pid, "stat");
  const [, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ", 2);
  return supervisor !== undefined && parent !== undefined && parent !== supervisor;
}

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return ""; // it has exited, or belongs to another user
  }
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined; // the first start
    throw error;
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error; // it has already exited
  }
}
