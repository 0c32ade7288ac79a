import { spawn } from "node:child_process";
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Set by `build.ts`. */
const PROGRAM = process.env["BUILT_PROGRAM"] ?? "";

export interface RunOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string | Buffer;
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcessWithoutNullStreams;
  readonly ended: Promise<Ended>;
  /** Waits for `count` lines on stdout and returns them. Fails when the process ends before. */
  lines(count: number): Promise<string[]>;
}

/** Starts the built command line. Its standard input stays open; it is killed when the test ends before it does. */
export function start(words: readonly string[], options: RunOptions): Running {
  return follow(spawn(process.execPath, [PROGRAM, ...words], { cwd: options.cwd, env: environment(options.env) }));
}

/** Runs the built command line to its end. */
export async function autonous(words: readonly string[], options: RunOptions): Promise<Ended> {
  const { child, ended } = start(words, options);
  child.stdin.end(options.input ?? "");
  return await ended;
}

/** Makes `autonous` the built command line, in bash. */
export const defineProgram: string = `autonous() { "${process.execPath}" "${PROGRAM}" "$@"; }`;

/** Runs a line of bash in which `autonous` is the built command line. */
export async function shell(line: string, options: RunOptions): Promise<Ended> {
  const { cwd, env, input = "" } = options;
  const { child, ended } = follow(
    spawn("bash", ["-c", `${defineProgram}\n${line}`], { cwd, env: environment(env), detached: true }),
  );
  child.stdin.end(input);
  return await ended;
}

/** As an installed program sees it: without the condition that leads to the sources. */
export function environment(more: RunOptions["env"]): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _, ...rest } = process.env;
  return { ...rest, NODE_COMPILE_CACHE: join(PROGRAM, "../../compiled"), ...more };
}

/** A shell has a group of its own, with the programs that it started in it. */
function endAll({ pid, spawnfile, exitCode, signalCode }: ChildProcessWithoutNullStreams): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  process.kill(spawnfile === "bash" ? -pid : pid, "SIGKILL");
}

function follow(child: ChildProcessWithoutNullStreams): Running {
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  child.stdin.on("error", () => {}); // a program need not read all that it is given
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  onTestFinished(async () => {
    endAll(child);
    await ended;
  });
  async function lines(count: number): Promise<string[]> {
    for (;;) {
      const whole = stdout.split("\n").slice(0, -1);
      if (whole.length >= count) return whole;
      const more = new Promise<"more">((resolve) => child.stdout.once("data", () => resolve("more")));
      const next = await Promise.race([more, ended]);
      if (next !== "more" && stdout.split("\n").length <= count) {
        throw new Error(`It ended (${next.code}) before line ${count}: ${stdout}${stderr}`);
      }
    }
  }
  return { child, ended, lines };
}
