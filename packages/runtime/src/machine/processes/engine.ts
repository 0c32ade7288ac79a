import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { ToolError } from "../../protocol/errors.ts";
import { readdirSync, readFileSync } from "node:fs";

export interface EngineCall {
  /** Absolute path. */
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The descriptor of standard input. Default: empty input. */
  readonly stdin?: number;
  /**
   * Called while the engine is stuck or grows without output. Returns the reason if it cannot make progress; the engine
   * is then killed.
   */
  readonly findObstacle?: () => Promise<Error | undefined>;
  readonly signal: AbortSignal;
}

export interface EngineEnd {
  /** Null if a signal ended it. */
  readonly code: number | null;
  readonly signal: string | null;
  /** The first bytes of standard error. */
  readonly stderr: string;
}

export interface Engine {
  /** Its output, in chunks. The engine waits while the caller does not read. */
  readonly output: AsyncIterable<Buffer>;
  /** Resolves when it is gone. Throws `IOError` if it could not be started. */
  readonly ended: Promise<EngineEnd>;
  /** Kills it and waits until it is gone. Never throws. */
  stop(): Promise<void>;
}

/** An empty environment: no configuration, no secrets, and no PATH for other programs. */
const ENVIRONMENT = { LC_ALL: "C.UTF-8", HOME: "/nonexistent", XDG_CONFIG_HOME: "/nonexistent" };
const STDERR_BYTES = 65_536;

/**
 * Starts a search program. It is one process: none of our arguments makes it start others, so killing it leaves nothing
 * behind. It stays in our process group, so that Ctrl-C in a terminal ends it too.
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
  if (stdout === null) return; // it could not be started: `ended` reports that
  try {
    for await (const piece of stdout) yield piece as Buffer;
  } catch (error) {
    // It was killed while it wrote; `ended` or the signal reports why.
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

/** Polling interval for a running engine. */
const LOOK_MS = 250;
/** A search in one large file may need this much memory; more is examined, each time it doubles. */
const MUCH_MEMORY_PAGES = (256 << 20) / 4096;
/** The polls at which an idle engine is examined: early, and again in case the cause appeared later. */
const isTimeToFind = (looks: number): boolean => looks === 2 || (looks > 0 && looks % 40 === 0);

interface ObstacleWatch {
  /** Throws the reason if the engine was killed for one. */
  throwIfFound(): void;
}

/**
 * Polls a running engine. If it is idle without output, or uses much memory, `find` determines why, and the engine is
 * killed if there is a reason. It is suspended meanwhile, so that its memory does not grow.
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
  /** Whether every thread sleeps: one that waits for a CPU or a disk does not. */
  readonly isAsleep: boolean;
  /** In clock ticks. */
  readonly cpu: number;
  readonly pages: number;
}

/** Idle threads wake up sometimes: up to this many ticks (10 ms each) between two polls count as idle. */
const IDLE_TICKS = 8;

/** An engine also waits while its output is unread. */
function isStill({ stdout }: ChildProcess, before: Usage | undefined, { isAsleep, cpu }: Usage): boolean {
  return before !== undefined && isAsleep && cpu - before.cpu <= IDLE_TICKS && stdout?.readableLength === 0;
}

/** The CPU time of all its threads. Undefined once it is gone. */
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

/** Fields from the third one (the state) on: the name before it may contain any characters. */
function fieldsOf(path: string): readonly string[] {
  const stat = readFileSync(path, "latin1");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}
