import { findAssignment } from "./assignments.ts";
import { compileAutomaton } from "./automaton.ts";
import { findAwsKey, findEncodedKey, findJwt, findShape, findSplitShape } from "./find-shape.ts";
import type { Found, Span } from "./find-shape.ts";
import { findBasic, findBearer, findCookies } from "./headers.ts";
import { MARKER } from "./marker.ts";
import { findPrivateKey, findPuttyKey } from "./private-keys.ts";
import { SHAPES, SPLIT_SHAPES } from "./shapes.ts";
import { findCurlUser, findUrlPassword } from "./urls.ts";
import { leftOf, restOfLine } from "./view.ts";
import type { View } from "./view.ts";

/**
 * A word that a secret has in it or near it, and the look that is taken where it occurs. Every look is bounded: it
 * reads no more than a few hundred characters, unless it found a secret or began at the start of a run that it read.
 */
export interface Rule {
  readonly word: string;
  readonly find: (view: View, anchor: Span) => Found | undefined;
}

// oxfmt-ignore
export const RULES: readonly Rule[] = [
  { word: MARKER.slice(3),      find: skipMarker },
  // Names of secrets. "pass" is in password, passwd, passphrase; "pw" in pwd.
  { word: "token",              find: findAssignment },
  { word: "secret",             find: findAssignment },
  { word: "pass",               find: findAssignment },
  { word: "pw",                 find: findAssignment },
  { word: "key",                find: findAssignment },
  { word: "cred",               find: findAssignment },
  { word: "auth",               find: findAssignment },
  { word: "_pat",               find: findAssignment },
  { word: "密码",               find: findAssignment },
  { word: "口令",               find: findAssignment },
  { word: "密钥",               find: findAssignment },
  { word: "令牌",               find: findAssignment },
  { word: "identified",         find: findSqlPassword },
  // Headers and addresses
  { word: "bearer",             find: findBearer },
  { word: "basic",              find: findBasic },
  { word: "cookie",             find: findCookies },
  { word: "://",                find: findUrlPassword },
  { word: "curl",               find: findCurlUser },
  // Keys
  { word: "-----begin",         find: findPrivateKey },
  { word: "private-lines",      find: findPuttyKey },
  { word: "ls0tls1crudjti",     find: findEncodedKey },
  { word: "akia",               find: findAwsKey },
  { word: "asia",               find: findAwsKey },
  { word: "eyj",                find: findJwt },
  ...SHAPES.map((shape): Rule => ({ word: shape.prefix.toLowerCase(), find: (view, anchor) => findShape(view, anchor, shape) })),
  ...SPLIT_SHAPES.map((shape): Rule => ({ word: shape.sign.toLowerCase(), find: (view, anchor) => findSplitShape(view, anchor, shape) })),
];

/** Finds the words of all rules at once. Hits are indices into `RULES`. */
export const ANCHORS = compileAutomaton(RULES.map((rule) => rule.word));

/** The end of an earlier redaction is a border like the end of one made now. An empty find moves the floor there. */
function skipMarker(view: View, { end }: Span): Found | undefined {
  return view.text.endsWith(MARKER, end) ? { start: end, end } : undefined;
}

const BY = /^[ \t]{1,4}(?:with \w{1,32} )?by[ \t]{1,4}["']([^"']{4,200})/i;

/** `IDENTIFIED BY 'x'` of SQL. */
function findSqlPassword(view: View, { start, end }: Span): Found | undefined {
  if (!/\b(?:create|alter|user|grant|role)\b/i.test(leftOf(view, start, 120))) return undefined;
  const match = BY.exec(restOfLine(view, end, 260));
  if (match === null) return undefined;
  const stop = end + match[0].length;
  return { start: stop - (match[1]?.length ?? 0), end: stop };
}
