import { request as openRequest } from "node:http";
import type { ClientRequest, OutgoingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import type { Target } from "../../policy/check-address.ts";

/** Maximum size of all response headers. */
export const MAX_HEADER_BYTES = 65_536;

interface RequestOptions {
  readonly method: string;
  readonly headers: OutgoingHttpHeaders;
  readonly signal?: AbortSignal;
  /** Whether it goes to a proxy, which needs the full address. */
  readonly absolute?: boolean;
}

/**
 * Sends a request on an existing connection, and on no other. The `Host` is the one that was checked. The caller closes
 * the request and the connection.
 */
export function sendRequest(socket: Socket, target: Target, outgoing: RequestOptions): ClientRequest {
  const { method, headers, signal, absolute = false } = outgoing;
  const { pathname, search, host } = new URL(target.href);
  // Without an agent, not even `false`: that would be one that opens its own, unchecked connections.
  const request = openRequest({
    method,
    path: absolute ? target.href : pathname + search,
    headers: { ...headers, host, connection: "close" },
    setHost: false,
    createConnection: () => socket,
    maxHeaderSize: MAX_HEADER_BYTES,
    insecureHTTPParser: false,
    ...(signal === undefined ? {} : { signal }),
  });
  request.once("socket", (used) => {
    if (used !== socket) request.destroy(new Error("The request was about to use another connection"));
  });
  return request;
}
