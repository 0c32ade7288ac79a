import { isInside } from "../../paths/inside.ts";
import { signalProcess, stateOf, treeOf } from "./process-tree.ts";

/** What a command passes before it begins. */
export interface Gate {
  /** False where it may have been passed already: the command's processes have to be stopped then. */
  shut(): boolean;
  open(): void;
}

/** A command that is started or running, with what it may write to. */
interface Mover {
  readonly roots: readonly string[];
  readonly gate: Gate;
  /** Its first process, once it has one. */
  pid: number | undefined;
  /** How many hold it still now, and the processes that were stopped for that. */
  holds: number;
  readonly stopped: Set<number>;
}

/** What a command registers itself by. */
export interface Registration {
  started(pid: number): void;
  /** It has ended. */
  end(): void;
}

/** Of all sandboxes of this process: several may share a root. */
const movers = new Set<Mover>();

/** A tree that starts processes faster than they can be stopped is given up on after this time. */
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
 * Pauses (SIGSTOP) the commands of this process that may write to one of these roots, until the result is called: so
 * they move nothing while a sandbox is set up. They do not notice, unless they query the state of their children.
 * Undefined where no such command runs. A command that has not begun waits at its gate and is not stopped: stopped
 * before it has asked the kernel to die with this process, it would outlive it.
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

/** Again and again, until no process of the tree runs: one may have been started by another before that was stopped. */
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

/** A process that waits in the kernel (`D`) is stopped before it does anything else. The first thread of one may be gone. */
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
