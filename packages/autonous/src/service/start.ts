import { join } from "node:path";
import { redact } from "@autonous/runtime";
import { headsFolder, openState, secretsOf, sweepLost } from "@autonous/runtime/internal";
import { Notifier } from "../store/notifier.ts";
import type { OutboxSender } from "../queue/outbox-sender.ts";
import { OutputFeed } from "../queue/output-feed.ts";
import { followRecord } from "../queue/follow-record.ts";
import { Mirror } from "../queue/mirror.ts";
import { databaseFile, openStore } from "../store/open-store.ts";
import { lockHolder, lockStateFolder } from "../store/sqlite/state-lock.ts";
import { createLogger } from "../supervisor/logger.ts";
import { endOrphans } from "../supervisor/orphans.ts";
import { BACKGROUND } from "./background.ts";
import { CHANNELS } from "./channels.ts";
import { CannotServe, ModuleTools } from "./context.ts";
import type { ServiceContext, ServicePlace } from "./context.ts";
import { httpSender, openHttp } from "./http.ts";
import { openTelemetry } from "./telemetry.ts";
import { readToken } from "./token.ts";
import { existsSync } from "node:fs";
import { withoutSecrets } from "../config/settings.ts";
import { Supervisor } from "../supervisor/supervisor.ts";

export interface RunningService {
  readonly url: string;
  /** Required for every request to `/api`: `Authorization: Bearer <token>`. */
  readonly token: string;
  readonly token_file: string;
  /** Waits up to the grace period for running tasks, then ends everything. Queued tasks run at the next start. */
  close(): Promise<void>;
  /** Kills running tasks at once. They resume at the next start. */
  kill(): void;
  /** Lets the worker finish its running tasks and starts another, which reads the configuration again. */
  restartWorker(): void;
}

/** Every lane holder of an earlier supervisor has exited, even if the clock was set back since. */
const EVERYBODY = Number.NEGATIVE_INFINITY;

/** Receives messages, sends replies and keeps one worker running that processes the tasks. Throws `CannotServe`. */
export async function startService(place: ServicePlace): Promise<RunningService> {
  const stateOptions = { workspace: process.cwd(), state_dir: place.state_dir, roots: place.roots };
  const { state_dir, problem } = openState(stateOptions); // before anything in it is read
  if (problem !== undefined) throw new CannotServe(`Cannot serve: ${problem}`);
  await using opened = new AsyncDisposableStack(); // closes the opened parts if a later one fails to start
  opened.defer(holdStateFolder(state_dir));
  endOrphans(state_dir);
  const { token, token_file } = readToken(state_dir);
  const known = [...secretsOf(place.environment), token];
  const redactText = (text: string): string => redact(text, { known }).text;
  const logger = createLogger({ folder: join(state_dir, "logs"), redact: redactText, tell: place.log });
  opened.defer(() => {
    logger.info("Service stopped");
    logger.close();
  });
  const store = await openStore({
    file: databaseFile(state_dir),
    clock: Date.now,
    service: {
      onCopy: (copy) => logger.warn(`Migrating the database; a backup is in "${copy}"`, { copy }),
    },
  });
  opened.defer(() => store.close());
  await store.inbox.recover(EVERYBODY);
  const telemetry = await openTelemetry({ store, state_dir, environment: place.environment, logger });
  opened.defer(() => telemetry.close());
  const news = { notifier: new Notifier(), outputs: new OutputFeed(), moduleTools: new ModuleTools() };
  const base = { ...place, ...news, state_dir, store, logger, telemetry, redact: redactText };
  const supervisor = createSupervisor(base);
  const context: ServiceContext = {
    ...base,
    onTask: () => supervisor.wake(),
    workerStatus: () => supervisor.status(),
  };
  const http = await openHttp(context, token);
  opened.defer(() => http.close());
  const senders = [httpSender, ...(await openChannels(context, opened))];
  await startBackground(context, opened);
  opened.defer(startFollowing(context, senders));
  logger.info("Service started", { pid: process.pid, url: http.url });
  supervisor.start();
  opened.defer(() => supervisor.stop(place.settings.drain_seconds * 1000));
  const parts = opened.move();
  return {
    url: http.url,
    token,
    token_file,
    async close() {
      logger.info("Service stopping");
      await parts.disposeAsync();
    },
    kill: () => supervisor.kill(),
    restartWorker: () => supervisor.restart(),
  };
}

function holdStateFolder(state_dir: string): () => void {
  const unlock = lockStateFolder(state_dir);
  if (unlock !== undefined) return unlock;
  throw new CannotServe(
    `Cannot serve from "${state_dir}": ${lockHolder(state_dir)} already serves from it. Stop it, or choose another AUTONOUS_STATE_DIR`,
  );
}

async function openChannels(context: ServiceContext, opened: AsyncDisposableStack): Promise<readonly OutboxSender[]> {
  const senders: OutboxSender[] = [];
  for (const open of CHANNELS) {
    const channel = await open(context);
    if (channel === undefined) continue;
    opened.defer(() => channel.close());
    senders.push(channel.sender);
  }
  return senders;
}

async function startBackground(context: ServiceContext, opened: AsyncDisposableStack): Promise<void> {
  for (const start of BACKGROUND) {
    const end = await start(context);
    if (end !== undefined) opened.defer(end);
  }
}

/** Sends replies and keeps the runs' files up to date. The returned function does both a last time, then stops. */
function startFollowing(context: ServiceContext, senders: readonly OutboxSender[]): () => Promise<void> {
  const { store, state_dir, notifier, logger, telemetry } = context;
  const log = logger.part("record").warn;
  const stopped = new AbortController();
  const onEvents = telemetry.observe;
  const mirror = new Mirror({ store, state_dir, heads: headsFolder(), clock: Date.now, log, onEvents });
  const counted = senders.map(telemetry.counting);
  const following = followRecord(stopped.signal, { store, notifier, mirror, senders: counted, log });
  return async () => {
    stopped.abort();
    notifier.notify();
    await following;
  };
}

/** Keeps one worker process running that processes the tasks. */
function createSupervisor(context: Omit<ServiceContext, "workerStatus" | "onTask">): Supervisor {
  const { roots, state_dir, settings, environment, store, notifier, outputs, moduleTools, logger, telemetry } = context;
  return new Supervisor({
    ...findProgram(),
    words: ["worker", ...roots.flatMap((root) => ["--root", root]), "--state-dir", state_dir],
    environment: withoutSecrets(environment),
    onRecorded: () => notifier.notify(),
    onBreaker: telemetry.onBreaker,
    onOutput: (output) => outputs.push(output),
    onModuleTools: (tools) => moduleTools.set(tools),
    onWorkerEnd: async (worker, options) => {
      telemetry.onWorkerEnd();
      sweepLost(); // its commands must end before another worker resumes its tasks
      await store.inbox.releaseWorker(worker, options);
      notifier.notify(); // it may have exited before it announced its last events
    },
    logger,
    drainMs: settings.drain_seconds * 1000,
  });
}

/** Possible paths of this package's program, relative to this file: source, next to the published library, or inside it. */
const PROGRAMS = ["../cli/bin.ts", "../bin/autonous.js"] as const;

/** The worker runs this package's program, whatever program this process runs. */
function findProgram(): { readonly program: string; readonly flags: readonly string[] } {
  const program = PROGRAMS.map((name) => join(import.meta.dirname, name)).find((path) => existsSync(path));
  if (program === undefined) throw new Error(`Program not found beside "${import.meta.dirname}"`);
  return { program, flags: program.endsWith(".ts") ? ["--conditions=@autonous/source"] : [] };
}
