import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { NetworkRequest, NetworkResponse, ToolNetwork } from "../../contract/network.ts";
import { judgeAddress, showAddress } from "../../policy/check-address.ts";
import type { Target } from "../../policy/check-address.ts";
import { ToolError } from "../../protocol/errors.ts";
import { connectByProxy, proxyHeaders } from "./connect-by-proxy.ts";
import { checkAddresses, connectChecked, secure } from "./connect.ts";
import type { ConnectOptions } from "./connect.ts";
import { proxyFor } from "./environment-proxy.ts";
import type { EnvironmentProxy } from "./environment-proxy.ts";
import { checkHeaders, shownHeaders, withoutBody, withoutSecrets } from "./request-headers.ts";
import { asNetworkError } from "./network-error.ts";
import { ACCEPTED_ENCODINGS, readBody } from "./read-body.ts";
import { sendRequest } from "./send-request.ts";

interface NetworkOptions extends ConnectOptions {
  /** The allowlist, as `judgeAddress` reads it. Empty: no host is reachable. */
  readonly allow: readonly string[];
  /** Aborts every request of this handle. */
  readonly signal: AbortSignal;
  /** The environment with proxy variables. Default: no proxy. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Called with every requested address, including redirect targets. */
  readonly onRequest?: (requested: RequestedAddress) => void;
}

interface RequestedAddress {
  readonly host: string;
  readonly port: number;
  readonly method: string;
}

/**
 * The network handle of one call. Each connection is used once, certificates are always verified, and no state is kept
 * between requests. A proxy of the environment is used for targets that pass the same checks as without one.
 */
export function createToolNetwork(options: NetworkOptions): ToolNetwork {
  return {
    async request(request) {
      const deadline = AbortSignal.timeout(request.timeout_ms);
      const signal = AbortSignal.any([options.signal, deadline]);
      try {
        return await follow(request, { ...options, signal });
      } catch (error) {
        options.signal.throwIfAborted();
        if (deadline.aborted) throw timedOut(request);
        throw error;
      }
    },
  };
}

async function follow(request: NetworkRequest, options: NetworkOptions): Promise<NetworkResponse> {
  const { url, method, body, max_bytes } = request;
  const redirects: string[] = [];
  let outgoing: PendingRequest = {
    target: judge(url, options.allow),
    method,
    headers: checkHeaders(request.headers),
    body: body === undefined ? undefined : Buffer.from(body, "utf8"),
  };
  for (;;) {
    const answer = await exchange(outgoing, { options, max_bytes });
    if ("response" in answer) return { ...answer.response, redirects };
    redirects.push(outgoing.target.href);
    if (redirects.length > MAX_REDIRECTS) throw tooManyRedirects(url);
    const { location, status } = answer;
    outgoing = followRedirect(outgoing, { status, target: judge(location, options.allow, outgoing.target) });
  }
}

/** The normalized address to connect to. A redirect is checked like a request of the caller. */
function judge(urlText: string, allow: readonly string[], from?: Target): Target {
  const verdict = judgeAddress(urlText, allow);
  if (verdict.effect === "ALLOW") return verdict.target;
  const shown = JSON.stringify(showAddress(urlText));
  const doing =
    from === undefined ? `Cannot request ${shown}` : `Cannot follow the redirect from "${from.host}" to ${shown}`;
  // A bad redirect is the server's fault, not that of the arguments.
  const code = from === undefined ? verdict.code : "NetworkDenied";
  throw new ToolError(
    code,
    `${doing}: ${verdict.reason}`,
    from === undefined ? { field: "url" } : { redirected: true },
  );
}

type Answer =
  | { readonly response: Omit<NetworkResponse, "redirects"> }
  | { readonly status: number; readonly location: string };

interface Exchange {
  readonly options: NetworkOptions;
  readonly max_bytes: number;
}

/** One request on its own connection. */
async function exchange(outgoing: PendingRequest, { options, max_bytes }: Exchange): Promise<Answer> {
  const { target, method } = outgoing;
  options.onRequest?.({ host: target.host, port: target.port, method });
  const proxy = proxyFor(new URL(target.href), options.environment ?? {});
  const socket = await openSocket(target, options, proxy);
  try {
    const message = await send(outgoing, socket, { signal: options.signal, proxy });
    const location = locationOf(message, target);
    const status = message.statusCode ?? 0;
    if (location !== undefined) return { status, location };
    const { body, encoding, truncated } = await readBody(message, max_bytes);
    options.signal.throwIfAborted();
    const status_text = message.statusMessage ?? "";
    const headers = shownHeaders(message.headers);
    return { response: { url: target.href, status, status_text, headers, body, encoding, truncated } };
  } catch (error) {
    options.signal.throwIfAborted();
    throw asNetworkError(error, target);
  } finally {
    socket.destroy();
  }
}

async function openSocket(target: Target, options: ConnectOptions, proxy?: EnvironmentProxy): Promise<Socket> {
  const socket = await (proxy === undefined ? connectChecked(target, options) : throughProxy(target, options, proxy));
  if (target.scheme === "http") return socket;
  try {
    return await secure(socket, target, options);
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/**
 * The name is resolved here first, and refused if it has a private address, as without a proxy. The proxy resolves it
 * again and decides what it reaches, so the user must trust it with that.
 */
async function throughProxy(target: Target, options: ConnectOptions, proxy: EnvironmentProxy): Promise<Socket> {
  await checkAddresses(target, options);
  return await connectByProxy(target, proxy, options.signal);
}

interface SendOptions {
  readonly signal: AbortSignal;
  readonly proxy: EnvironmentProxy | undefined;
}

async function send(
  outgoing: PendingRequest,
  socket: Socket,
  { signal, proxy }: SendOptions,
): Promise<IncomingMessage> {
  const { target, method, headers, body } = outgoing;
  const isPlainlyProxied = proxy !== undefined && target.scheme === "http";
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = sendRequest(socket, target, {
    method,
    headers: {
      "user-agent": "autonous",
      accept: "*/*",
      ...headers,
      "accept-encoding": ACCEPTED_ENCODINGS,
      ...(body === undefined ? {} : { "content-length": body.length }),
      ...(isPlainlyProxied ? proxyHeaders(proxy) : {}),
    },
    absolute: isPlainlyProxied,
    signal,
  });
  request.once("response", resolve);
  // Never removed: errors after the response are reported by its reader.
  request.on("error", reject);
  request.once("upgrade", () => reject(Object.assign(new Error("upgraded"), { code: "HPE_UPGRADE" })));
  request.end(body);
  return await promise;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

function locationOf({ statusCode = 0, headers }: IncomingMessage, from: Target): string | undefined {
  if (!REDIRECTS.has(statusCode) || headers.location === undefined) return undefined;
  // Headers are decoded as one character per byte; browsers read this one as UTF-8.
  const text = Buffer.from(headers.location, "latin1").toString("utf8");
  // An unparsable redirect is checked, and refused, as it is. A relative one must not contain control characters.
  return URL.canParse(text, from.href) && !hasControl(text) ? new URL(text, from.href).href : text;
}

function hasControl(text: string): boolean {
  return /[\u0000-\u001f\u007f-\u009f\\]/.test(text);
}

function timedOut({ url, timeout_ms }: NetworkRequest): ToolError {
  const shown = JSON.stringify(showAddress(url));
  return new ToolError("Timeout", `Cannot request ${shown}: timed out after ${timeout_ms / 1000} s`, {
    timeout_ms,
    hint: "Retry later, request less data, or raise the timeout.",
  });
}

function tooManyRedirects(url: string): ToolError {
  const shown = JSON.stringify(showAddress(url));
  return new ToolError("IOError", `Cannot request ${shown}: more than ${MAX_REDIRECTS} redirects`, {
    hint: "Request the final address directly.",
  });
}

/** A request in progress. */
interface PendingRequest {
  readonly target: Target;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

const MAX_REDIRECTS = 5;

/** Methods without side effects, which may be redirected anywhere. */
const SAFE_METHODS = new Set(["GET", "HEAD"]);

/** The next request after a redirect to a checked address. Throws `NetworkDenied` if it must not be followed. */
function followRedirect(
  { target: from, method, headers, body }: PendingRequest,
  { status, target }: { readonly status: number; readonly target: Target },
): PendingRequest {
  if (from.scheme === "https" && target.scheme === "http") {
    throw refused(from, target, "it redirects from https to http, which is not encrypted");
  }
  const isGet = becomesGet(status, method);
  const next = isGet
    ? { target, method: "GET", headers: withoutBody(headers), body: undefined }
    : { target, method, headers, body };
  if (target.origin === from.origin) return next;
  if (!SAFE_METHODS.has(next.method)) {
    throw refused(from, target, `"${next.method}" and its body are not forwarded to another origin`);
  }
  return { ...next, headers: withoutSecrets(next.headers) };
}

/** As in browsers: 303 becomes a GET, and so do 301 and 302 after a POST. */
function becomesGet(status: number, method: string): boolean {
  if (status === 303) return method !== "HEAD";
  return method === "POST" && (status === 301 || status === 302);
}

function refused(from: Target, to: Target, why: string): ToolError {
  return new ToolError("NetworkDenied", `Cannot follow the redirect from "${from.host}" to "${to.host}": ${why}`, {
    location: to.origin + new URL(to.href).pathname,
    hint: "If that is the intended target, send the request there directly.",
  });
}
