import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { pipeline } from "node:stream/promises";
import type { Target } from "../../policy/check-address.ts";
import { asNetworkError } from "./network-error.ts";
import { sendRequest } from "./send-request.ts";
import type { Duplex } from "node:stream";

interface ForwardRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: Target;
  readonly upstream: Socket;
}

/** Hop-by-hop headers: they describe one connection and are not forwarded. */
const HOP_BY_HOP = new Set("connection keep-alive te trailer transfer-encoding upgrade host http2-settings".split(" "));

/**
 * Forwards a plain request and its response. Stores neither. Throws `IOError` if it fails before the response begins.
 */
export async function forward(
  { request, response, target, upstream }: ForwardRequest,
  idleMs: number,
): Promise<TransferCounts> {
  upstream.setTimeout(idleMs, () => upstream.destroy());
  upstream.on("error", () => {}); // reported by the request
  const outgoing = sendRequest(upstream, target, {
    method: request.method ?? "GET",
    headers: { ...endToEnd(request.headers), ...framing(request.headers) },
  });
  const onGone = (): void => void upstream.destroy();
  response.once("close", onGone);
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  outgoing.once("response", resolve).on("error", reject);
  outgoing.once("upgrade", () => reject(new Error("the server requested a protocol upgrade")));
  request.on("error", () => outgoing.destroy());
  request.pipe(outgoing);
  try {
    const message = await promise;
    response.writeHead(message.statusCode ?? 502, endToEnd(message.headers));
    await pipeline(message, response);
  } catch (error) {
    // Half a response cannot be repaired: cut the connection, so that the client does not treat it as complete.
    if (response.headersSent) response.destroy();
    else throw asNetworkError(error, target);
  } finally {
    response.off("close", onGone);
    upstream.destroy();
  }
  return { bytes_sent: upstream.bytesWritten, bytes_received: upstream.bytesRead };
}

function endToEnd(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = new Set((headers.connection ?? "").toLowerCase().split(/\s*,\s*/));
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name) && !named.has(name) && !name.startsWith("proxy-")),
  );
}

/** A body is forwarded as it came: in chunks, or with its length in the headers. */
function framing(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return headers["transfer-encoding"] === undefined ? {} : { "transfer-encoding": "chunked" };
}

export interface TransferCounts {
  readonly bytes_sent: number;
  readonly bytes_received: number;
}

interface Ends {
  readonly client: Duplex;
  readonly upstream: Socket;
  /** Bytes that the client sent after its request. */
  readonly head: Buffer;
}

/** Forwards bytes in both directions until both ends are done, or one is gone. Never throws; closes both ends. */
export async function tunnel({ client, upstream, head }: Ends, idleMs: number): Promise<TransferCounts> {
  upstream.setTimeout(idleMs, () => upstream.destroy());
  client.write("HTTP/1.1 200 Connection Established\r\n\r\n");
  if (head.length > 0) upstream.write(head);
  client.pipe(upstream);
  upstream.pipe(client);
  const { promise, resolve } = Promise.withResolvers<void>();
  let open = 2;
  for (const [end, other] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    end.on("error", () => end.destroy());
    end.once("close", () => {
      // Flush what is still buffered for the other end, unless this one was cut off; then close it: its peer is gone.
      if (end.readableEnded) other.end(() => other.destroy());
      else other.destroy();
      if (--open === 0) resolve();
    });
  }
  if (client.destroyed) upstream.destroy();
  await promise;
  return { bytes_sent: upstream.bytesWritten, bytes_received: upstream.bytesRead };
}
