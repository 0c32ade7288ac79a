import { spawn } from "node:child_process";
import type { ChildProcess, StdioOptions } from "node:child_process";
import { closeSync } from "node:fs";
import { constants } from "node:os";
import type { Readable } from "node:stream";
import type { CommandLimits, LimitReached, OutputStream } from "../../contract/processes.ts";
import { ToolError } from "../../protocol/errors.ts";
import { keepCommand } from "./keeper.ts";
import type { Launch } from "./launch.ts";
import { PrivateMemory } from "./memory-use.ts";
import { killMarked, MARK, markedProcesses, newMark, markValue, ranAlone } from "./marks.ts";
import type { MarkedCommand } from "./marks.ts";
import { isAlive, sessionOf, signalProcess, treeOf } from "./process-tree.ts";
import { StartComplaint } from "./start-complaint.ts";
import { watch } from "./watchdog.ts";
import { pause } from "../../protocol/pause.ts";

/** Grace period between SIGTERM and SIGKILL. */
const GRACE_MS = 1_000;
/** After the first process ended: how long to wait for the rest of the output, and for the other processes. */
const DRAIN_MS = 500;
const GONE_MS = 900;
const MAX_SIGNALLED = 10_000;
/** Interval of the search for processes that left both the tree and the session: it reads every environment. */
const FAR_MS = 1_000;
const COMPLAINT_LENGTH = 500;

export interface ChildOptions {
  readonly call_id: string;
  readonly limits: CommandLimits;
  readonly onOutput: (stream: OutputStream, piece: Buffer) => void;
}

export interface ChildEnd {
  readonly exit_code: number;
  readonly signal: string | null;
  readonly limit_reached?: LimitReached;
  /** The command was stopped because the sandbox could not protect this path, see `CommandEnd`. */
  readonly unprotected?: string;
}

export interface Child {
  readonly pid: number;
  readonly launch: Launch;
  /** Resolves when all processes of the command are gone. Throws `SandboxUnavailable` if it never started. */
  readonly ended: Promise<ChildEnd>;
  /** Sends SIGTERM to all of its processes, then SIGKILL at most 2 s later. Not after it has ended. */
  stop(): void;
}

/**
 * Starts a command in its own session. A leftover child neither keeps the command running nor outlives it: in a sandbox
 * the kernel kills it with the first process, without one it is found by its mark.
 */
export function startChild(launch: Launch, { call_id, limits, onOutput }: ChildOptions): Child {
  const mark = newMark(call_id);
  const { child, outputs, release, cutLifeline } = spawnChild(launch, markValue(mark));
  const { pid } = child;
  if (pid === undefined) return { pid: 0, launch, ended: failedStart(child).finally(release), stop() {} };
  launch.started?.(pid);
  const marked: MarkedCommand = { mark, pid, began: performance.now() };
  const tree = launch.sandbox === "none" ? bareTree(marked) : sandboxTree(marked, { launch, cutLifeline });
  let limit_reached: LimitReached | undefined;
  let unprotected: string | undefined;
  let isStopping = false;
  let grace: NodeJS.Timeout | undefined;
  const { errors, complaint } = passOutputs(outputs, { launch, onOutput });
  const onReached = (reached: LimitReached): void => {
    limit_reached = reached;
    tree.kill();
  };
  const stopGuarding = launch.guard?.((path) => {
    unprotected ??= path;
    tree.kill();
  });
  const memory = new PrivateMemory(launch.memory_folders);
  const stopWatching = watch({ ...tree, memory, inner: () => launch.inner(), limits, onReached });
  const conclude = async (): Promise<ChildEnd> => {
    try {
      const raw = await endOf(child, Object.values(outputs), tree);
      const wasEnded = limit_reached !== undefined || unprotected !== undefined || isStopping;
      if (!wasEnded && !launch.wasBegun()) throw cannotStart(complaint());
      errors.release();
      return { ...exitOf(raw, launch), ...(limit_reached && { limit_reached }), ...(unprotected && { unprotected }) };
    } finally {
      isStopping = true; // the pid may be reused from now on
      stopWatching();
      stopGuarding?.();
      clearTimeout(grace);
      release();
    }
  };
  const ended = conclude();
  ended.catch(() => {}); // callers that await it get the error
  return {
    pid,
    launch,
    ended,
    stop() {
      if (isStopping) return;
      isStopping = true;
      tree.terminate();
      grace = setTimeout(() => tree.kill(), GRACE_MS);
    },
  };
}

/** Forwards the output, except for the sandbox's own errors if it does not start. */
function passOutputs(
  outputs: Spawned["outputs"],
  { launch, onOutput }: Pick<ChildOptions, "onOutput"> & { readonly launch: Launch },
): { readonly errors: StartComplaint; readonly complaint: () => string } {
  let complaint = "";
  const errors = new StartComplaint((piece) => onOutput("stderr", piece));
  if (launch.sandbox === "none") errors.release();
  outputs.stdout?.on("data", (piece: Buffer) => {
    errors.release(); // the sandbox program does not write to stdout
    onOutput("stdout", piece);
  });
  outputs.stderr?.on("data", (piece: Buffer) => {
    if (complaint.length < COMPLAINT_LENGTH) complaint += piece.toString("utf8", 0, COMPLAINT_LENGTH);
    errors.push(piece);
  });
  return { errors, complaint: () => complaint };
}

interface Spawned {
  readonly child: ChildProcess;
  readonly outputs: Readonly<Record<OutputStream, Readable | null>>;
  /** Prevents a command that has not started yet from ever starting. */
  cutLifeline(): void;
  /** Closes what was opened for it. */
  release(): void;
}

function spawnChild(launch: Launch, mark: string): Spawned {
  const { program, args, cwd, environment, descriptors } = launch;
  const pipes = [launch.pipes.take(), launch.pipes.take()] as const;
  const childEnds = descriptors.map((each) => (each === "lifeline" ? ("pipe" as const) : each));
  const stdio: StdioOptions = ["ignore", ...pipes.map((pipe) => pipe?.writer ?? ("pipe" as const)), ...childEnds];
  let lifeline: ChildProcess["stdio"][3];
  let dismiss: (() => void) | undefined;
  const cutLifeline = (): void => void lifeline?.destroy();
  const release = (): void => {
    cutLifeline();
    dismiss?.();
    for (const pipe of pipes) pipe?.release();
    launch.close();
  };
  try {
    dismiss = keepCommand(launch.bash); // before any process exists
    const child = spawn(program, args, { cwd, env: { ...environment, [MARK]: mark }, stdio, detached: true });
    lifeline = descriptors.includes("lifeline") ? child.stdio[3 + descriptors.indexOf("lifeline")] : undefined;
    lifeline?.on("error", () => {}); // the other end is closed, which is its only signal
    const [stdout, stderr] = [pipes[0]?.output ?? child.stdout, pipes[1]?.output ?? child.stderr];
    return { child, outputs: { stdout, stderr }, cutLifeline, release };
  } catch (error) {
    release();
    throw notStarted(error);
  } finally {
    for (const pipe of pipes) if (pipe !== undefined) closeSync(pipe.writer);
  }
}

async function failedStart(child: ChildProcess): Promise<never> {
  return await new Promise((_, reject) => child.once("error", (error) => reject(notStarted(error))));
}

function notStarted(error: unknown): ToolError {
  const { code = "unknown" } = error as NodeJS.ErrnoException;
  const why = code === "E2BIG" ? "it is too long" : code;
  return new ToolError("IOError", `Cannot start the command: ${why}`, { reason: code }, error);
}

function cannotStart(complaint: string): ToolError {
  const reason = complaint.trim().split("\n")[0] ?? "";
  return new ToolError(
    "SandboxUnavailable",
    `Cannot run the command: the sandbox did not start${reason === "" ? "" : ` (${reason})`}`,
    { reason },
  );
}

/** The processes of a command, signalled together. */
interface Tree {
  /** All of them, or at least one more than `most`. */
  members(most: number): readonly number[];
  freeze(): void;
  thaw(): void;
  terminate(): void;
  kill(): void;
  /** Whether all are gone. Kills those that are not. */
  isGone(): boolean;
}

function bareTree(marked: MarkedCommand): Tree {
  const kill = (): boolean => {
    signalProcess(-marked.pid, "SIGKILL");
    return killMarked(marked);
  };
  let isAlone = false;
  let far: readonly number[] = [];
  let lookedFar = marked.began;
  return {
    members(most) {
      const near = [...treeOf(marked.pid, most), ...sessionOf(marked.pid)];
      if (near.length <= 2 * most && performance.now() - lookedFar > FAR_MS) {
        far = markedProcesses(marked);
        lookedFar = performance.now();
      }
      return [...new Set([...near, ...far])];
    },
    freeze: () => void signalProcess(-marked.pid, "SIGSTOP"),
    thaw: () => void signalProcess(-marked.pid, "SIGCONT"),
    terminate() {
      signalProcess(-marked.pid, "SIGTERM");
      for (const pid of markedProcesses(marked)) signalProcess(pid, "SIGTERM");
    },
    kill,
    isGone: () => (isAlone ||= ranAlone(marked)) || kill(),
  };
}

function sandboxTree(
  marked: MarkedCommand,
  { launch, cutLifeline }: Pick<Spawned, "cutLifeline"> & { launch: Launch },
): Tree {
  const kill = (): void => {
    cutLifeline(); // first: processes that are not yet tied to the ones below do not start then
    const inner = launch.inner();
    if (inner !== undefined) signalProcess(inner, "SIGKILL");
    signalProcess(marked.pid, "SIGKILL");
  };
  return {
    members(most) {
      const inner = launch.inner();
      return inner === undefined ? [] : treeOf(inner, most);
    },
    // All its processes are below its first one, so a part of the tree is enough to recognize it.
    freeze() {},
    thaw() {},
    terminate() {
      const inner = launch.inner();
      if (inner === undefined) return kill();
      // The first process inside is the sandbox program's own: it exits after the others.
      for (const each of treeOf(inner, MAX_SIGNALLED).slice(1)) signalProcess(each, "SIGTERM");
    },
    kill,
    isGone() {
      const inner = launch.inner();
      // Killed before it could report its pid: it may exist anyway, and would wait forever.
      if (inner === undefined) return ranAlone(marked) || killMarked(marked);
      if (!isAlive(inner)) return true;
      signalProcess(inner, "SIGKILL");
      return false;
    },
  };
}

interface RawEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Waits for the first process, then for the others, then for the output, each with a time limit. */
async function endOf(child: ChildProcess, outputs: readonly (Readable | null)[], tree: Tree): Promise<RawEnd> {
  const closed = Promise.all(outputs.map(async (output) => await closeOf(output)));
  const end = await new Promise<RawEnd>((resolve) => child.once("exit", (code, signal) => resolve({ code, signal })));
  const until = performance.now() + GONE_MS;
  tree.isGone();
  await Promise.race([closed, pause(DRAIN_MS, { unref: true })]);
  for (let wait_ms = 1; !tree.isGone() && performance.now() < until; wait_ms = Math.min(2 * wait_ms, 50)) {
    await pause(wait_ms, { unref: true });
  }
  for (const output of outputs) output?.destroy();
  return end;
}

async function closeOf(output: Readable | null): Promise<void> {
  await new Promise<void>((resolve) => {
    if (output === null) resolve();
    else output.once("close", resolve).once("error", () => resolve()); // the output that was read by then is complete
  });
}

/** A sandbox reports a signal as shells do, as a status above 128. */
function exitOf({ code, signal }: RawEnd, launch: Launch): ChildEnd {
  if (signal !== null) return { exit_code: 128 + constants.signals[signal], signal };
  const exit_code = code ?? 0;
  const reported = launch.sandbox === "none" ? undefined : SIGNALS.get(exit_code - 128);
  return { exit_code, signal: reported ?? null };
}

const SIGNALS: ReadonlyMap<number, string> = new Map(
  Object.entries(constants.signals).map(([name, number]) => [number, name]),
);
