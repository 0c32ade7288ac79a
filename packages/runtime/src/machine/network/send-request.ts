import { request as openRequest } from "node:http";
import type { ClientRequest, OutgoingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import type { Target } from "../../policy/check-address.ts";

/** Header lines of an answer, together. */
export const MAX_HEADER_BYTES = 65_536;

interface Outgoing {
  readonly method: string;
  readonly headers: OutgoingHttpHeaders;
  readonly signal?: AbortSignal;
  /** To a proxy, which has to know the whole address. */
  readonly absolute?: boolean;
}

/**
 * A request on a connection that is there already, and on no other. The host that was judged is the one that is named.
 * The caller ends the request and the connection.
 */
export function sendRequest(socket: Socket, target: Target, outgoing: Outgoing): ClientRequest {
  const { method, headers, signal, absolute = false } = outgoing;
  const { pathname, search, host } = new URL(target.href);
  // No agent, not even `false`: that would be one which opens connections of its own, unchecked.
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
