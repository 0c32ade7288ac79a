import { isInside } from "../../paths/inside.ts";
import { signalProcess, stateOf, treeOf } from "./process-tree.ts";

/** A command waits here before it starts. */
export interface Gate {
  /** False if the command may have passed it already: then its processes must be stopped. */
  shut(): boolean;
  open(): void;
}

/** A starting or running command, with the roots that it may write to. */
interface Mover {
  readonly roots: readonly string[];
  readonly gate: Gate;
  /** Its first process, once it exists. */
  pid: number | undefined;
  /** Number of callers that suspend it now, and the processes that were stopped. */
  holds: number;
  readonly stopped: Set<number>;
}

/** The registration of a command. */
export interface Registration {
  started(pid: number): void;
  /** It has ended. */
  end(): void;
}

/** Of all sandboxes in this process: several may share a root. */
const movers = new Set<Mover>();

/** Gives up on a tree that starts processes faster than they can be stopped. */
const HOLD_MS = 100;
const PAUSE_MS = 0.2;
const MAX_PROCESSES = 4_096;

/** Registers a command that may write to these roots. */
export function registerMover(roots: readonly string[], gate: Gate): Registration {
  const mover: Mover = { roots, gate, pid: undefined, holds: 0, stopped: new Set() };
  movers.add(mover);
  return {
    started: (pid) => void (mover.pid = pid),
    end: () => void movers.delete(mover),
  };
}

/**
 * Pauses (SIGSTOP) the commands of this process that may write to one of these roots, until the result is called, so
 * that they move nothing while a sandbox is set up. They do not notice, unless they query the state of their children.
 * Undefined if no such command runs. A command that has not started waits at its gate and is not stopped: stopped
 * before its prctl call, it would outlive this process.
 */
export function suspendMovers(roots: readonly string[]): (() => void) | undefined {
  const held = [...movers].filter((mover) => isShared(mover.roots, roots));
  if (held.length === 0) return undefined;
  for (const mover of held) if (mover.holds++ === 0 && !mover.gate.shut()) stopTree(mover);
  let isHeld = true;
  return () => {
    if (!isHeld) return;
    isHeld = false;
    for (const mover of held) if (--mover.holds === 0) resume(mover);
  };
}

function isShared(some: readonly string[], others: readonly string[]): boolean {
  return some.some((one) => others.some((other) => isInside(one, other) || isInside(other, one)));
}

/** Repeats until no process of the tree runs: one may have been started by another before that was stopped. */
function stopTree({ pid, stopped }: Mover): void {
  if (pid === undefined) return;
  const until = performance.now() + HOLD_MS;
  for (;;) {
    const running = treeOf(pid, MAX_PROCESSES).filter((each) => !isStill(each, stopped));
    if (running.length === 0 || performance.now() > until) return;
    for (const each of running) if (signalProcess(each, "SIGSTOP")) stopped.add(each);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
  }
}

/**
 * A process in uninterruptible sleep (`D`) stops before it does anything else. The main thread of a process may be
 * gone.
 */
function isStill(pid: number, stopped: ReadonlySet<number>): boolean {
  const state = stateOf(pid);
  return state === undefined || /[TtX]/.test(state) || (stopped.has(pid) && /[DZ]/.test(state));
}

function resume(mover: Mover): void {
  const { gate, stopped } = mover;
  if (movers.has(mover)) gate.open(); // the gate of a command that has ended is gone
  for (const pid of stopped) signalProcess(pid, "SIGCONT");
  stopped.clear();
}
