import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { appendFileSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { workerAmong } from "../../support/processes.ts";
import type { World } from "./world.ts";

/** Ends the program with the process that runs the campaign, should that be killed. */
const WATCH = `process.on("disconnect", () => process.kill(process.pid, "SIGKILL")); process.channel.unref();`;
const FLAGS = [`--import=data:text/javascript,${encodeURIComponent(WATCH)}`];
/** Far longer than it takes, on a machine that does other things too. */
const START_MS = 90_000;
const ANSWER_MS = 10_000;

export interface Answered {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

interface Reached {
  readonly url: string;
  readonly token: string;
}

/** The service of a world: one supervisor at a time, started again whenever it was killed. */
export class Serving {
  readonly #world: World;
  #child: ChildProcess | undefined;
  #reached: Reached | undefined;
  #exited: Promise<void> = Promise.resolve();

  constructor(world: World) {
    this.#world = world;
  }

  /** Undefined while there is none. */
  get supervisor(): number | undefined {
    return this.#child?.pid;
  }

  get worker(): number | undefined {
    const { supervisor } = this;
    return supervisor === undefined ? undefined : workerAmong(supervisor);
  }

  /** Starts it without waiting until it can be spoken to. */
  launch(): void {
    const { program, root, state_dir, environment, path } = this.#world;
    const log = openSync(this.#log, "a");
    const words = [...FLAGS, program, "serve", "--root", root, "--state-dir", state_dir, "--json"];
    const child = spawn(process.execPath, words, {
      cwd: path,
      env: environment,
      stdio: ["ignore", "pipe", log, "ipc"],
    });
    this.#child = child;
    this.#reached = undefined;
    let said = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      if (this.#child !== child || !said.includes("\n")) return;
      const { url, token_file } = JSON.parse(said) as { url?: string; token_file?: string }; // or what keeps it from starting
      if (url === undefined || token_file === undefined) appendFileSync(this.#log, said);
      else this.#reached = { url, token: readFileSync(token_file, "utf8") };
    });
    this.#exited = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        appendFileSync(this.#log, `-- the supervisor ${child.pid} exited (${signal ?? code})\n`);
        if (this.#child === child) this.#child = undefined;
        resolve();
      });
    });
  }

  /** Starts it and waits until it can be spoken to. Throws when it ends by itself before. */
  async start(): Promise<void> {
    this.launch();
    const end = Date.now() + START_MS;
    while (this.#reached === undefined) {
      if (this.#child === undefined) throw new Error(`The service exited during its start: see "${this.#log}"`);
      if (Date.now() > end) throw new Error(`The service did not start within ${START_MS} ms: see "${this.#log}"`);
      await pause(3);
    }
  }

  /** Tells the supervisor to end, one way or the other, and waits until it has. */
  async end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    this.#child?.kill(signal);
    await this.#exited;
  }

  get #log(): string {
    return join(this.#world.path, "service.log");
  }

  /** Undefined without an answer: the service is down, or was killed meanwhile. */
  async request(path: string, body?: object): Promise<Answered | undefined> {
    const reached = this.#reached;
    if (reached === undefined) return undefined;
    const headers = { authorization: `Bearer ${reached.token}`, accept: "application/json" };
    const signal = AbortSignal.timeout(ANSWER_MS);
    try {
      const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
      const response = await fetch(reached.url + path, { ...sent, headers, signal });
      return { status: response.status, body: (await response.json()) as Answered["body"] };
    } catch {
      return undefined; // the connection broke: what became of it is found out when it is sent again
    }
  }

  /** The command line beside the service, as a second process. Gives its exit code and what it said. */
  async command(words: readonly string[]): Promise<{ readonly code: number | null; readonly said: string }> {
    const { program, environment, root, state_dir } = this.#world;
    const child = spawn(process.execPath, [program, ...words, "--state-dir", state_dir], {
      cwd: root,
      env: environment,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (said += text));
    const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
    return { code, said };
  }
}
