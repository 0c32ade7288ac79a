import { startHttpServer } from "../channels/http/server.ts";
import type { HttpServer, HttpServerOptions } from "../channels/http/server.ts";
import { CannotServe } from "./context.ts";
import type { ServiceContext } from "./context.ts";
import type { OutboxSender } from "../queue/outbox-sender.ts";
import type { Store } from "../store/store.ts";
import type { WorkerStatus } from "../supervisor/supervisor.ts";

export interface OpenHttp {
  readonly url: string;
  /** Ends open task streams and accepts no more requests. */
  close(): Promise<void>;
}

/** HTTP's side of the outbox: sending is a no-op, because clients read replies from the task's recorded events. */
export const httpSender: OutboxSender = {
  channel: "http",
  send: () => Promise.resolve({}),
};

/** HTTP on 127.0.0.1. Throws `CannotServe` when the port is taken. */
export async function openHttp(context: ServiceContext, token: string): Promise<OpenHttp> {
  const { store, notifier, settings, logger, onTask, redact } = context;
  const closing = new AbortController();
  const server = await listen({
    store,
    notifier,
    token,
    port: settings.http_port,
    log: logger.part("http").warn,
    closing: closing.signal,
    onTask,
    redact,
    state_dir: context.state_dir,
    health: createHealth({ store, workerStatus: context.workerStatus, clock: Date.now }),
    metrics: () => context.telemetry.metrics(context.workerStatus()),
  });
  return {
    url: server.url,
    async close() {
      closing.abort();
      notifier.notify();
      await server.close();
    },
  };
}

async function listen(options: HttpServerOptions): Promise<HttpServer> {
  try {
    return await startHttpServer(options);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "EADDRINUSE" && code !== "EACCES") throw error;
    const why = code === "EACCES" ? "permission denied" : "another program uses the port";
    throw new CannotServe(`Cannot listen on 127.0.0.1:${options.port}: ${why}. Set AUTONOUS_HTTP_PORT to a free port`);
  }
}

/** The answer of `/healthz`. Any local process can read it, so it contains no user text and no error details; the log does. */
type Health = { readonly ok: true } | { readonly ok: false; readonly why: string };

interface HealthParts {
  readonly store: { readonly kv: Pick<Store["kv"], "set"> };
  readonly workerStatus: () => WorkerStatus;
  readonly clock: () => number;
}

/** The service is healthy while a worker runs or starts. */
// oxfmt-ignore
const WORKER = {
  starting: undefined,
  working:  undefined,
  waiting:  "the worker exited and is restarting",
  given_up: "the worker keeps exiting; see the log",
  stopped:  "the service is stopping",
} as const satisfies Record<WorkerStatus["state"], string | undefined>;

/** At most one write to the store in this time, however often health is requested. */
const TRY_MS = 5000;
const KEY = "health";

export function createHealth({ store, workerStatus, clock }: HealthParts): () => Promise<Health> {
  let tried: { readonly at: number; readonly problem: Promise<string | undefined> } | undefined;
  return async () => {
    const worker = WORKER[workerStatus().state];
    if (worker !== undefined) return { ok: false, why: worker };
    if (tried === undefined || Math.abs(clock() - tried.at) > TRY_MS)
      tried = { at: clock(), problem: tryStore(store, new Date(clock()).toISOString()) };
    const problem = await tried.problem;
    return problem === undefined ? { ok: true } : { ok: false, why: problem };
  };
}

async function tryStore({ kv }: HealthParts["store"], now: string): Promise<string | undefined> {
  try {
    await kv.set(KEY, now);
    return undefined;
  } catch {
    return "cannot write to the store"; // the log has the cause
  }
}
