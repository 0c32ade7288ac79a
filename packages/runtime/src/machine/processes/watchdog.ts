import type { CommandLimits, LimitReached } from "../../contract/processes.ts";
import { memoryOf } from "./memory-use.ts";
import type { PrivateMemory } from "./memory-use.ts";
import { systemCounts, threadsOf } from "./process-tree.ts";

/**
 * Polling interval for the machine's thread count, 15 µs each. A fork bomb starts some dozen processes in this time.
 */
const LOOK_MS = 10;
/**
 * The command's processes are counted at every 15th poll, and whenever the machine has many more threads than before.
 */
const COUNT_EVERY = 15;
/** Programs have several threads: this many per allowed process is not a fork bomb yet. */
export const THREADS_PER_PROCESS = 16;

export interface WatchedCommand {
  /** The command's processes. May stop counting above `most`. */
  readonly members: (most: number) => readonly number[];
  /** Suspends the command while it is counted: a fork bomb would leave us no time for that. */
  readonly freeze: () => void;
  readonly thaw: () => void;
  /** Its memory outside its processes. */
  readonly memory: PrivateMemory;
  /** The first process inside the sandbox, if there is one. */
  readonly inner: () => number | undefined;
  readonly limits: CommandLimits;
  readonly onReached: (reached: LimitReached) => void;
}

/**
 * Counts the processes and the memory of a command, for limits that apply to root too. Returns the limit that was
 * exceeded.
 */
export function watch(watched: WatchedCommand): () => void {
  const { members, freeze, thaw, memory, inner, limits, onReached } = watched;
  let usual = systemCounts().threads;
  let looks = 0;
  const timer = setInterval(() => {
    looks++;
    const { threads } = systemCounts();
    const isSuspicious = threads - usual > limits.processes / 2;
    // Without size limits an in-memory folder takes half of the machine's memory within a few polls.
    const isFull = memory.fileBytes(inner()) > limits.memory_bytes;
    if (!isSuspicious && !isFull && looks % COUNT_EVERY !== 0) return;
    if (isSuspicious) freeze();
    const reached = judge(members(limits.processes), watched);
    if (reached !== undefined) {
      clearInterval(timer);
      onReached(reached);
    } else if (isSuspicious) {
      thaw();
      usual = threads; // they belong to other programs, or are few: only a further increase is suspicious again
    }
  }, LOOK_MS);
  return () => clearInterval(timer);
}

function judge(pids: readonly number[], { limits, memory, inner }: WatchedCommand): LimitReached | undefined {
  if (pids.length > limits.processes) {
    return { limit: "processes", allowed: limits.processes, found: pids.length };
  }
  const threads = threadsOf(pids);
  const mostThreads = limits.processes * THREADS_PER_PROCESS;
  if (threads > mostThreads) return { limit: "processes", allowed: mostThreads, found: threads };
  const memory_bytes = memoryOf(pids, { limit_bytes: limits.memory_bytes, uncharged: memory.all(inner()) });
  if (memory_bytes > limits.memory_bytes) {
    return { limit: "memory", allowed: limits.memory_bytes, found: memory_bytes };
  }
  return undefined;
}
