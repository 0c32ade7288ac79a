import { lifeOf, ownProcess } from "../system/process-owner.ts";
import { allPids, environmentOf, isAlive, parentOf, pidsSince, signalProcess } from "./process-tree.ts";

/** The variable that marks the processes of a command, so that all of them can be found. */
export const MARK = "AUTONOUS_CALL";
const INHERITED = process.env[MARK];
const ENTRY = /^[\w.-]+@[\w.-]+$/;

let marks = 0;

/** The mark of one command: the call and its owner. Unique, whatever calls are named. */
export function newMark(call_id: string): string {
  return `${call_id.replace(/[^\w-]/g, "_")}.${++marks}@${ownProcess()}`;
}

/** The variable's value. A runtime that is itself a command of another runtime keeps that one's mark too. */
export function markValue(mark: string): string {
  const outer = (INHERITED ?? "").split(",").filter((entry) => ENTRY.test(entry));
  return [...outer, mark].join(",");
}

function marksOf(pid: number): readonly string[] {
  const text = environmentOf(pid);
  const at = text.startsWith(`${MARK}=`) ? 0 : text.indexOf(`\0${MARK}=`) + 1;
  if (at === 0 && !text.startsWith(`${MARK}=`)) return [];
  const end = text.indexOf("\0", at);
  return text.slice(at + MARK.length + 1, end < 0 ? undefined : end).split(",");
}

/**
 * Whether this process is a command of a runtime, or descends from one: then it may not answer for a user. An
 * unsandboxed command can hide this; the actual protection is that answers are stored where no sandboxed command can
 * write.
 */
export function isRunByCall(): boolean {
  let pid: number | undefined = process.pid;
  for (let depth = 0; pid !== undefined && depth < DEEPEST; depth++) {
    if (marksOf(pid).some((mark) => ENTRY.test(mark))) return true;
    pid = parentOf(pid);
  }
  return false;
}
const DEEPEST = 1000;

export interface MarkedCommand {
  readonly mark: string;
  /** The command's first process. */
  readonly pid: number;
  /** Its start time, by `performance.now`. */
  readonly began: number;
}

/** Pids wrap around: after this time, younger processes cannot be recognized reliably. */
const SURE_MS = 2_000;

export function markedProcesses({ mark, pid, began }: MarkedCommand): readonly number[] {
  const candidates = performance.now() - began < SURE_MS ? pidsSince(pid) : allPids();
  return candidates.filter((each) => each !== process.pid && marksOf(each).includes(mark));
}

/** Whether no process at all has started since: then a command whose first process has ended left none behind. */
export function ranAlone({ pid, began }: MarkedCommand): boolean {
  return performance.now() - began < SURE_MS && pidsSince(pid).length === 0;
}

/**
 * Kills every process that carries a mark. They may start others meanwhile, so it repeats until it finds no new ones.
 * Returns whether all are gone already: killed processes take a moment to exit, and this must not block.
 */
export function killMarked(marked: MarkedCommand): boolean {
  const ended = new Set<number>();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const left = markedProcesses(marked);
    const fresh = left.filter((pid) => !ended.has(pid));
    if (fresh.length === 0) return left.length === 0;
    // Stopped processes start no others while the rest are searched for.
    for (const pid of fresh) signalProcess(pid, "SIGSTOP");
    for (const pid of fresh) signalProcess(pid, "SIGKILL");
    for (const pid of fresh) ended.add(pid);
  }
  return false;
}
const MAX_ROUNDS = 50;

/**
 * Kills leftover processes of a worker that was killed before it could clean up, and that ran without a sandbox, which
 * would have died with it. Called when a runtime starts, and after a worker ended. Returns the killed processes.
 */
export function sweepLost(): readonly number[] {
  const lost = allPids().filter((pid) => pid !== process.pid && marksOf(pid).some(isOrphan));
  for (const pid of lost) signalProcess(pid, "SIGSTOP");
  for (const pid of lost) signalProcess(pid, "SIGKILL");
  return lost.filter((pid) => isAlive(pid));
}

/** Kills the running commands of this process, before it exits. Repeats until there are none. */
export function endOwnCommands(): void {
  const ended = new Set<number>();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const fresh = allPids().filter((pid) => pid !== process.pid && !ended.has(pid) && marksOf(pid).some(isOwn));
    if (fresh.length === 0) return;
    for (const pid of fresh) signalProcess(pid, "SIGSTOP");
    for (const pid of fresh) signalProcess(pid, "SIGKILL");
    for (const pid of fresh) ended.add(pid);
  }
}

function isOwn(mark: string): boolean {
  return mark.endsWith(`@${ownProcess()}`);
}

function isOrphan(mark: string): boolean {
  if (!ENTRY.test(mark)) return false;
  return lifeOf(mark.slice(mark.indexOf("@") + 1)) === "gone";
}
