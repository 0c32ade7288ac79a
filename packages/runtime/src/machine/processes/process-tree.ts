import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";

/** What the system says of a process; undefined once it is gone, also where it only waits to be counted as gone. */
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

/** The letter of its state, such as `R`, `T` where it is stopped; undefined once it is gone. */
export function stateOf(pid: number): string | undefined {
  const stat = read(pid, "stat");
  // The name comes second, in parentheses, and may hold spaces and parentheses itself.
  return stat?.charAt(stat.lastIndexOf(")") + 2);
}

/** Undefined once the process is gone, and for the first one of all. */
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

/** Processes of a session, also those whose parents are gone. */
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
  /** Threads of the whole machine. */
  readonly threads: number;
  /** The number that was given to a process or thread last. They are given in order, and from the start again. */
  readonly last_pid: number;
}

const counts = Buffer.alloc(128);

/** Cheap: one small file, of which only the one line is asked for. */
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

/** How many numbers are tried one by one before all processes are listed. */
const FEW = 64;

/** Numbers of processes that may have begun after one that began within the last seconds. */
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

/** Its environment as it began, or "" where it is gone or another user's. */
export function environmentOf(pid: number): string {
  return read(pid, "environ") ?? "";
}

/** Never throws: a process that is gone needs no signal. A negative number means a process group. */
export function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false; // gone, or it became another user's
  }
}
