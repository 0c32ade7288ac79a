import { beginsWithUser } from "./base64.ts";
import { CODE, isIn, isNewline, isQuote, isSpace, SETS, setOf } from "../text/character-sets.ts";
import type { SecretMatch, Span } from "./find-shape.ts";
import { standsAlone } from "./find-shape.ts";
import { REDACTION_MARKER } from "../../protocol/marker.ts";
import { skipRedacted } from "../assignments/read-value.ts";
import { isPlaceholderOrReference } from "../assignments/placeholders.ts";
import { codeAt, readingsOf, restOfLine, runEnd, skipBlanks } from "../text/text-view.ts";
import type { View } from "../text/text-view.ts";

/** At most this much of a credential is read to decide whether it is one. */
const WINDOW = 256;

/** `Bearer x` anywhere; after "Authorization" the rule for names accepts any value first. */
export function findBearer(view: View, anchor: Span): SecretMatch | undefined {
  const start = credentialStart(view, anchor);
  if (start === undefined) return undefined;
  const end = runEnd(view, start, { of: SETS.token68, window: WINDOW });
  const text = view.text.slice(start, end);
  if (text.length < 8 || /^[a-z]+:\/\//i.test(text) || isPlaceholderOrReference(text)) return undefined;
  // "Bearer authentication" is prose: without digits, only values that cannot be a word.
  const isToken = /\d/.test(text) || text.length >= 24 || /[a-z][A-Z]|[._~+/=]\w/.test(text);
  return isToken ? { start, end, tail: { kind: "run", set: SETS.token68 } } : undefined;
}

const BASE64 = setOf("A-Za-z0-9+/=");

/** `Basic x`, where x is "user:password" in base64, or random enough to be a credential. */
export function findBasic(view: View, anchor: Span): SecretMatch | undefined {
  const start = credentialStart(view, anchor);
  if (start === undefined) return undefined;
  const end = runEnd(view, start, { of: BASE64, window: WINDOW });
  const text = view.text.slice(start, end);
  if (text.length < 8 || text.startsWith("=")) return undefined;
  const isMixed = text.length >= 16 && /\d/.test(text) && /[a-z]/.test(text) && /[A-Z]/.test(text);
  if (!isMixed && !beginsWithUser(text)) return undefined;
  return { start, end, tail: { kind: "run", set: BASE64 } };
}

const AFTER_SCHEME = setOf(" \t%+:");

/** Where the credential after a scheme's name begins: after spaces, or an encoded space in a URL. */
function credentialStart(view: View, { start, end }: Span): number | undefined {
  const code = codeAt(view, end);
  if (!isIn(AFTER_SCHEME, code)) return undefined;
  if (!standsAlone(view, start)) return undefined;
  if (code === CODE.percent) return restOfLine(view, end, 3) === "%20" ? end + 3 : undefined;
  return skipBlanks(view, code === CODE.plus || code === CODE.colon ? end + 1 : end, 8);
}

/** At most this many cookies per header, and this much of each, are examined. */
const MAX_COOKIES = 60;
const COOKIE_WINDOW = 1024;
const COOKIE_NAME = setOf("A-Za-z0-9_.$!#%*+^~-");
const COOKIE_VALUE = setOf("!#-&(-+--:<-[]-~");
const SESSION = /sess|sid|token|auth|jwt|csrf|xsrf|remember|login|secret|passw|_id$|^id$|key|user|identity|account/i;

/** `Cookie: a=b; c=d` and `Set-Cookie: a=b; Path=/`: the values that identify a session. */
export function findCookies(view: View, { end }: Span): SecretMatch | undefined {
  let at = cookiesStart(view, end);
  const spans: Span[] = [];
  let redacted: SecretMatch | undefined;
  for (let count = 0; at !== undefined && count < MAX_COOKIES; count++) {
    const equals = runEnd(view, at, { of: COOKIE_NAME, window: 64 });
    if (equals === at || codeAt(view, equals) !== CODE.equals) break;
    if (view.text.slice(at, equals).includes(REDACTION_MARKER)) break;
    const start = codeAt(view, equals + 1) === CODE.doubleQuote ? equals + 2 : equals + 1;
    const stop = runEnd(view, start, { of: COOKIE_VALUE, window: COOKIE_WINDOW });
    redacted = skipRedacted(view, start) ?? redacted;
    const name = view.text.slice(at, equals);
    if (readingsOf(view, start, stop).some((value) => isSessionCookie(name, value))) spans.push({ start, end: stop });
    if (stop - start === COOKIE_WINDOW) break;
    const next = codeAt(view, stop) === CODE.doubleQuote && start > equals + 1 ? stop + 1 : stop;
    at = codeAt(view, next) === CODE.semicolon ? skipBlanks(view, next + 1, 4) : undefined;
  }
  const last = spans.pop();
  if (last === undefined) return redacted;
  return { ...last, tail: { kind: "run", set: COOKIE_VALUE }, before: spans };
}

function isSessionCookie(name: string, value: string): boolean {
  if (/^(?:path|domain|expires|max-age|samesite|priority)$/i.test(name) || isPlaceholderOrReference(value))
    return false;
  return value.length >= 16 || (value.length >= 4 && SESSION.test(name));
}

/** Skips the colon after "Cookie", and the quotes and brackets of JSON, or the space after `--cookie`. */
function cookiesStart(view: View, end: number): number | undefined {
  let at = end;
  while (at - end < 16 && (codeAt(view, at) === CODE.backslash || isQuote(codeAt(view, at)))) at++;
  const sign = skipBlanks(view, at, 4);
  const code = codeAt(view, sign);
  if (code !== CODE.colon && code !== CODE.equals && !(sign > at && isQuote(code))) return undefined;
  at = sign + 1;
  const limit = at + 24;
  while (at < limit && isOpening(codeAt(view, at))) at++;
  return at;
}

function isOpening(code: number): boolean {
  return (isSpace(code) && !isNewline(code)) || isQuote(code) || code === CODE.backslash || code === CODE.openBracket;
}
