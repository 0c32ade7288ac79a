import { request as openRequest } from "node:http";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Target } from "../../policy/check-address.ts";
import { ToolError } from "../../protocol/errors.ts";
import type { EnvironmentProxy } from "./environment-proxy.ts";

/** Credentials for the proxy, sent to the proxy only. */
export function proxyHeaders({ url }: EnvironmentProxy): Readonly<Record<string, string>> {
  if (url.username === "" && url.password === "") return {};
  const known = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return { "proxy-authorization": `Basic ${Buffer.from(known).toString("base64")}` };
}

/**
 * A connection to the target through a tunnel of the proxy (`CONNECT`), or to the proxy itself for an http:// address.
 * The target was checked before; the proxy resolves its name itself. The caller closes the connection.
 */
export async function connectByProxy(target: Target, proxy: EnvironmentProxy, signal: AbortSignal): Promise<Socket> {
  try {
    const socket = await (target.scheme === "https" ? tunnelTo(target, proxy, signal) : dialProxy(proxy, signal));
    socket.on("error", () => {}); // the code that waits for it reports it; later errors do not matter
    return socket;
  } catch (error) {
    signal.throwIfAborted();
    throw asProxyError(error, target, proxy);
  }
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}

function portOf({ port, protocol }: URL): number {
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}

async function dialProxy({ url }: EnvironmentProxy, signal: AbortSignal): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const place = { host: hostOf(url), port: portOf(url) };
  const socket =
    url.protocol === "https:"
      ? connectTls({ ...place, servername: place.host, ALPNProtocols: ["http/1.1"], rejectUnauthorized: true })
      : connect({ ...place, autoSelectFamily: true, noDelay: true });
  const stop = (): void => void socket.destroy(signal.reason as Error);
  socket.once(url.protocol === "https:" ? "secureConnect" : "connect", resolve).once("error", reject);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    await promise;
    return socket;
  } finally {
    socket.off("error", reject);
    signal.removeEventListener("abort", stop);
  }
}

/** The proxy's status instead of a tunnel. */
class NoTunnel extends Error {}

async function tunnelTo({ host, port }: Target, proxy: EnvironmentProxy, signal: AbortSignal): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const authority = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  const dialled = await dialProxy(proxy, signal);
  const request = openRequest({
    method: "CONNECT",
    path: authority,
    headers: { host: authority, ...proxyHeaders(proxy) },
    setHost: false,
    createConnection: () => dialled,
    signal,
  });
  const refused = ({ statusCode = 0, statusMessage = "" }: IncomingMessage): void =>
    reject(new NoTunnel(`${statusCode} ${statusMessage}`.trim()));
  request.once("connect", (message: IncomingMessage, socket: Socket, head: Buffer) => {
    if (message.statusCode === 200) {
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
      return;
    }
    socket.destroy();
    refused(message);
  });
  request.once("response", (message) => {
    message.destroy();
    refused(message);
  });
  request.on("error", reject);
  request.end();
  return await promise;
}

const MAX_ANSWER = 100;

/** Names the proxy and its variable, never its password. */
function asProxyError(error: unknown, { host, port }: Target, { shown, variable }: EnvironmentProxy): ToolError {
  const reason = error instanceof NoTunnel ? "PROXY_REFUSED" : ((error as NodeJS.ErrnoException).code ?? "unknown");
  const why =
    error instanceof NoTunnel ? `answered ${error.message.slice(0, MAX_ANSWER)}` : `could not be reached (${reason})`;
  return new ToolError(
    "IOError",
    `Cannot reach "${host}" on port ${port}: the proxy ${shown} (${variable}) ${why}`,
    { host, port, reason, hint: "Ask the user to check the proxy, or to list the host in NO_PROXY." },
    error,
  );
}
