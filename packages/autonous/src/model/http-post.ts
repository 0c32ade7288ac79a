import { request as requestPlainly } from "node:http";
import type { IncomingMessage, RequestOptions } from "node:http";

export interface Post {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}

/**
 * Sends a request and gives the answer as soon as its head is there. Node's own `fetch` would do the same, but takes
 * longer to load than everything else that is needed for the first request.
 */
export async function post(url: URL, { headers, body, signal }: Post): Promise<IncomingMessage> {
  const bytes = Buffer.from(body);
  const options = { method: "POST", headers: { ...headers, "content-length": bytes.length } };
  try {
    return await send(url, options, { bytes, signal });
  } catch (error) {
    signal.throwIfAborted();
    // The server had closed a connection that was kept, just when it was used again: that says nothing about it.
    if (!(error instanceof StaleConnection)) throw error;
    return await send(url, { ...options, agent: false }, { bytes, signal });
  }
}

class StaleConnection extends Error {}

interface Sent {
  readonly bytes: Buffer;
  readonly signal: AbortSignal;
}

async function send(url: URL, options: RequestOptions, { bytes, signal }: Sent): Promise<IncomingMessage> {
  const request = url.protocol === "https:" ? (await import("node:https")).request : requestPlainly;
  signal.throwIfAborted();
  return await new Promise((done, fail) => {
    const sent = request(url, options, done);
    // Not by the option `signal`: that gives the connection an error, which nobody hears once the answer is all there.
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
