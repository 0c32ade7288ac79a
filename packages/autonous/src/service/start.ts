import { join } from "node:path";
import { headsFolder, openState, redact, secretsOf } from "@autonous/runtime";
import { httpCommander } from "../channels/http/commander.ts";
import { Bell } from "../queue/bell.ts";
import type { Commander } from "../queue/commander.ts";
import { OutputFeed } from "../queue/output-feed.ts";
import { followRecord } from "../queue/follow.ts";
import { Mirror } from "../queue/mirror.ts";
import { databaseFile, openStore } from "../store/open-store.ts";
import { lockHolder, lockStateFolder } from "../store/sqlite/state-lock.ts";
import { createLogger } from "../supervisor/logger.ts";
import { endOrphans } from "../supervisor/orphans.ts";
import { BACKGROUND } from "./background.ts";
import { CHANNELS } from "./channels.ts";
import { CannotServe, ModuleTools } from "./context.ts";
import type { ServiceContext, ServicePlace } from "./context.ts";
import { openHttp } from "./http.ts";
import { openTelemetry } from "./telemetry.ts";
import { createSupervisor } from "./worker-process.ts";
import { readToken } from "./token.ts";

export interface RunningService {
  readonly url: string;
  /** Every request to `/api` has to carry it: `Authorization: Bearer <token>`. */
  readonly token: string;
  readonly token_file: string;
  /** Lets the tasks in hand be finished, for a while, then ends everything. What is queued is done at the next start. */
  close(): Promise<void>;
  /** Ends the tasks in hand at once. They are gone on with at the next start. */
  kill(): void;
  /** Lets the worker finish what it has in hand and starts another, which reads the configuration again. */
  restartWorker(): void;
}

/** Whoever held a lane under an earlier supervisor is gone, whatever a clock that has been set back since may say. */
const EVERYBODY = Number.NEGATIVE_INFINITY;

/** Takes messages in, sends replies out and keeps one worker running that does the tasks. Throws `CannotServe`. */
export async function startService(place: ServicePlace): Promise<RunningService> {
  const wish = { workspace: process.cwd(), state_dir: place.state_dir, roots: place.roots };
  const { state_dir, problem } = openState(wish); // before anything in it is read
  if (problem !== undefined) throw new CannotServe(`Cannot serve: ${problem}`);
  await using opened = new AsyncDisposableStack(); // closed here should a later part fail to start
  opened.defer(holdStateFolder(state_dir));
  endOrphans(state_dir);
  const { token, token_file } = readToken(state_dir);
  const known = [...secretsOf(place.environment), token];
  const redactText = (text: string): string => redact(text, { known }).text;
  const logger = createLogger({ folder: join(state_dir, "logs"), redact: redactText, tell: place.log });
  opened.defer(() => {
    logger.info("The service has stopped");
    logger.close();
  });
  const store = await openStore({
    file: databaseFile(state_dir),
    clock: Date.now,
    service: {
      onCopy: (copy) =>
        logger.warn(`The database is brought up to date; as it was before, it is kept in "${copy}"`, { copy }),
    },
  });
  opened.defer(() => store.close());
  await store.inbox.recover(EVERYBODY);
  const telemetry = await openTelemetry({ store, state_dir, environment: place.environment, logger });
  opened.defer(() => telemetry.close());
  const news = { bell: new Bell(), outputs: new OutputFeed(), moduleTools: new ModuleTools() };
  const base = { ...place, ...news, state_dir, store, logger, telemetry, redact: redactText };
  const supervisor = createSupervisor(base);
  const context: ServiceContext = {
    ...base,
    onTask: () => supervisor.wake(),
    workerStatus: () => supervisor.status(),
  };
  const http = await openHttp(context, token);
  opened.defer(() => http.close());
  const commanders = [httpCommander, ...(await openChannels(context, opened))];
  await startBackground(context, opened);
  opened.defer(startFollowing(context, commanders));
  logger.info("The service was started", { pid: process.pid, url: http.url });
  supervisor.start();
  opened.defer(() => supervisor.stop(place.settings.drain_seconds * 1000));
  const parts = opened.move();
  return {
    url: http.url,
    token,
    token_file,
    async close() {
      logger.info("The service stops");
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
    `Cannot serve from "${state_dir}": ${lockHolder(state_dir)} does already. Stop it, or choose another AUTONOUS_STATE_DIR`,
  );
}

async function openChannels(context: ServiceContext, opened: AsyncDisposableStack): Promise<readonly Commander[]> {
  const commanders: Commander[] = [];
  for (const open of CHANNELS) {
    const channel = await open(context);
    if (channel === undefined) continue;
    opened.defer(() => channel.close());
    commanders.push(channel.commander);
  }
  return commanders;
}

async function startBackground(context: ServiceContext, opened: AsyncDisposableStack): Promise<void> {
  for (const start of BACKGROUND) {
    const end = await start(context);
    if (end !== undefined) opened.defer(end);
  }
}

/** Sends replies and keeps the runs' files up to date, until the function that it gives is called, and then once more. */
function startFollowing(context: ServiceContext, commanders: readonly Commander[]): () => Promise<void> {
  const { store, state_dir, bell, logger, telemetry } = context;
  const log = logger.part("record").warn;
  const stopped = new AbortController();
  const onEvents = telemetry.observe;
  const mirror = new Mirror({ store, state_dir, heads: headsFolder(), clock: Date.now, log, onEvents });
  const counted = commanders.map(telemetry.counting);
  const following = followRecord(stopped.signal, { store, bell, mirror, commanders: counted, log });
  return async () => {
    stopped.abort();
    bell.ring();
    await following;
  };
}
