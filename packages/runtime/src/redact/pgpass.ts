import type { Found, Span } from "./find-shape.ts";
import { isStandIn } from "./stand-ins.ts";
import { beforeMarker, leftOf, restOfLine } from "./view.ts";
import type { View } from "./view.ts";

/** The second field of a line of .pgpass, as it mostly is: any port, or one of PostgreSQL and what stands before it. */
export const PGPASS_PORTS: readonly string[] = [":*:", ":5432:", ":5433:", ":5434:", ":6432:", ":6543:", ":26257:"];

const HOST_REACH = 210;
const HOST = /(?:^|[\n\r\s"'`:>|])(?:[\w.-]{1,200}|\*|\/[\w./-]{1,200})$/;
const REST = /^((?:[^:\s\\]|\\.){1,64}:(?:[^:\s\\]|\\.){1,64}:)((?:[^:\s"'`\\]|\\.){1,200})(?=["'`\s]|$)/;

/** `host:port:database:user:password`: the password. `anchor` is the port with its colons. */
export function findPgpass(view: View, { start, end }: Span): Found | undefined {
  const left = leftOf(view, start, HOST_REACH);
  // The "*" that stands for a redaction is not a host.
  const isRedacted = view.floor >= 0 && start - HOST_REACH < view.floor && (HOST.exec(left)?.index ?? 0) === 0;
  if (isRedacted || !HOST.test(left)) return undefined;
  const match = REST.exec(beforeMarker(restOfLine(view, end, 340)));
  const password = match?.[2] ?? "";
  if (match === null || isStandIn(password)) return undefined;
  const from = end + (match[1] ?? "").length;
  return { start: from, end: from + password.length, isBeside: true };
}
