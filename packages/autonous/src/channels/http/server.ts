import { timingSafeEqual } from "node:crypto";
import { faultReason } from "@autonous/runtime/internal";
import { serve } from "@hono/node-server";
import type { HttpBindings, ServerType } from "@hono/node-server";
import { Hono } from "hono";
import type { Context } from "hono";
import { secureHeaders } from "hono/secure-headers";
import { StoreError } from "../../store/store-error.ts";
import { problem } from "./problem.ts";
import { foreignForm } from "./read-body.ts";
import { addRoutes } from "./routes.ts";
import type { RouteParts } from "./routes.ts";

export interface HttpServerOptions extends RouteParts {
  readonly token: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** Whether the service processes tasks, and if not, why. */
  readonly health: () => Promise<{ readonly ok: true } | { readonly ok: false; readonly why: string }>;
  /** In the text format of Prometheus. */
  readonly metrics: () => Promise<string>;
}

export interface HttpServer {
  readonly url: string;
  /** Accepts no more requests. Pending ones get a short time to finish; `closing` ends the streams. */
  close(): Promise<void>;
}

const HOST = "127.0.0.1";
const MAX_BODY_BYTES = 1024 * 1024;
/** At shutdown, connections that are still open after this time are closed. */
const LAST_ANSWERS_MS = 1000;
const LOOK_MS = 20;

/** Serves HTTP on loopback. Throws when the port is taken. */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const app = new Hono();
  app.use(secureHeaders());
  app.use(async (context, next) => refuseForm(context) ?? (await next()));
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
  app.notFound((context) => problem(context, 404, `No route for ${context.req.method} ${context.req.path}`));
  app.onError((error, context) => {
    options.log(`${context.req.method} ${context.req.path} failed: ${error.message}`);
    return problem(context, error instanceof StoreError ? 503 : 500, faultReason(error));
  });
  const server = await listen(app, options.port);
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : options.port;
  return { url: `http://${HOST}:${port}`, close: () => closeServer(server) };
}

/** Headers for authentication or for decoding the body: of duplicates, one parser uses the first and another the last. */
// oxfmt-ignore
const ONCE: ReadonlySet<string> = new Set(["host", "origin", "authorization", "content-length", "content-type", "content-encoding"]);

/** Rejects what no browser or client sends. A target with its own host would bypass the check of `Host`. */
function refuseForm(context: Context): Response | undefined {
  const { url = "", rawHeaders } = incomingOf(context);
  if (!url.startsWith("/")) return problem(context, 400, "The request target must be a path");
  const names = rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  const twice = names.find((name, index) => ONCE.has(name) && names.indexOf(name) !== index);
  return twice === undefined ? undefined : problem(context, 400, `Duplicate header ${twice}`);
}

function incomingOf(context: Context): HttpBindings["incoming"] {
  return (context.env as HttpBindings).incoming;
}

/** The usual names of this machine. Other notations of the same address (127.1, localhost.) are not accepted. */
const LOOPBACK: ReadonlySet<string> = new Set(["127.0.0.1", "localhost", "[::1]"]);
/** The default port, which clients omit from `Host`. */
const HTTP_PORT = 80;

/** Blocks requests that a foreign page makes through the user's browser, and DNS names that resolve to loopback (rebinding). */
function refuse(context: Context, token: string): Response | undefined {
  const host = (context.req.header("host") ?? "").toLowerCase();
  const { localPort = 0 } = incomingOf(context).socket;
  if (!isOwnHost(host, localPort)) return problem(context, 403, `Invalid Host header: expected ${HOST}:${localPort}`);
  // Another port or name of this machine is a different origin.
  const origin = context.req.header("origin");
  if (origin !== undefined && origin.toLowerCase() !== `http://${host}`)
    return problem(context, 403, "Cross-origin requests are not allowed");
  const given = context.req.header("authorization") ?? "";
  if (isSame(given, `Bearer ${token}`)) return undefined;
  return problem(context, 401, "Missing or invalid header Authorization: Bearer <token>");
}

function isOwnHost(host: string, port: number): boolean {
  if (port === HTTP_PORT && LOOPBACK.has(host)) return true;
  const end = `:${port}`;
  return host.endsWith(end) && LOOPBACK.has(host.slice(0, -end.length));
}

/** Checks the headers before any of the body is read. */
function refuseBody(context: Context): Response | undefined {
  if (context.req.header("transfer-encoding") !== undefined)
    return problem(context, 411, "The body needs a Content-Length header");
  const bytes = Number(context.req.header("content-length") ?? 0);
  if (bytes > MAX_BODY_BYTES) return problem(context, 413, `The body is larger than ${MAX_BODY_BYTES} bytes`);
  if (bytes === 0 && context.req.method !== "POST") return undefined;
  const form = foreignForm(context.req.header("content-encoding"), context.req.header("content-type"));
  if (form === undefined) return undefined;
  context.header("Accept-Encoding", "identity"); // RFC 9110, 415: the accepted encoding
  return problem(context, 415, form);
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
