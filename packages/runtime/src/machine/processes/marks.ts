import { lifeOf, ownProcess } from "../system/process-owner.ts";
import { allPids, environmentOf, isAlive, parentOf, pidsSince, signalProcess } from "./process-tree.ts";

/** The variable by which the processes of a command are found again, wherever they went. */
export const MARK = "AUTONOUS_CALL";
const INHERITED = process.env[MARK];
const ENTRY = /^[\w.-]+@[\w.-]+$/;

let marks = 0;

/** What the processes of one command carry: the call and who runs it. No two are alike, whatever calls are named. */
export function newMark(call_id: string): string {
  return `${call_id.replace(/[^\w-]/g, "_")}.${++marks}@${ownProcess()}`;
}

/** The variable's value: a runtime that is itself a command of another keeps that one's mark too. */
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
 * Whether this process is a command of a runtime, or descends from one: then it may not answer for a user. A command
 * without a sandbox can hide this; the real protection is that a user's answers are stored where no sandboxed command
 * can write.
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

export interface Marked {
  readonly mark: string;
  /** The command's first process. */
  readonly pid: number;
  /** When it began, in the clock of `performance.now`. */
  readonly began: number;
}

/** Numbers of processes go round: after this long it cannot be told any more which are younger. */
const SURE_MS = 2_000;

export function markedProcesses({ mark, pid, began }: Marked): readonly number[] {
  const candidates = performance.now() - began < SURE_MS ? pidsSince(pid) : allPids();
  return candidates.filter((each) => each !== process.pid && marksOf(each).includes(mark));
}

/** Whether no process at all has begun since: then a command whose first process has ended has left none behind. */
export function ranAlone({ pid, began }: Marked): boolean {
  return performance.now() - began < SURE_MS && pidsSince(pid).length === 0;
}

/**
 * Ends every process that carries a mark. They may start others meanwhile, so it repeats until it finds no new ones.
 * Returns whether all are gone already: killed processes take a moment to exit, and we must not block meanwhile.
 */
export function killMarked(marked: Marked): boolean {
  const ended = new Set<number>();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const left = markedProcesses(marked);
    const fresh = left.filter((pid) => !ended.has(pid));
    if (fresh.length === 0) return left.length === 0;
    // Stopped ones make no new ones while the others are looked for.
    for (const pid of fresh) signalProcess(pid, "SIGSTOP");
    for (const pid of fresh) signalProcess(pid, "SIGKILL");
    for (const pid of fresh) ended.add(pid);
  }
  return false;
}
const MAX_ROUNDS = 50;

/**
 * Ends the leftover processes of a worker that was killed before it could clean up, and that ran without a sandbox,
 * which would have died with it. Called when a runtime starts, and after a worker ended. Returns the ended processes.
 */
export function sweepLost(): readonly number[] {
  const lost = allPids().filter((pid) => pid !== process.pid && marksOf(pid).some(isOrphan));
  for (const pid of lost) signalProcess(pid, "SIGSTOP");
  for (const pid of lost) signalProcess(pid, "SIGKILL");
  return lost.filter((pid) => isAlive(pid));
}

/** Ends what the commands of this process have running, for one that is about to end itself. ScannedSnapshots until there is none. */
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
