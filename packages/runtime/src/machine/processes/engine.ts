import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { ToolError } from "../../protocol/errors.ts";
import { readdirSync, readFileSync } from "node:fs";

export interface EngineCall {
  /** Absolute. */
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** A descriptor to read from. Default: nothing. */
  readonly stdin?: number;
  /** Asked while it waits or grows and says nothing: why it will not get any further, if that is so. It is ended then. */
  readonly findObstacle?: () => Promise<Error | undefined>;
  readonly signal: AbortSignal;
}

export interface EngineEnd {
  /** Null where it was ended by a signal. */
  readonly code: number | null;
  readonly signal: string | null;
  /** The beginning of what it complained about. */
  readonly stderr: string;
}

export interface Engine {
  /** Its output, in chunks. The engine waits while the caller does not read. */
  readonly output: AsyncIterable<Buffer>;
  /** Resolves when nothing of it is left. Throws `IOError` where it could not be started. */
  readonly ended: Promise<EngineEnd>;
  /** Ends it for sure and waits until it is gone. Never throws. */
  stop(): Promise<void>;
}

/** Nothing of ours gets to it: no configuration, no secret, and no folder to look for other programs in. */
const ENVIRONMENT = { LC_ALL: "C.UTF-8", HOME: "/nonexistent", XDG_CONFIG_HOME: "/nonexistent" };
const STDERR_BYTES = 65_536;

/**
 * Starts a search program. It is one process: none of the arguments that we use makes these programs start others, so
 * ending it leaves nothing. It stays in our process group, so that Ctrl-C in a terminal ends it too.
 */
export function startEngine({ program, args, cwd, stdin, signal, findObstacle }: EngineCall): Engine {
  signal.throwIfAborted();
  const child = spawnOrThrow(() =>
    spawn(program, args, { cwd, env: ENVIRONMENT, stdio: [stdin ?? "ignore", "pipe", "pipe"] }),
  );
  const kill = (): void => void child.kill("SIGKILL");
  signal.addEventListener("abort", kill, { once: true });
  const obstacle = findObstacle && watchForObstacles(child, findObstacle);
  const ended = endOf(child)
    .finally(() => signal.removeEventListener("abort", kill))
    .then((end) => {
      obstacle?.throwIfFound();
      return end;
    });
  ended.catch(() => {}); // callers that await it get the error
  return {
    output: outputOf(child),
    ended,
    async stop() {
      kill();
      child.stdout?.destroy();
      await ended.catch(() => undefined); // it never ran
    },
  };
}

function spawnOrThrow(start: () => ChildProcess): ChildProcess {
  try {
    return start();
  } catch (error) {
    throw startFailed(error);
  }
}

function startFailed(error: unknown): ToolError {
  const { code = "unknown" } = error as NodeJS.ErrnoException;
  return new ToolError("IOError", `Cannot start the search program: ${code}`, { reason: code }, error);
}

async function* outputOf({ stdout }: ChildProcess): AsyncGenerator<Buffer> {
  if (stdout === null) return; // it could not be started, which `ended` tells
  try {
    for await (const piece of stdout) yield piece as Buffer;
  } catch (error) {
    // It was stopped while it spoke; why is told by `ended` or by the signal.
    if ((error as NodeJS.ErrnoException).code !== "ERR_STREAM_PREMATURE_CLOSE") throw error;
  }
}

async function endOf(child: ChildProcess): Promise<EngineEnd> {
  let stderr = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    if (stderr.length < STDERR_BYTES) stderr += text.slice(0, STDERR_BYTES - stderr.length);
  });
  return await new Promise((resolve, reject) => {
    child.once("error", (error) => reject(startFailed(error)));
    child.once("close", (code, signal) => resolve({ code, signal, stderr }));
  });
}

/** Between two looks at a running engine. */
const LOOK_MS = 250;
/** A search of text in one large file may need this much; more is looked into, as often as it doubles. */
const MUCH_MEMORY_PAGES = (256 << 20) / 4096;
/** At which looks at an engine that stands still a reason is searched for: soon, and again in case it came later. */
const isTimeToFind = (looks: number): boolean => looks === 2 || (looks > 0 && looks % 40 === 0);

interface ObstacleWatch {
  /** Throws the reason for which the engine was ended, if there is one. */
  throwIfFound(): void;
}

/**
 * Watches an engine while it runs. Where it stands still without output, or takes much memory, `find` looks for a
 * reason, and the engine is ended if there is one. It is paused meanwhile, so that its memory does not grow.
 */
function watchForObstacles(child: ChildProcess, find: () => Promise<Error | undefined>): ObstacleWatch {
  let found: Error | undefined;
  let before: Usage | undefined;
  let stillFor = 0;
  let isLooking = false;
  let memory = MUCH_MEMORY_PAGES;
  const timer = setInterval(() => {
    const now = isLooking ? undefined : usageOf(child);
    if (now === undefined) return;
    stillFor = isStill(child, before, now) ? stillFor + 1 : 0;
    before = now;
    const isLarge = now.pages > memory;
    if (isLarge) memory = now.pages * 2;
    if (!isLarge && !isTimeToFind(stillFor)) return;
    isLooking = true;
    if (isLarge) child.kill("SIGSTOP");
    void find()
      .then(
        (error) => (found = error),
        (error: unknown) => (found = error as Error),
      )
      .finally(() => {
        isLooking = false;
        child.kill(found === undefined ? "SIGCONT" : "SIGKILL");
      });
  }, LOOK_MS);
  timer.unref();
  child.once("close", () => clearInterval(timer));
  child.once("error", () => clearInterval(timer));
  return {
    throwIfFound() {
      if (found !== undefined) throw found;
    },
  };
}

interface Usage {
  /** Whether every thread sleeps: one that waits for a processor or a disk does not. */
  readonly isAsleep: boolean;
  /** In ticks of the clock. */
  readonly cpu: number;
  readonly pages: number;
}

/** Idle threads wake up now and then: up to this many ticks (10 ms each) between two looks count as idle. */
const IDLE_TICKS = 8;

/** An engine also waits while its output is unread. */
function isStill({ stdout }: ChildProcess, before: Usage | undefined, { isAsleep, cpu }: Usage): boolean {
  return before !== undefined && isAsleep && cpu - before.cpu <= IDLE_TICKS && stdout?.readableLength === 0;
}

/** Of all its threads. Undefined once it is gone. */
function usageOf({ pid }: ChildProcess): Usage | undefined {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const isAsleep = threads.every((thread) => fieldsOf(`/proc/${pid}/task/${thread}/stat`)[0] === "S");
    // Times are fields 14 and 15, resident pages 24.
    const fields = fieldsOf(`/proc/${pid}/stat`);
    return { isAsleep, cpu: Number(fields[11]) + Number(fields[12]), pages: Number(fields[21]) };
  } catch {
    return undefined;
  }
}

/** From the third on, the state: those before it are the number and the name, which may hold anything. */
function fieldsOf(path: string): readonly string[] {
  const stat = readFileSync(path, "latin1");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}
