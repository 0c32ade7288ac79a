import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { ToolError } from "../../protocol/errors.ts";
import { watchForObstacles } from "./obstacle-watch.ts";

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
