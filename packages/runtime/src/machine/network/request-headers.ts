import type { IncomingHttpHeaders } from "node:http";
import { ToolError } from "../../protocol/errors.ts";

type Headers = Readonly<Record<string, string>>;

/** Set by the runtime only: they frame the message, or are for the next hop instead of the server. */
const OWN = new Set(
  "host connection content-length transfer-encoding te trailer upgrade keep-alive expect accept-encoding".split(" "),
);

/** Also sent to another origin. All other headers may contain secrets that were meant for the first one. */
const CARRIED = new Set("accept accept-language cache-control user-agent range".split(" "));

const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]{1,100}$/;
const VALUE = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;
const MAX_BYTES = 16_384;

/** The headers to send, by lower-case names. Throws `InvalidArguments`. */
export function checkHeaders(given: Headers): Headers {
  const checked: Record<string, string> = {};
  let bytes = 0;
  for (const [given_name, value] of Object.entries(given)) {
    const name = given_name.toLowerCase();
    const problem = problemOf(name, value) ?? (Object.hasOwn(checked, name) ? "it is set twice" : undefined);
    if (problem !== undefined) throw badHeader(given_name, problem);
    bytes += name.length + value.length;
    checked[name] = value;
  }
  if (bytes > MAX_BYTES) throw badHeader("*", `together they exceed ${MAX_BYTES} characters`);
  return checked;
}

function problemOf(name: string, value: string): string | undefined {
  if (!NAME.test(name)) return "invalid header name";
  if (OWN.has(name) || name.startsWith("proxy-")) return "only the runtime sets it";
  return VALUE.test(value) ? undefined : "its value contains invalid characters";
}

function badHeader(name: string, problem: string): ToolError {
  const shown = JSON.stringify(name.slice(0, 100));
  return new ToolError("InvalidArguments", `Cannot send the header ${shown}: ${problem}`, { field: "headers" });
}

/** The headers that are sent along with a redirect to another origin. */
export function withoutSecrets(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => CARRIED.has(name)));
}

/** The headers without those of a body that is not sent again. */
export function withoutBody(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith("content-")));
}

/** The response headers that the caller may see: cookies give access to a session, so they are only counted. */
export function shownHeaders(headers: IncomingHttpHeaders): Headers {
  const shown: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || HIDDEN.has(name)) continue;
    shown[name] = typeof value === "string" ? value : value.join(", ");
  }
  const cookies = headers["set-cookie"]?.length ?? 0;
  if (cookies > 0) shown["set-cookie"] = `(${cookies} cookie${cookies === 1 ? "" : "s"}, not shown)`;
  return shown;
}

const HIDDEN = new Set(
  "set-cookie set-cookie2 authentication-info proxy-authentication-info proxy-authenticate".split(" "),
);
