import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { checkRoots, headsFolder, redact, secretsOf, ToolError } from "@autonous/runtime";
import type { ProfileName } from "@autonous/runtime";
import { httpCommander } from "./channels/console/commander.ts";
import { startConsole } from "./channels/console/server.ts";
import type { Console, ConsoleOptions } from "./channels/console/server.ts";
import { loadConfiguration } from "./config/load.ts";
import { SETTINGS } from "./config/settings.ts";
import { createProvider } from "./model/choose.ts";
import { Bell } from "./queue/bell.ts";
import { followRecord } from "./queue/follow.ts";
import { Mirror } from "./queue/mirror.ts";
import { lockHolder, lockStateFolder } from "./store/state-lock.ts";
import { databaseFile, openStore } from "./store/open-store.ts";
import type { Store } from "./store/store.ts";
import { Supervisor } from "./supervisor/supervisor.ts";

export interface ServiceOptions {
  /** Absolute paths of the folders that tools may touch. */
  readonly roots: readonly string[];
  /** Where the record is kept, out of every tool's reach. Default: `.agent` in the working folder. */
  readonly state_dir?: string;
  /** The port on 127.0.0.1; 0 takes a free one. Default: 8787. */
  readonly port?: number;
  readonly model?: string;
  readonly profile?: ProfileName;
  /** Told what a person who runs the service should know, a line at a time. Default: stderr. */
  readonly log?: (line: string) => void;
}

export interface Service {
  readonly url: string;
  /** Every request to `/api` has to carry it: `Authorization: Bearer <token>`. */
  readonly token: string;
  /** Lets the task in hand be finished, for a while, then ends everything. What is queued is done at the next start. */
  close(): Promise<void>;
}

/** Why a service cannot start that is not the program's fault, with what to do. */
export class CannotServe extends Error {}

/**
 * The service inside another program: queue, worker process and HTTP on 127.0.0.1. What is not given comes from the
 * environment, the user's configuration and the defaults. Throws with every problem when that cannot work.
 */
export async function createService(options: ServiceOptions): Promise<Service> {
  const { roots, problems } = checkRoots(options.roots);
  if (problems.length > 0)
    throw new ToolError("InvalidArguments", `Cannot create the service: ${problems.join("; ")}`, { problems });
  const environment = { ...process.env, ...variablesFor(options) };
  const { settings } = loadConfiguration(environment);
  await createProvider(settings.model); // or every worker would fail by it
  const state_dir = resolve(settings.state_dir);
  const log = options.log ?? ((line) => void process.stderr.write(`${line}\n`));
  return await startService({ roots, state_dir, port: settings.http_port, environment, log });
}

function variablesFor({ state_dir, port, model, profile }: ServiceOptions): Record<string, string> {
  const given = { state_dir, http_port: port, model, profile };
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set.map(([name, value]) => [SETTINGS[name as keyof typeof given].variable, String(value)]));
}

export interface ServicePlace {
  readonly roots: readonly string[];
  readonly state_dir: string;
  readonly port: number;
  /** What the worker gets to see; settings pass to it this way. */
  readonly environment: NodeJS.ProcessEnv;
  readonly log: (line: string) => void;
}

interface RunningService extends Service {
  /** Ends the task in hand at once. It is gone on with at the next start. */
  kill(): void;
}

/** How long a task in hand is waited for. */
const DRAIN_MS = 10_000;

/** Takes messages in, sends replies out and keeps one worker running that does the tasks. Throws `CannotServe`. */
export async function startService(place: ServicePlace): Promise<RunningService> {
  const { log } = place;
  mkdirSync(place.state_dir, { recursive: true, mode: 0o700 });
  const state_dir = realpathSync(place.state_dir); // the heads of the chains name the folder as it really is
  await using opened = new AsyncDisposableStack(); // closed here should a later part fail to start
  opened.defer(holdStateFolder(state_dir));
  const store = await openStore({ file: databaseFile(state_dir), clock: Date.now });
  opened.defer(() => store.close());
  await store.inbox.recover(EVERYBODY);
  const bell = new Bell();
  const supervisor = createSupervisor(place, { store, bell });
  const token = readToken(state_dir);
  const known = [...secretsOf(process.env), token];
  const closing = new AbortController();
  const server = await listen({
    store,
    bell,
    token,
    log,
    port: place.port,
    closing: closing.signal,
    onTask: () => supervisor.wake(),
    redact: (text) => redact(text, { known }).text,
  });
  opened.defer(async () => {
    closing.abort();
    bell.ring();
    await server.close();
  });
  const stopped = new AbortController();
  const mirror = new Mirror({ store, state_dir, heads: headsFolder(), clock: Date.now, log });
  const following = followRecord(stopped.signal, { store, bell, mirror, commanders: [httpCommander], log });
  opened.defer(async () => {
    stopped.abort();
    bell.ring();
    await following;
  });
  supervisor.start();
  opened.defer(() => supervisor.stop(DRAIN_MS));
  const parts = opened.move();
  return { url: server.url, token, close: () => parts.disposeAsync(), kill: () => supervisor.kill() };
}

/** Whoever held a lane under an earlier supervisor is gone, whatever a clock that has been set back since may say. */
const EVERYBODY = Number.NEGATIVE_INFINITY;

function holdStateFolder(state_dir: string): () => void {
  const unlock = lockStateFolder(state_dir);
  if (unlock !== undefined) return unlock;
  throw new CannotServe(
    `Cannot serve from "${state_dir}": ${lockHolder(state_dir)} does already. Stop it, or choose another AUTONOUS_STATE_DIR`,
  );
}

function createSupervisor(place: ServicePlace, { store, bell }: { store: Store; bell: Bell }): Supervisor {
  const { roots, state_dir, environment, log } = place;
  return new Supervisor({
    ...findProgram(),
    words: ["worker", ...roots.flatMap((root) => ["--root", root]), "--state-dir", state_dir],
    environment,
    onRecorded: () => bell.ring(),
    onWorkerEnd: async (worker) => void (await store.inbox.releaseWorker(worker)),
    log,
  });
}

/** Where this package's own program may lie, seen from here: as source, beside the published library, as a part of itself. */
const PROGRAMS = ["cli/bin.ts", "bin/autonous.js", "autonous.js"] as const;

/** The worker is a program of this package, whatever program this process is. */
function findProgram(): { readonly program: string; readonly flags: readonly string[] } {
  const program = PROGRAMS.map((name) => join(import.meta.dirname, name)).find((path) => existsSync(path));
  if (program === undefined) throw new Error(`There is no program beside "${import.meta.dirname}"`);
  return { program, flags: program.endsWith(".ts") ? ["--conditions=@autonous/source"] : [] };
}

async function listen(options: ConsoleOptions): Promise<Console> {
  try {
    return await startConsole(options);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "EADDRINUSE" && code !== "EACCES") throw error;
    const why = code === "EACCES" ? "this user may not" : "another program does";
    throw new CannotServe(`Cannot listen on 127.0.0.1:${options.port}: ${why}. Set AUTONOUS_HTTP_PORT to a free port`);
  }
}

const TOKEN = /^[\w-]{32,}$/;

/** Made at the first start and kept, so that what was set up with it goes on working. One that is cut short is not one. */
function readToken(state_dir: string): string {
  const path = join(state_dir, "http.token");
  const kept = existsSync(path) ? readFileSync(path, "utf8").trim() : "";
  if (TOKEN.test(kept)) return kept;
  const token = randomBytes(24).toString("base64url");
  writeFileSync(`${path}.new`, token, { mode: 0o600 });
  renameSync(`${path}.new`, path);
  return token;
}
