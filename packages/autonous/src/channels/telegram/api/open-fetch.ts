import { Agent, request } from "node:https";
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { ToolError } from "@autonous/runtime";
import { proxyFor } from "@autonous/runtime/internal";
import type { EnvironmentProxy } from "@autonous/runtime/internal";

export interface FetchOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal: AbortSignal;
}

/** Why a proxy could not be used. Telegram's failures show the code, so it says all, and never the proxy's password. */
class ProxyError extends Error {
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/**
 * A request to Telegram, by the proxy that the environment names. The token is part of the address, so the way is never
 * led elsewhere, and a proxy gets it only inside a tunnel: requests to an http:// address go out directly.
 */
export async function openFetch(url: string, options: FetchOptions): Promise<Response> {
  const proxy = proxyOf(new URL(url));
  if (proxy === undefined) return await fetch(url, { ...(options as RequestInit), redirect: "error" });
  try {
    return await tunnelled(url, options, proxy);
  } catch (error) {
    options.signal.throwIfAborted();
    throw new ProxyError(whyOf(error, proxy));
  }
}

function proxyOf(url: URL): EnvironmentProxy | undefined {
  try {
    return url.protocol === "https:" ? proxyFor(url, process.env) : undefined;
  } catch (error) {
    if (error instanceof ToolError) throw new ProxyError(error.message);
    throw error;
  }
}

const agents = new Map<string, Agent>();

function agentFor({ url }: EnvironmentProxy): Agent {
  const known = agents.get(url.href);
  if (known !== undefined) return known;
  const made = new Agent({ keepAlive: true, proxyEnv: { HTTPS_PROXY: url.href } });
  agents.set(url.href, made);
  return made;
}

/** Statuses whose answers have no body, which `Response` insists on. */
const EMPTY: ReadonlySet<number> = new Set([204, 205, 304]);

async function tunnelled(
  url: string,
  { method = "GET", headers = {}, body, signal }: FetchOptions,
  proxy: EnvironmentProxy,
): Promise<Response> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const sent = request(url, { method, headers, agent: agentFor(proxy), signal }, resolve);
  sent.on("error", reject);
  if (body instanceof Readable) body.on("error", (error) => sent.destroy(error)).pipe(sent);
  else sent.end(body as string | undefined);
  const message = await promise;
  const status = message.statusCode ?? 0;
  if (EMPTY.has(status)) message.resume();
  const content = EMPTY.has(status) ? null : (Readable.toWeb(message) as ReadableStream<Uint8Array>);
  return new Response(content, { status, statusText: message.statusMessage ?? "" });
}

function whyOf(error: unknown, { shown, variable }: EnvironmentProxy): string {
  const { code = "no answer", message = "" } = error as { readonly code?: string; readonly message?: string };
  const [, refusal] = /: HTTP\/\d\.\d ([^\r\n]{1,200})$/.exec(message) ?? [];
  return `${refusal ?? code}, via the proxy ${shown} from ${variable}`;
}
