import type { Target } from "../../policy/check-address.ts";
import { ToolError } from "../../protocol/errors.ts";
import { withoutBody, withoutSecrets } from "./headers.ts";

/** A request on its way. */
export interface Outgoing {
  readonly target: Target;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

export const MOST_REDIRECTS = 5;

/** They ask for nothing but an answer, so they may be asked elsewhere. */
const SAFE_METHODS = new Set(["GET", "HEAD"]);

/** The request that follows a redirect to an address that was judged. Throws `NetworkDenied` where none may. */
export function followRedirect(
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
