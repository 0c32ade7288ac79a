import { timingSafeEqual } from "node:crypto";
import { serve } from "@hono/node-server";
import type { ServerType } from "@hono/node-server";
import { Hono } from "hono";
import type { Context } from "hono";
import { bodyLimit } from "hono/body-limit";
import { secureHeaders } from "hono/secure-headers";
import { problem } from "./problem.ts";
import { addRoutes } from "./routes.ts";
import type { RouteParts } from "./routes.ts";

export interface ConsoleOptions extends RouteParts {
  readonly token: string;
  /** 0 takes a free one. */
  readonly port: number;
}

export interface Console {
  readonly url: string;
  close(): Promise<void>;
}

const HOST = "127.0.0.1";
const MAX_BODY_BYTES = 1024 * 1024;

/** Serves HTTP on loopback. Throws when the port is taken. */
export async function startConsole(options: ConsoleOptions): Promise<Console> {
  const app = new Hono();
  app.use(secureHeaders());
  app.get("/healthz", (context) => context.json({ ok: true }));
  app.use("/api/*", async (context, next) => refuse(context, options.token) ?? (await next()));
  app.use(
    "/api/*",
    bodyLimit({
      maxSize: MAX_BODY_BYTES,
      onError: (context) => problem(context, 413, `The body is over ${MAX_BODY_BYTES} bytes`),
    }),
  );
  addRoutes(app, options);
  app.notFound((context) => problem(context, 404, `There is no ${context.req.method} ${context.req.path}`));
  app.onError((error, context) => problem(context, 500, error.message));
  const server = await listen(app, options.port);
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : options.port;
  return { url: `http://${HOST}:${port}`, close: () => closeServer(server) };
}

/** A page from elsewhere must not get in by the user's browser, nor by a name that leads to loopback (threats: rebinding). */
function refuse(context: Context, token: string): Response | undefined {
  const { hostname, port } = new URL(`http://${context.req.header("host") ?? ""}/`);
  if (!LOOPBACK.has(hostname)) return problem(context, 403, "The Host is not this machine");
  const origin = context.req.header("origin");
  if (origin !== undefined && !isOwnOrigin(origin, port)) return problem(context, 403, "The Origin is another site");
  const given = context.req.header("authorization") ?? "";
  if (isSame(given, `Bearer ${token}`)) return undefined;
  return problem(context, 401, "The header Authorization: Bearer <token> is missing or wrong");
}

const LOOPBACK = new Set(["127.0.0.1", "localhost", "[::1]"]);

function isOwnOrigin(origin: string, port: string): boolean {
  if (!URL.canParse(origin)) return false;
  const url = new URL(origin);
  return url.protocol === "http:" && LOOPBACK.has(url.hostname) && url.port === port;
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
  if ("closeAllConnections" in server) server.closeAllConnections();
  await closed;
}
