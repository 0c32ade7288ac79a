import type { Found, Span } from "./find-shape.ts";
import { isPlace, isStandIn } from "./stand-ins.ts";
import { beforeMarker, leftOf, restOfLine } from "./view.ts";
import type { View } from "./view.ts";

// oxfmt-ignore
/** The second field of a line of .pgpass, as it mostly is: any port, or one of PostgreSQL and what stands before it. */
export const PGPASS_PORTS: readonly string[] = [
  ":*:", ":5432:", ":5433:", ":5434:", ":5435:", ":5436:", ":5439:", ":6432:", ":6543:", ":15432:", ":25060:", ":26257:", ":54320:", ":54322:", ":55432:",
];

const HOST_REACH = 210;
const HOST = /(?:^|[\s"'`:>|+=,([{]|\\[nrt])([\w.-]{1,200}|\*|\[[\da-fA-F:.%]{2,60}\]|\/[\w./-]{1,200})$/;
/** Only a colon and a backslash are escaped; `\n` is the end of the line, written out. */
const REST =
  /^((?:[^:\s\\]|\\[:\\]){1,64}):((?:[^:\s\\]|\\[:\\]){1,64}):((?:[^:\s"'`\\]|\\[:\\]){1,200})(?=["'`\s]|\\+[nrt"']|$)/;

/** `host:port:database:user:password`: the password. `anchor` is the port with its colons. */
export function findPgpass(view: View, { start, end }: Span): Found | undefined {
  const left = leftOf(view, start, HOST_REACH);
  const host = HOST.exec(left);
  // The "*" that stands for a redaction is not a host.
  const isRedacted = view.floor >= 0 && start - HOST_REACH < view.floor && host?.index === 0;
  if (host === null || isRedacted) return undefined;
  const line = restOfLine(view, end, 340);
  const match = REST.exec(beforeMarker(line));
  if (match === null) return undefined;
  const [whole, database = "", user = "", password = ""] = match;
  const isAnyPort = view.text.charCodeAt(start + 1) === STAR;
  const before = left.slice(0, host.index + 1);
  const fields: Fields = { before, host: host[1] ?? "", database, user, password, after: line.slice(whole.length) };
  if (isStandIn(password) || (!isAnyPort && isSomethingElse(fields))) return undefined;
  const to = end + whole.length;
  return { start: to - password.length, end: to, isBeside: true };
}

const STAR = 42;

interface Fields {
  /** Of the line, and of those before it. */
  readonly before: string;
  readonly host: string;
  readonly database: string;
  readonly user: string;
  readonly password: string;
  readonly after: string;
}

/** Behind a password its line, its string or its command ends. */
const ENDS = /^(?:[ \t]*(?:\\*["'`]|\\+[nr]|[\r\n]|$)|[ \t]+[>|;&])/;

/** Numbers of lines, and signs of diffs and quotations. */
const LINE_PREFIX = /^[ \t]{0,8}(?:\d{1,7}(?:\t|[:|→] ?| {1,4}))?[ \t>|#+*-]{0,40}/;
/** One word of several on a line, where nothing is written to a file. */
const AMONG_WORDS = /\S[ \t]+$/;
const WRITES = /\b(?:echo|printf|cat|tee)\b|pgpass/i;

/** The line 5432 of a file that a search found, times, ports and addresses: `app.log:5432:INFO:root:started`. */
function isSomethingElse({ before, host, database, user, password, after }: Fields): boolean {
  if (password.length < 4 || !ENDS.test(after) || /^\d+$/.test(database) || /^\d+$/.test(user)) return true;
  const line = (/[^\n\r]*$/.exec(before)?.[0] ?? "").replace(LINE_PREFIX, "");
  if (AMONG_WORDS.test(line) && !WRITES.test(line + after)) return true;
  return isPlace(host) && !host.startsWith("/") && /^[A-Z]+$/.test(database);
}
