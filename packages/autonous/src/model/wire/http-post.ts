import { Agent, request as requestPlainly } from "node:http";
import type { IncomingMessage, RequestOptions } from "node:http";
import type { EnvironmentProxy } from "@autonous/runtime/internal";
import { AttemptFailed } from "../failures/model-failure.ts";

export interface Post {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
  /** The proxy; undefined: direct connection. */
  readonly proxy?: EnvironmentProxy;
}

/**
 * Sends a request and returns the answer as soon as its headers arrive. Node's `fetch` would do the same, but takes
 * longer to load than everything else needed for the first request.
 */
export async function post(url: URL, { headers, body, signal, proxy }: Post): Promise<IncomingMessage> {
  const bytes = Buffer.from(body);
  const options = { method: "POST", headers: { ...headers, "content-length": bytes.length } };
  const through = async (isFresh: boolean): Promise<RequestOptions> =>
    proxy === undefined ? (isFresh ? { agent: false } : {}) : { agent: await agentFor(url, proxy, isFresh) };
  try {
    return await send(url, { ...options, ...(await through(false)) }, { bytes, signal });
  } catch (error) {
    signal.throwIfAborted();
    // The server closed a kept-alive connection just before it was reused: not a failure of the server.
    if (!(error instanceof StaleConnection)) throw proxy === undefined ? error : withProxy(error, url, proxy);
    return await send(url, { ...options, ...(await through(true)) }, { bytes, signal });
  }
}

const agents = new Map<string, Agent>();

/** Connections through a proxy are pooled separately from direct ones. The caller has chosen the proxy. */
async function agentFor({ protocol }: URL, { url }: EnvironmentProxy, isFresh: boolean): Promise<Agent> {
  const key = `${protocol} ${url.href}`;
  const known = agents.get(key);
  if (known !== undefined && !isFresh) return known;
  const Made = protocol === "https:" ? (await import("node:https")).Agent : Agent;
  const made = new Made({ keepAlive: !isFresh, proxyEnv: { HTTP_PROXY: url.href, HTTPS_PROXY: url.href } });
  if (!isFresh) agents.set(key, made);
  return made;
}

/**
 * Says which part failed: the connection to the proxy, or from the proxy to the server. Never includes the proxy's
 * password.
 */
function withProxy(error: unknown, { host }: URL, { shown, variable }: EnvironmentProxy): AttemptFailed {
  const { code = "", message = "" } = error as { readonly code?: string; readonly message?: string };
  const [, answer] = /: (HTTP\/\d\.\d [^\r\n]{1,200})$/.exec(message) ?? [];
  const named = `the proxy ${shown} (${variable})`;
  if (answer !== undefined) {
    const said = `${named} does not connect to ${host}: ${answer.replace(/^HTTP\/\S+ /, "")}`;
    return new AttemptFailed({ reason: "proxy", message: said, max_attempts: 1 });
  }
  return new AttemptFailed({ reason: "proxy", message: `the connection to ${host} through ${named} failed (${code})` });
}

class StaleConnection extends Error {}

interface SentRequest {
  readonly bytes: Buffer;
  readonly signal: AbortSignal;
}

async function send(url: URL, options: RequestOptions, { bytes, signal }: SentRequest): Promise<IncomingMessage> {
  const request = url.protocol === "https:" ? (await import("node:https")).request : requestPlainly;
  signal.throwIfAborted();
  return await new Promise((done, fail) => {
    const sent = request(url, options, done);
    // Not with the option `signal`: it raises an error on the connection, which has no listener once the answer is
    // complete.
    const stop = (): void => void sent.destroy();
    signal.addEventListener("abort", stop, { once: true });
    sent.on("close", () => signal.removeEventListener("abort", stop));
    sent.on("error", (error: NodeJS.ErrnoException) => {
      const isStale = sent.reusedSocket && (error.code === "ECONNRESET" || error.code === "EPIPE");
      fail(isStale ? new StaleConnection("The connection was closed", { cause: error }) : error);
    });
    sent.end(bytes);
  });
}
