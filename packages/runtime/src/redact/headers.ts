import { isUserAndPassword } from "./base64.ts";
import { CODE, isIn, isNewline, isQuote, isSpace, SETS, setOf } from "./characters.ts";
import type { Found, Span } from "./find-shape.ts";
import { standsAlone } from "./find-shape.ts";
import { isStandIn } from "./values.ts";
import { codeAt, restOfLine, skipBlanks } from "./view.ts";
import type { View } from "./view.ts";

/** How much of a credential is read to decide whether it is one. */
const WINDOW = 256;

/** `Bearer x`, wherever it stands; after "Authorization" whatever follows is taken before this is asked. */
export function findBearer(view: View, anchor: Span): Found | undefined {
  const start = credentialStart(view, anchor);
  if (start === undefined) return undefined;
  const end = runEnd(view, start, SETS.token68);
  const text = view.text.slice(start, end);
  if (text.length < 8 || text.includes("://") || isStandIn(text)) return undefined;
  // "Bearer authentication" is prose: without digits only what no word looks like.
  const isToken = /\d/.test(text) || text.length >= 24 || /[a-z][A-Z]|[._~+/=]\w/.test(text);
  return isToken ? { start, end, tail: { kind: "run", set: SETS.token68 } } : undefined;
}

const BASE64 = setOf("A-Za-z0-9+/=");

/** `Basic x`, where x is "user:password" in base64, or looks random enough to be something of the kind. */
export function findBasic(view: View, anchor: Span): Found | undefined {
  const start = credentialStart(view, anchor);
  if (start === undefined) return undefined;
  const end = runEnd(view, start, BASE64);
  const text = view.text.slice(start, end);
  if (text.length < 8 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  const isMixed = text.length >= 16 && /\d/.test(text) && /[a-z]/.test(text) && /[A-Z]/.test(text);
  if (!isMixed && !isUserAndPassword(text)) return undefined;
  return { start, end, tail: { kind: "run", set: BASE64 } };
}

/** Where the credential after a scheme's name begins: after blanks, or what stands for one in an address. */
function credentialStart(view: View, { start, end }: Span): number | undefined {
  const code = codeAt(view, end);
  if (code !== CODE.space && code !== CODE.tab && code !== CODE.percent && code !== CODE.plus && code !== CODE.colon) return undefined;
  if (!standsAlone(view, start)) return undefined;
  if (code === CODE.percent) return restOfLine(view, end, 3) === "%20" ? end + 3 : undefined;
  return skipBlanks(view, code === CODE.plus || code === CODE.colon ? end + 1 : end, 8);
}

function runEnd(view: View, at: number, set: Uint8Array): number {
  let end = at;
  while (end < at + WINDOW && isIn(set, codeAt(view, end))) end++;
  return end;
}

/** Servers refuse more than 8 KiB of headers; so much of one cookie header is looked at. */
const COOKIES_WINDOW = 4096;
const COOKIE = /\s{0,4}([\w.$!#%*+^~-]{1,64})=("?)([^\s;,"'\\]{0,4096})/y;
const COOKIE_VALUE = setOf("!#-&(-+--:<-[]-~");
const SESSION = /sess|sid|token|auth|jwt|csrf|xsrf|remember|login|secret|passw|_id$|^id$|key|user|identity|account/i;

/** `Cookie: a=b; c=d` and `Set-Cookie: a=b; Path=/`: the values that stand for a session. */
export function findCookies(view: View, { end }: Span): Found | undefined {
  const at = cookiesStart(view, end);
  if (at === undefined) return undefined;
  const line = restOfLine(view, at, COOKIES_WINDOW);
  const spans: Span[] = [];
  for (let from = 0; from < line.length; ) {
    COOKIE.lastIndex = from;
    const pair = COOKIE.exec(line);
    if (pair === null) break;
    const value = pair[3] ?? "";
    if (isSessionCookie(pair[1] ?? "", value)) {
      spans.push({ start: at + COOKIE.lastIndex - value.length, end: at + COOKIE.lastIndex });
    }
    from = line.indexOf(";", COOKIE.lastIndex) + 1;
    if (from === 0) break;
  }
  const last = spans.pop();
  if (last === undefined) return undefined;
  return { ...last, tail: { kind: "run", set: COOKIE_VALUE }, before: spans };
}

function isSessionCookie(name: string, value: string): boolean {
  if (/^(?:path|domain|expires|max-age|samesite|priority)$/i.test(name) || isStandIn(value)) return false;
  return value.length >= 16 || (value.length >= 4 && SESSION.test(name));
}

/** Past the colon after "Cookie", and the quotes and brackets of JSON; or past the blank after `--cookie`. */
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
