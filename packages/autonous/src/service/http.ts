import { startConsole } from "../channels/http/server.ts";
import type { Console, ConsoleOptions } from "../channels/http/server.ts";
import { CannotServe } from "./context.ts";
import type { ServiceContext } from "./context.ts";
import { createHealth } from "./health.ts";

export interface OpenHttp {
  readonly url: string;
  /** Ends open task streams and accepts no more requests. */
  close(): Promise<void>;
}

/** HTTP on 127.0.0.1. Throws `CannotServe` when the port is taken. */
export async function openHttp(context: ServiceContext, token: string): Promise<OpenHttp> {
  const { store, bell, settings, logger, onTask, redact } = context;
  const closing = new AbortController();
  const server = await listen({
    store,
    bell,
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
      bell.ring();
      await server.close();
    },
  };
}

async function listen(options: ConsoleOptions): Promise<Console> {
  try {
    return await startConsole(options);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "EADDRINUSE" && code !== "EACCES") throw error;
    const why = code === "EACCES" ? "permission denied" : "another program uses the port";
    throw new CannotServe(`Cannot listen on 127.0.0.1:${options.port}: ${why}. Set AUTONOUS_HTTP_PORT to a free port`);
  }
}
