import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";

/** A file of a process in `/proc`. Undefined once it is gone or a zombie. */
function read(pid: number | string, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    return undefined; // gone, or another user's
  }
}

export function isAlive(pid: number): boolean {
  const state = stateOf(pid);
  return state !== undefined && !/[ZX]/.test(state);
}

/** Its state as a letter, such as `R`, or `T` if stopped. Undefined once it is gone. */
export function stateOf(pid: number): string | undefined {
  const stat = read(pid, "stat");
  // The name comes second, in parentheses, and may contain spaces and parentheses itself.
  return stat?.charAt(stat.lastIndexOf(")") + 2);
}

/** Undefined once the process is gone, and for the init process. */
export function parentOf(pid: number): number | undefined {
  const stat = read(pid, "stat");
  const parent = stat === undefined ? 0 : Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ", 2)[1]);
  return parent > 0 ? parent : undefined;
}

/** A process and its descendants, itself first; at most `most`. */
export function treeOf(pid: number, most: number): readonly number[] {
  const tree = new Set([pid]);
  for (const each of tree) {
    if (tree.size > most) break;
    for (const child of childrenOf(each)) tree.add(child);
  }
  return [...tree];
}

function childrenOf(pid: number): readonly number[] {
  let threads: readonly string[];
  try {
    threads = readdirSync(`/proc/${pid}/task`);
  } catch {
    return []; // gone
  }
  return threads.flatMap((thread) =>
    (read(pid, `task/${thread}/children`) ?? "").split(" ").filter(Boolean).map(Number),
  );
}

/** Processes of a session, including those without a parent. */
export function sessionOf(pid: number): readonly number[] {
  // After the name: state, parent, group, session.
  return allPids().filter((each) => {
    const stat = read(each, "stat");
    return stat !== undefined && Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ", 4)[3]) === pid;
  });
}

export function threadsOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + Number(/^Threads:\s+(\d+)/m.exec(read(pid, "status") ?? "")?.[1] ?? 0), 0);
}

export interface SystemCounts {
  /** Number of threads of the whole machine. */
  readonly threads: number;
  /** The pid that was assigned last. Pids are assigned in order and wrap around. */
  readonly last_pid: number;
}

const counts = Buffer.alloc(128);

/** Cheap: one line of one small file. */
export function systemCounts(): SystemCounts {
  const fd = openSync("/proc/loadavg", "r");
  let length: number;
  try {
    length = readSync(fd, counts);
  } finally {
    closeSync(fd);
  }
  const [, , , entities = "", last = ""] = counts.toString("latin1", 0, length).trim().split(" ");
  return { threads: Number(entities.slice(entities.indexOf("/") + 1)), last_pid: Number(last) };
}

/** Number of pids tried one by one before all processes are listed. */
const FEW = 64;

/** Pids of processes that may have started after a process that started within the last seconds. */
export function pidsSince(pid: number): readonly number[] {
  const { last_pid } = systemCounts();
  if (last_pid === pid) return [];
  if (last_pid > pid && last_pid - pid <= FEW)
    return Array.from({ length: last_pid - pid }, (_, index) => pid + 1 + index);
  return allPids().filter((each) => (last_pid > pid ? each > pid : each > pid || each <= last_pid));
}

export function allPids(): readonly number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0);
}

/** Its initial environment. Empty if it is gone or belongs to another user. */
export function environmentOf(pid: number): string {
  return read(pid, "environ") ?? "";
}

/** Never throws: a process that is gone needs no signal. A negative number means a process group. */
export function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false; // gone, or now owned by another user
  }
}
