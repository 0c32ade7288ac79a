import { chmod } from "node:fs/promises";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { judgeAddress, showAddress } from "../../policy/check-address.ts";
import type { Target } from "../../policy/check-address.ts";
import { ToolError } from "../../protocol/errors.ts";
import { connectChecked } from "./connect.ts";
import type { ConnectOptions } from "./connect.ts";
import { forward } from "./forward.ts";
import { MAX_HEADER_BYTES } from "./send-request.ts";
import { tunnel } from "./forward.ts";

/** One connection of a command, reported when it ended or was refused. */
export interface ProxiedConnection {
  readonly host: string;
  readonly port: number;
  /** "CONNECT", or the method of a plain request. */
  readonly method: string;
  /** Whether the allowlist and the address checks admitted it. It may have failed anyway. */
  readonly allowed: boolean;
  /** Why it was refused or failed. */
  readonly reason?: string;
  readonly bytes_sent: number;
  readonly bytes_received: number;
}

interface ProxyOptions extends ConnectOptions {
  /** The path of its socket. It must not exist, and is removed on close. */
  readonly socket_path: string;
  readonly allow: readonly string[];
  /** Called for each connection, to record it. Must not throw. */
  readonly onConnection: (connection: ProxiedConnection) => void;
  /** Maximum number of connections; more are refused. */
  readonly max_connections?: number;
  /** Idle timeout, for both directions. */
  readonly idle_ms?: number;
  /** Timeout for resolving and connecting. */
  readonly connect_ms?: number;
  /** File mode of the socket. */
  readonly mode?: number;
}

export interface NetworkProxy {
  /** Closes every connection. Resolves when all are closed. Can be called repeatedly. */
  close(): Promise<void>;
}

const MAX_CONNECTIONS = 64;
const IDLE_MS = 120_000;
const CONNECT_MS = 20_000;

/** What is needed to handle a connection. */
interface ProxyParts {
  readonly options: ProxyOptions;
  readonly idleMs: number;
  /** The sockets of all open connections. */
  readonly sockets: Set<Socket>;
}

/**
 * Network access for commands without a network of their own: an HTTP proxy on a Unix socket. A request that
 * `judgeAddress` admits is sent to a checked address; others get a 403 with the reason. The content of tunnels is not
 * inspected: inside TLS a client may name another host to the server. `signal` closes it too.
 */
export async function startProxy(options: ProxyOptions): Promise<NetworkProxy> {
  options.signal.throwIfAborted();
  const parts: ProxyParts = { options, idleMs: options.idle_ms ?? IDLE_MS, sockets: new Set() };
  const work = new Set<Promise<void>>();
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: 20_000,
    requestTimeout: 0,
    keepAliveTimeout: 5000,
  });
  server.maxConnections = options.max_connections ?? MAX_CONNECTIONS;
  serve(server, parts, (each) => {
    const done = each.finally(() => work.delete(done));
    work.add(done);
  });
  await listen(server, options);
  const close = once(async () => {
    const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
    for (const socket of parts.sockets) socket.destroy();
    await closed;
    await Promise.all(work);
  });
  const onAbort = (): void => void close();
  options.signal.addEventListener("abort", onAbort, { once: true });
  server.once("close", () => options.signal.removeEventListener("abort", onAbort));
  if (options.signal.aborted) onAbort();
  return { close };
}

function serve(server: Server, parts: ProxyParts, track: (work: Promise<void>) => void): void {
  server.on("connection", (socket) => {
    keep(socket, parts);
    socket.on("error", () => {}); // the command disconnected
    socket.setTimeout(parts.idleMs, () => socket.destroy());
  });
  server.on("request", (request, response) => track(serveRequest(request, response, parts)));
  server.on("connect", (request, client, head) => track(serveTunnel({ request, client, head }, parts)));
  server.on("upgrade", (_request, client) => answer(client, "501 Not Implemented", "This proxy does not upgrade"));
  server.on("clientError", (_error, client) => answer(client, "400 Bad Request", "Not a valid HTTP request"));
}

function keep(socket: Socket, { sockets }: ProxyParts): void {
  sockets.add(socket);
  socket.once("close", () => sockets.delete(socket));
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

async function listen(server: Server, { socket_path, mode = 0o600 }: ProxyOptions): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen(socket_path, resolve);
  await promise;
  server.off("error", reject);
  try {
    await chmod(socket_path, mode);
  } catch (error) {
    server.close();
    throw error;
  }
}

/** `GET http://host/path`: the form of plain requests to a proxy. */
async function serveRequest(request: IncomingMessage, response: ServerResponse, parts: ProxyParts): Promise<void> {
  const { url = "", method = "" } = request;
  const requested = { method, urlText: url };
  try {
    if (!/^http:\/\//i.test(url)) throw malformed("only requests for http://… and CONNECT are served");
    const target = judge(url, parts);
    const upstream = await connectFor(target, request.socket, parts);
    const counts = await forward({ request, response, target, upstream }, parts.idleMs);
    reportConnection(parts, { ...requested, target }, { allowed: true, ...counts });
  } catch (error) {
    const { status, reason } = refusalOf(error);
    reportConnection(parts, requested, { allowed: status === 502, reason });
    if (response.headersSent) response.destroy();
    else
      response
        .writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" })
        .end(`${reason}\n`);
  }
}

interface TunnelRequest {
  readonly request: IncomingMessage;
  readonly client: Duplex;
  readonly head: Buffer;
}

/** A host and a port, as in CONNECT, without characters that a URL would interpret otherwise. */
const AUTHORITY = /^(?:[^\s\u0000-\u001f\u007f/\\@?#:[\]%]+|\[[0-9a-fA-F:.]+\]):\d{1,5}$/;

async function serveTunnel({ request, client, head }: TunnelRequest, parts: ProxyParts): Promise<void> {
  const { url = "" } = request;
  const requested = { method: "CONNECT", urlText: `https://${url}/` };
  client.on("error", () => {}); // reported by "close"
  try {
    if (!AUTHORITY.test(url)) throw malformed("CONNECT takes a host and a port, such as example.com:443");
    const target = judge(requested.urlText, parts);
    const upstream = await connectFor(target, client, parts);
    const counts = await tunnel({ client, upstream, head }, parts.idleMs);
    reportConnection(parts, { ...requested, target }, { allowed: true, ...counts });
  } catch (error) {
    const { status, reason } = refusalOf(error);
    reportConnection(parts, requested, { allowed: status === 502, reason });
    answer(client, STATUS_LINES[status], reason);
  }
}

function judge(urlText: string, { options }: ProxyParts): Target {
  const verdict = judgeAddress(urlText, options.allow);
  if (verdict.effect === "ALLOW") return verdict.target;
  throw new ToolError(verdict.code, `Cannot reach ${JSON.stringify(showAddress(urlText))}: ${verdict.reason}`);
}

/** Aborts the attempt when the client disconnects. */
async function connectFor(target: Target, client: Duplex, parts: ProxyParts): Promise<Socket> {
  const { options } = parts;
  const gone = new AbortController();
  const onClose = (): void => gone.abort(new Error("the client disconnected"));
  client.once("close", onClose);
  const late = AbortSignal.timeout(options.connect_ms ?? CONNECT_MS);
  try {
    const signal = AbortSignal.any([options.signal, gone.signal, late]);
    const upstream = await connectChecked(target, { ...options, signal });
    keep(upstream, parts);
    return upstream;
  } finally {
    client.off("close", onClose);
  }
}

function malformed(why: string): ToolError {
  return new ToolError("InvalidArguments", `Cannot serve this request: ${why}`);
}

const STATUS_LINES = { 400: "400 Bad Request", 403: "403 Forbidden", 502: "502 Bad Gateway" } as const;

function refusalOf(error: unknown): { readonly status: keyof typeof STATUS_LINES; readonly reason: string } {
  if (!(error instanceof ToolError)) return { status: 502, reason: "The connection failed" };
  const status = error.code === "NetworkDenied" ? 403 : error.code === "InvalidArguments" ? 400 : 502;
  return { status, reason: error.message };
}

function answer(client: Duplex, status: string, reason: string): void {
  if (!client.writable) {
    client.destroy();
    return;
  }
  const body = `${reason}\n`;
  const lines = [
    `HTTP/1.1 ${status}`,
    "Content-Type: text/plain; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  client.end(`${lines.join("\r\n")}\r\nConnection: close\r\n\r\n${body}`, () => client.destroy());
}

interface RequestedAddress {
  readonly method: string;
  readonly urlText: string;
  readonly target?: Target;
}

type Outcome = Partial<Pick<ProxiedConnection, "reason" | "bytes_sent" | "bytes_received">> & {
  readonly allowed: boolean;
};

function reportConnection(
  { options }: ProxyParts,
  { method, urlText, target }: RequestedAddress,
  outcome: Outcome,
): void {
  const { host, port } = target ?? placeOf(urlText);
  options.onConnection({ host, port, method, bytes_sent: 0, bytes_received: 0, ...outcome });
}

/** For the record: the requested address, even if it is invalid. */
function placeOf(urlText: string): { readonly host: string; readonly port: number } {
  const url = URL.canParse(urlText) ? new URL(urlText) : undefined;
  if (url === undefined) return { host: urlText.slice(0, 200), port: 0 };
  return { host: url.hostname, port: Number(url.port) || (url.protocol === "http:" ? 80 : 443) };
}
