/** The service as people run it: the program in a process of its own, spoken to by HTTP. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RuntimeEvent } from "@autonous/runtime";
import { expect, onTestFinished } from "vitest";
import { workerAmong } from "./processes.ts";

export { isAlive } from "./processes.ts";

const project = join(import.meta.dirname, "../..");
export const PROGRAM = join(project, "packages/autonous/src/cli/bin.ts");
export const FLAGS = ["--conditions=@autonous/source"];
/** Ends the program with the process that runs the tests, should that be killed. */
const WATCH = `process.on("disconnect", () => process.kill(process.pid, "SIGKILL")); process.channel.unref();`;
/** Programs from source start twice as fast with it; the test runner turns it off for itself. */
const COMPILE_CACHE = {
  NODE_COMPILE_CACHE: join(project, "node_modules/.cache/service-tests"),
  NODE_DISABLE_COMPILE_CACHE: undefined,
};

/** Takes what is to be done at the end, of the test or of all of them. */
type OnEnd = (close: () => Promise<void> | void) => void;

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A process of ours, with what it has said so far. Ended when its place is. */
export interface Program {
  readonly pid: number;
  readonly child: ChildProcess;
  stdout(): string;
  stderr(): string;
  readonly ended: Promise<Ended>;
}

export interface ProgramOptions {
  /** More words of `serve`. */
  readonly words?: readonly string[];
  /** Another copy of the program. */
  readonly program?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Words of a shell that come before the program, such as `ulimit -f 100;`. */
  readonly shell?: string;
}

export function startProgram({ onEnd }: Place, words: readonly string[], options: ProgramOptions = {}): Program {
  const { environment = {}, cwd, shell } = options;
  const command =
    shell === undefined ? [process.execPath] : ["/bin/bash", "-c", `${shell} exec "$@"`, "-", process.execPath];
  const watch = `--import=data:text/javascript,${encodeURIComponent(WATCH)}`;
  const [file = "", ...rest] = [...command, ...FLAGS, watch, ...words];
  const child = spawn(file, rest, {
    env: { ...process.env, ...COMPILE_CACHE, NODE_OPTIONS: "", ...environment },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    ...(cwd === undefined ? {} : { cwd }),
  });
  let out = "";
  let err = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (err += text));
  const ended = once(child, "close").then(([code, signal]) => ({ code, signal }));
  onEnd(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
    await ended;
  });
  return { pid: child.pid ?? 0, child, stdout: () => out, stderr: () => err, ended };
}

export interface Place {
  readonly path: string;
  readonly root: string;
  readonly state_dir: string;
  readonly database: string;
  readonly onEnd: OnEnd;
}

/**
 * A folder with a root and room for a state folder; `a.txt` is in the root. It goes, and what was started in it, when
 * the test ends; tests that run side by side have to give their own `onTestFinished`.
 */
export function scratchPlace(onEnd: OnEnd = onTestFinished): Place {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "autonous-service-")));
  onEnd(() => rmSync(path, { recursive: true, force: true }));
  const root = join(path, "root");
  const state_dir = join(path, "state");
  mkdirSync(root);
  writeFileSync(join(root, "a.txt"), "a");
  return { path, root, state_dir, database: join(state_dir, "autonous.db"), onEnd };
}

export function serveWords({ root, state_dir }: Place, ...more: readonly string[]): string[] {
  return [PROGRAM, "serve", "--root", root, "--state-dir", state_dir, ...more];
}

export interface Served extends Program {
  readonly url: string;
  readonly token: string;
  /** A request with the token. */
  request(path: string, init?: Request): Promise<Response>;
  /** Sends a task and gives its ids at once. */
  post(body: object): Promise<{ task_id: string; run_id: string; duplicate: boolean }>;
  /** Sends a task and gives all that came back. */
  ask(body: object): Promise<StreamedTask>;
  follow(task_id: string, after?: number): Promise<StreamedTask>;
  /** Asks it to stop, and waits until it has. */
  stop(signal?: NodeJS.Signals): Promise<Ended>;
}

interface Request extends RequestInit {
  readonly headers?: Record<string, string>;
}

export interface StreamedTask {
  readonly events: readonly RuntimeEvent[];
  /** The ids of the events as they stood in the stream. */
  readonly ids: readonly number[];
  readonly reply: { readonly task_id: string; readonly state: string; readonly text: string } | undefined;
}

/** Starts the service and waits until it can be spoken to. */
export async function startService(place: Place, options: ProgramOptions = {}): Promise<Served> {
  const [ours, ...words] = serveWords(place, "--json", ...(options.words ?? []));
  const program = startProgram(place, [options.program ?? ours ?? "", ...words], {
    ...options,
    environment: { AUTONOUS_HTTP_PORT: "0", ...options.environment },
  });
  await until(() => program.stdout().includes("\n") || program.child.exitCode !== null, "the service to start");
  if (!program.stdout().includes("\n")) throw new Error(`The service did not start: ${program.stderr()}`);
  const { url, token_file } = JSON.parse(program.stdout()) as { url: string; token_file: string };
  const token = readFileSync(token_file, "utf8");
  const request = (path: string, { headers = {}, ...init }: Request = {}): Promise<Response> =>
    fetch(url + path, { ...init, headers: { authorization: `Bearer ${token}`, ...headers } });
  return {
    ...program,
    url,
    token,
    request,
    async post(body) {
      const headers = { accept: "application/json" };
      const response = await request("/api/tasks", { method: "POST", body: JSON.stringify(body), headers });
      expect(response.status).toBe(202);
      return (await response.json()) as { task_id: string; run_id: string; duplicate: boolean };
    },
    ask: async (body) => readStream(await request("/api/tasks", { method: "POST", body: JSON.stringify(body) })),
    follow: async (task_id, after = 0) =>
      readStream(await request(`/api/tasks/${task_id}/events`, { headers: { "last-event-id": String(after) } })),
    async stop(signal = "SIGTERM") {
      const gone = once(program.child, "exit");
      program.child.kill(signal);
      const [code, by] = (await gone) as [Ended["code"], Ended["signal"]];
      if (signal !== "SIGKILL") await program.ended; // one that is killed may leave a worker that still has its stderr
      return { code, signal: by };
    },
  };
}

/** Reads server-sent events to the end. */
export async function readStream(response: Response): Promise<StreamedTask> {
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  return parseStream(await response.text());
}

export function parseStream(text: string): StreamedTask {
  const events: RuntimeEvent[] = [];
  const ids: number[] = [];
  let reply: StreamedTask["reply"];
  for (const block of text.split("\n\n").filter((each) => each !== "")) {
    const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s, 2)));
    if (fields["event"] === "reply") reply = JSON.parse(fields["data"] ?? "") as StreamedTask["reply"];
    else {
      events.push(JSON.parse(fields["data"] ?? "") as RuntimeEvent);
      ids.push(Number(fields["id"]));
    }
  }
  return { events, ids, reply };
}

/** Waits for a condition. */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const end = Date.now() + 120_000;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`Waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The worker of a service, once there is one. */
export async function workerOf({ pid }: Program): Promise<number> {
  let found: number | undefined;
  await until(() => {
    found = workerAmong(pid);
    return found !== undefined;
  }, "a worker");
  return found ?? 0;
}

/** Writes a script for the model of that name; gives the setting that names it. */
export function writeScript({ path }: Place, steps: readonly object[]): string {
  writeFileSync(join(path, "script.json"), JSON.stringify(steps));
  return `script:${join(path, "script.json")}`;
}
