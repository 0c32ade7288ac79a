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
  /** The allowlist, as `judgeAddress` reads it. Empty: nothing is reached. */
  readonly allow: readonly string[];
  /** Ends every request of this handle. */
  readonly signal: AbortSignal;
  /** Where proxies are named. Left out: none is used. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Called with every requested address, including redirect targets. */
  readonly onRequest?: (asked: AskedAddress) => void;
}

interface AskedAddress {
  readonly host: string;
  readonly port: number;
  readonly method: string;
}

/**
 * The network for one call. Connections are used once, certificates are always checked, nothing is kept between two
 * requests. A proxy of the environment is used for targets that were judged as without one.
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
  let outgoing: Outgoing = {
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

/** The address in the form that is connected to. A redirect is judged as if it had been asked for. */
function judge(urlText: string, allow: readonly string[], from?: Target): Target {
  const verdict = judgeAddress(urlText, allow);
  if (verdict.effect === "ALLOW") return verdict.target;
  const shown = JSON.stringify(showAddress(urlText));
  const doing =
    from === undefined ? `Cannot request ${shown}` : `Cannot follow the redirect from "${from.host}" to ${shown}`;
  // A bad redirect is the fault of the server, not of the arguments.
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

/** One request on a connection of its own. */
async function exchange(outgoing: Outgoing, { options, max_bytes }: Exchange): Promise<Answer> {
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
 * The name is resolved here first, and refused where it leads to a private address, as without a proxy. The proxy resolves
 * it once more: what it reaches is up to it, so it has to be one that the user trusts with that.
 */
async function throughProxy(target: Target, options: ConnectOptions, proxy: EnvironmentProxy): Promise<Socket> {
  await checkAddresses(target, options);
  return await connectByProxy(target, proxy, options.signal);
}

interface Sending {
  readonly signal: AbortSignal;
  readonly proxy: EnvironmentProxy | undefined;
}

async function send(outgoing: Outgoing, socket: Socket, { signal, proxy }: Sending): Promise<IncomingMessage> {
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
  // Headers come one character a byte; browsers read this one as UTF-8.
  const text = Buffer.from(headers.location, "latin1").toString("utf8");
  // What cannot be put together is judged, and refused, as it stands. A relative one takes no control characters along.
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

/** A request on its way. */
interface Outgoing {
  readonly target: Target;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

const MAX_REDIRECTS = 5;

/** They ask for nothing but an answer, so they may be asked elsewhere. */
const SAFE_METHODS = new Set(["GET", "HEAD"]);

/** The request that follows a redirect to an address that was judged. Throws `NetworkDenied` where none may. */
function followRedirect(
  { target: from, method, headers, body }: Outgoing,
  { status, target }: { readonly status: number; readonly target: Target },
): Outgoing {
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

/** As browsers do it: 303 asks for a GET, and after a POST so do 301 and 302. */
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
