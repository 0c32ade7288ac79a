import { timingSafeEqual } from "node:crypto";
import { serve } from "@hono/node-server";
import type { ServerType } from "@hono/node-server";
import { Hono } from "hono";
import type { Context } from "hono";
import { secureHeaders } from "hono/secure-headers";
import { StoreError } from "../../store/store-error.ts";
import { problem } from "./problem.ts";
import { addRoutes } from "./routes.ts";
import type { RouteParts } from "./routes.ts";

export interface ConsoleOptions extends RouteParts {
  readonly token: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Whether tasks are done, and if not, why. */
  readonly health: () => Promise<{ readonly ok: true } | { readonly ok: false; readonly why: string }>;
  /** In the text format of Prometheus. */
  readonly metrics: () => Promise<string>;
}

export interface Console {
  readonly url: string;
  /** Takes no more requests. Those under way are answered if they can be soon; `closing` lets go of the long ones. */
  close(): Promise<void>;
}

const HOST = "127.0.0.1";
const MAX_BODY_BYTES = 1024 * 1024;
/** Whoever has not read the end of an answer by then does not get it. */
const LAST_ANSWERS_MS = 1000;
const LOOK_MS = 20;

/** Serves HTTP on loopback. Throws when the port is taken. */
export async function startConsole(options: ConsoleOptions): Promise<Console> {
  const app = new Hono();
  app.use(secureHeaders());
  app.get("/healthz", async (context) => {
    const health = await options.health();
    return context.json(health, health.ok ? 200 : 503);
  });
  for (const path of ["/api/*", "/metrics"])
    app.use(path, async (context, next) => refuse(context, options.token) ?? refuseBody(context) ?? (await next()));
  app.get("/metrics", async (context) =>
    context.body(await options.metrics(), 200, { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" }),
  );
  addRoutes(app, options);
  app.notFound((context) => problem(context, 404, `There is no ${context.req.method} ${context.req.path}`));
  app.onError((error, context) => {
    options.log(`${context.req.method} ${context.req.path} could not be served: ${error.message}`);
    return problem(context, error instanceof StoreError ? 503 : 500, error.message);
  });
  const server = await listen(app, options.port);
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : options.port;
  return { url: `http://${HOST}:${port}`, close: () => closeServer(server) };
}

/** The names of this machine, as they are written: other notations of the same address (127.1) are nobody's habit. */
const LOOPBACK = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::(\d{1,5}))?$/i;

/** A page from elsewhere must not get in by the user's browser, nor by a name that leads to loopback (threats: rebinding). */
function refuse(context: Context, token: string): Response | undefined {
  const host = LOOPBACK.exec(context.req.header("host") ?? "");
  if (host === null) return problem(context, 403, "The Host is not this machine");
  const origin = context.req.header("origin");
  if (origin !== undefined && !isOwnOrigin(origin, host[1])) return problem(context, 403, "The Origin is another site");
  const given = context.req.header("authorization") ?? "";
  if (isSame(given, `Bearer ${token}`)) return undefined;
  return problem(context, 401, "The header Authorization: Bearer <token> is missing or wrong");
}

/** Another port of this machine is another site: whatever serves there. */
function isOwnOrigin(origin: string, port: string | undefined): boolean {
  const host = origin.startsWith("http://") ? LOOPBACK.exec(origin.slice("http://".length)) : null;
  return host !== null && host[1] === port;
}

/** Judged by its length, before any of it is read. */
function refuseBody(context: Context): Response | undefined {
  if (context.req.header("transfer-encoding") !== undefined)
    return problem(context, 411, "The body has to come with its Content-Length");
  if (Number(context.req.header("content-length") ?? 0) <= MAX_BODY_BYTES) return undefined;
  return problem(context, 413, `The body is over ${MAX_BODY_BYTES} bytes`);
}

function isSame(given: string, wanted: string): boolean {
  const a = Buffer.from(given);
  const b = Buffer.from(wanted);
  return a.length === b.length && timingSafeEqual(a, b);
}

async function listen(app: Hono, port: number): Promise<ServerType> {
  return await new Promise((resolve, reject) => {
    const server = serve({ fetch: app.fetch, hostname: HOST, port }, () => resolve(server));
    server.once("error", reject);
  });
}

async function closeServer(server: ServerType): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  const end = Date.now() + LAST_ANSWERS_MS;
  const timer = setInterval(() => {
    if (!("closeIdleConnections" in server)) return;
    if (Date.now() < end) server.closeIdleConnections();
    else server.closeAllConnections();
  }, LOOK_MS);
  await closed;
  clearInterval(timer);
}
