import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import type { FromWorker, ToWorker } from "./messages.ts";
import { WORKER_NAME } from "./messages.ts";
import { OutputLines } from "./worker-output.ts";
import { pause } from "@autonous/runtime/internal";

export interface ChildProgram {
  /** The worker's program, its arguments, and the Node flags for it. */
  readonly program: string;
  readonly words: readonly string[];
  readonly flags: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
}

export interface ChildOptions extends ChildProgram {
  readonly worker: string;
  readonly onMessage: (message: FromWorker) => void;
  /** A line from stdout or stderr. */
  readonly onLine: (line: string) => void;
  /** The process is alive, but messages do not reach it. */
  readonly onProblem: (problem: Error) => void;
}

/** One worker process. */
export interface Child {
  readonly worker: string;
  readonly pid: number | undefined;
  tell(message: ToWorker): void;
  /** Kills it at once. */
  kill(): void;
  /** How it ended, for messages; for example, that it could not be started. */
  readonly ended: Promise<string>;
}

/** The last output arrives after the exit: maximum wait for it. */
const FLUSH_MS = 50;

export function startChild(options: ChildOptions): Child {
  const { worker, program, words, flags, environment } = options;
  let child: ChildProcess;
  try {
    child = fork(program, words, {
      execArgv: [...flags],
      env: { ...environment, [WORKER_NAME]: worker },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
  } catch (error) {
    return unstarted(worker, error as Error); // for example, out of memory
  }
  const closed = readLines(child, options);
  child.on("message", options.onMessage);
  const ended = new Promise<string>((resolve) => {
    child.once("exit", (code, signal) => resolve(signal ?? `exit code ${code}`));
    child.on("error", (error) => {
      if (child.pid === undefined) resolve(notStarted(error));
      else options.onProblem(error);
    });
  });
  return {
    worker,
    pid: child.pid,
    // An exiting worker receives no messages; the next one checks the queue at its start.
    tell: (message) => void (child.connected && child.send(message, () => undefined)),
    kill: () => void child.kill("SIGKILL"),
    ended: ended.then(async (how) => {
      await Promise.race([closed, pause(FLUSH_MS, { unref: true })]);
      return how;
    }),
  };
}

function unstarted(worker: string, error: Error): Child {
  const nothing = (): void => undefined;
  return { worker, pid: undefined, tell: nothing, kill: nothing, ended: Promise.resolve(notStarted(error)) };
}

function notStarted({ message }: Error): string {
  return `it could not be started: ${message}`;
}

/** Resolves when both outputs have ended. */
async function readLines(child: ChildProcess, { onLine }: ChildOptions): Promise<void> {
  await Promise.all(
    [child.stdout, child.stderr].map(async (output) => {
      const lines = new OutputLines({ onLine });
      output?.setEncoding("utf8").on("data", (text: string) => lines.take(text));
      await new Promise((resolve) => (output === null ? resolve(undefined) : output.once("close", resolve)));
      lines.end();
    }),
  );
}
