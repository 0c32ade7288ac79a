import { isIn, isQuote, isSpace, setOf } from "../text/character-sets.ts";
import type { SecretMatch, Span } from "./find-shape.ts";
import { skipRedacted } from "../assignments/read-value.ts";
import { isPlaceholderOrReference, unmarked, isPlace } from "../assignments/placeholders.ts";
import { codeAt, follows, pastValue, readingsOf, restOfLine, beforeMarker, leftOf } from "../text/text-view.ts";
import type { View } from "../text/text-view.ts";

/** Names, passwords and hosts are shorter than this. */
const AUTHORITY_WINDOW = 1024;
/** How far away the "@" may be if the password contains a "/", "?" or "#" that should have been encoded. */
const ODD_PASSWORD_WINDOW = 256;

const PATH_STARTS = setOf("/?#");
const AUTHORITY_ENDS = setOf("/?#<>");

/** `scheme://user:password@host`: the password. `anchor` is the "://". */
export function findUrlPassword(view: View, { end: start }: Span): SecretMatch | undefined {
  const end = authorityEnd(view, start);
  const authority = view.text.slice(start, end);
  const at = authority.lastIndexOf("@");
  // A key continues after the password, across spaces.
  if (authority.endsWith("-----BEGIN") && authority.includes(":")) {
    return passwordIn(view, start + authority.indexOf(":") + 1, end);
  }
  if (at < 0) return findOddPassword(view, start, authority);
  const colon = authority.indexOf(":");
  if (colon >= 0 && colon < at) return passwordIn(view, start + colon + 1, start + at);
  // A token as the user, as in `https://TOKEN@host`.
  const user = unmarked(authority.slice(0, at)) ?? "";
  const isToken = user.length >= 20 && /\d/.test(user) && /^[\w-]+$/.test(user);
  return isToken ? { start, end: start + at } : undefined;
}

function authorityEnd(view: View, start: number): number {
  let end = start;
  while (end < start + AUTHORITY_WINDOW) {
    const code = codeAt(view, end);
    if (code < 0) break;
    // A known value may contain any characters.
    const next = isSpace(code) || isQuote(code) || isIn(AUTHORITY_ENDS, code) ? pastValue(view, end) : end + 1;
    if (next === end) break;
    end = next;
  }
  return end;
}

function findOddPassword(view: View, start: number, authority: string): SecretMatch | undefined {
  const colon = authority.indexOf(":");
  const next = codeAt(view, start + authority.length);
  if (colon < 0 || authority.startsWith("[") || !isIn(PATH_STARTS, next)) return undefined;
  if (/^\d{0,5}$/.test(authority.slice(colon + 1))) return undefined;
  const from = start + colon + 1;
  const end = start + authority.length;
  const rest = /^[^\s"'`<>@]{1,255}?(?:(?=@)|-----BEGIN(?= ))/.exec(restOfLine(view, end, ODD_PASSWORD_WINDOW));
  // Another URL has its own password.
  if (rest === null || view.text.slice(from, end + rest[0].length).includes("://")) return undefined;
  return passwordIn(view, from, end + rest[0].length);
}

/** The password of an Oracle URL, `jdbc:oracle:thin:bob/<password>@db`. `anchor` is the kind of driver. */
export function findOraclePassword(view: View, { end }: Span): SecretMatch | undefined {
  const match = /^[\w$#.-]{1,64}\/([^\s"'`@]{1,128})(?=@)/.exec(restOfLine(view, end, 260));
  const password = match?.[1] ?? "";
  const stop = end + (match?.[0].length ?? 0);
  return match === null ? undefined : passwordIn(view, stop - password.length, stop);
}

function passwordIn(view: View, start: number, end: number): SecretMatch | undefined {
  const redacted = skipRedacted(view, start);
  if (redacted !== undefined) return redacted;
  const text = readingsOf(view, start, end).at(-1) ?? "";
  // `docker://image:tag@sha256:…` names an image.
  if (text === "" || isReferenceToPassword(text) || follows(view, end, "@sha256:")) return undefined;
  return { start, end };
}

function isReferenceToPassword(text: string): boolean {
  return isPlaceholderOrReference(text) || /^\$|^%[A-Z_]+%$|^[:*]+$/.test(text);
}

// oxfmt-ignore
/** The second field of a line of .pgpass in its usual forms: any port, or a PostgreSQL port with its prefix. */
export const PGPASS_PORTS: readonly string[] = [
  ":*:", ":5432:", ":5433:", ":5434:", ":5435:", ":5436:", ":5439:", ":6432:", ":6543:", ":15432:", ":25060:", ":26257:", ":54320:", ":54322:", ":55432:",
];

const HOST_REACH = 210;
const HOST = /(?:^|[\s"'`:>|+=,([{]|\\[nrt])([\w.-]{1,200}|\*|\[[\da-fA-F:.%]{2,60}\]|\/[\w./-]{1,200})$/;
/** Only a colon and a backslash are escaped; `\n` is a written-out line end. */
const REST =
  /^((?:[^:\s\\]|\\[:\\]){1,64}):((?:[^:\s\\]|\\[:\\]){1,64}):((?:[^:\s"'`\\]|\\[:\\]){1,200})(?=["'`\s]|\\+[nrt"']|$)/;

/** `host:port:database:user:password`: the password. `anchor` is the port with its colons. */
export function findPgpass(view: View, { start, end }: Span): SecretMatch | undefined {
  const left = leftOf(view, start, HOST_REACH);
  const host = HOST.exec(left);
  // The "*" of a redaction is not a host.
  const isRedacted = view.floor >= 0 && start - HOST_REACH < view.floor && host?.index === 0;
  if (host === null || isRedacted) return undefined;
  const line = restOfLine(view, end, 340);
  const match = REST.exec(beforeMarker(line));
  if (match === null) return undefined;
  const [whole, database = "", user = "", password = ""] = match;
  const isAnyPort = view.text.charCodeAt(start + 1) === STAR;
  const before = left.slice(0, host.index + 1);
  const fields: Fields = { before, host: host[1] ?? "", database, user, password, after: line.slice(whole.length) };
  if (isPlaceholderOrReference(password) || (!isAnyPort && isSomethingElse(fields))) return undefined;
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

/** A password ends its line, its string or its command. */
const ENDS = /^(?:[ \t]*(?:\\*["'`]|\\+[nr]|[\r\n]|$)|[ \t]+[>|;&])/;

/** Line numbers, and signs of diffs and quotations. */
const LINE_PREFIX = /^[ \t]{0,8}(?:\d{1,7}(?:\t|[:|→] ?| {1,4}))?[ \t>|#+*-]{0,40}/;
/** One word of several on a line, if nothing is written to a file. */
const AMONG_WORDS = /\S[ \t]+$/;
const WRITES = /\b(?:echo|printf|cat|tee)\b|pgpass/i;

/** Line 5432 of a file in a search result, times, ports and addresses: `app.log:5432:INFO:root:started`. */
function isSomethingElse({ before, host, database, user, password, after }: Fields): boolean {
  if (password.length < 4 || !ENDS.test(after) || /^\d+$/.test(database) || /^\d+$/.test(user)) return true;
  const line = (/[^\n\r]*$/.exec(before)?.[0] ?? "").replace(LINE_PREFIX, "");
  if (AMONG_WORDS.test(line) && !WRITES.test(line + after)) return true;
  return isPlace(host) && !host.startsWith("/") && /^[A-Z]+$/.test(database);
}
