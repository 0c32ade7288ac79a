import { findAssignment } from "./assignments/secret-assignments.ts";
import { compileAutomaton } from "./text/automaton.ts";
import type { CharacterSet } from "./text/character-sets.ts";
import { findAwsKey, findEncodedKey, findJwt, findShape, findSplitShape } from "./shapes/find-shape.ts";
import type { SecretMatch, Span } from "./shapes/find-shape.ts";
import { findBasic, findBearer, findCookies } from "./shapes/http-secrets.ts";
import { REDACTION_MARKER } from "../protocol/marker.ts";
import { findPrivateKey, findPuttyKey } from "./keys/private-keys.ts";
import { SHAPES, SPLIT_SHAPES } from "./shapes/shapes.ts";
import { findOraclePassword, findUrlPassword, findPgpass, PGPASS_PORTS } from "./shapes/urls.ts";
import { findFedSecret, findProgramSecrets } from "./shapes/find-program.ts";
import { PROGRAM_WORDS } from "./shapes/program-secrets.ts";
import { DER_BEGINNINGS, findDerKey } from "./keys/der-keys.ts";
import { ESCAPE_WORDS, findEncoded } from "./encodings/encoded.ts";
import { findKeyLine, keepPublicBlock } from "./keys/key-lines.ts";
import { AFTER_VALUE, findKeyMember, findValueBeforeName, MEMBER_WORDS } from "./assignments/pairs.ts";
import { AFTER_QUOTE, findQuotedWord, QUOTES_IN_WORDS } from "./encodings/quoted-words.ts";
import { skipRedacted } from "./assignments/read-value.ts";
import { isPlaceholderOrReference } from "./assignments/placeholders.ts";
import { leftOf, readingsOf, restOfLine } from "./text/text-view.ts";
import type { View } from "./text/text-view.ts";

/**
 * A word in or near a secret, and the function that examines each occurrence. Every examination is bounded: it reads at
 * most a few hundred characters, unless it found a secret or began at the start of a run that it read.
 */
interface Rule {
  readonly word: string;
  readonly find: (view: View, anchor: Span) => SecretMatch | undefined;
  /** Requires this character at this offset from the word's start: a fast filter for words that occur everywhere. */
  readonly hint?: { readonly offset: number; readonly code: number };
  /** Requires one of these characters right after the word: the same. */
  readonly next?: CharacterSet;
  /** Recognizes the secret by its shape alone, whatever surrounds it. */
  readonly isBare?: true;
}

interface Phrase {
  readonly before: RegExp;
  /** The first group is the secret. */
  readonly after: RegExp;
}

const IDENTIFIED_BY: Phrase = {
  before: /\b(?:create|alter|user|grant|role)\b/i,
  after: /^[ \t]{1,4}(?:with \w{1,32} )?by[ \t]{1,4}["']([^"']{4,200})/i,
};
const SECURE_STRING: Phrase = { before: /convertto-$/i, after: /^[ \t]{1,4}(?:-string )?["']([^"']{4,200})/i };

// oxfmt-ignore
export const RULES: readonly Rule[] = [
  { word: REDACTION_MARKER.slice(3),      find: skipMarker, isBare: true },
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
  { word: "identified",         find: (view, anchor) => findAfterPhrase(view, anchor, IDENTIFIED_BY) },
  { word: "securestring",       find: (view, anchor) => findAfterPhrase(view, anchor, SECURE_STRING) },
  // Headers and addresses
  { word: "bearer",             find: findBearer },
  { word: "basic",              find: findBasic },
  { word: "cookie",             find: findCookies },
  { word: "://",                find: findUrlPassword },
  { word: ":thin:",             find: findOraclePassword },
  { word: ":oci:",              find: findOraclePassword },
  { word: ":oci8:",             find: findOraclePassword },
  { word: "value",              find: findValueBeforeName, next: AFTER_VALUE },
  ...MEMBER_WORDS.map((word): Rule => ({ word, find: findKeyMember })),
  ...PROGRAM_WORDS.map((word): Rule => ({ word, find: findProgramSecrets })),
  { word: "echo ",              find: (view, { start, end }) => findFedSecret(view, { start, end: end - 1 }) },
  { word: "printf ",            find: (view, { start, end }) => findFedSecret(view, { start, end: end - 1 }) },
  ...PGPASS_PORTS.map((word): Rule => ({ word, find: findPgpass })),
  ...ESCAPE_WORDS.map((word): Rule => ({ word, find: findEncoded })),
  ...QUOTES_IN_WORDS.map((word): Rule => ({ word, find: findQuotedWord, next: AFTER_QUOTE })),
  // Keys
  { word: "-----begin",         find: findPrivateKey },
  { word: "private-lines",      find: findPuttyKey },
  { word: "public-lines",       find: keepPublicBlock },
  { word: "ssh2",               find: keepPublicBlock },
  { word: "\n",                 find: findKeyLine },
  { word: "\\n",                find: findKeyLine },
  { word: "ls0tls1crudjti",     find: findEncodedKey },
  ...DER_BEGINNINGS.map((word): Rule => ({ word: word.toLowerCase(), find: findDerKey })),
  { word: "akia",               find: findAwsKey, isBare: true },
  { word: "asia",               find: findAwsKey, isBare: true },
  { word: "eyj",                find: findJwt,    isBare: true },
  ...SHAPES.map((shape): Rule => ({ word: shape.prefix.toLowerCase(), find: (view, anchor) => findShape(view, anchor, shape), isBare: true })),
  ...SPLIT_SHAPES.map((shape): Rule => ({
    word: shape.sign.toLowerCase(),
    find: (view, anchor) => findSplitShape(view, anchor, shape),
    isBare: true,
    ...(shape.hint === undefined ? {} : { hint: { offset: shape.hint.offset, code: shape.hint.is.charCodeAt(0) } }),
  })),
];

/** Finds the words of all rules at once. Hits are indices into `RULES`. */
export const ANCHORS = compileAutomaton(RULES.map((rule) => rule.word));

/** The end of an earlier redaction is a border like that of a new one. An empty match moves the floor there. */
function skipMarker(view: View, { end }: Span): SecretMatch | undefined {
  // "***REDACTED***REDACTED***" is one marker and some text.
  const isWhole = end - REDACTION_MARKER.length >= view.floor && view.text.endsWith(REDACTION_MARKER, end);
  return isWhole ? { start: end, end } : undefined;
}

/** A password that follows a phrase: `IDENTIFIED BY 'x'` of SQL, `ConvertTo-SecureString "x"` of PowerShell. */
function findAfterPhrase(view: View, { start, end }: Span, { before, after }: Phrase): SecretMatch | undefined {
  if (!before.test(leftOf(view, start, 120))) return undefined;
  const match = after.exec(restOfLine(view, end, 260));
  const value = match?.[1] ?? "";
  if (match === null) return undefined;
  const stop = end + match[0].length;
  const redacted = skipRedacted(view, stop - value.length);
  if (redacted !== undefined) return redacted;
  return readingsOf(view, stop - value.length, stop).every((each) => isPlaceholderOrReference(each))
    ? undefined
    : { start: stop - value.length, end: stop };
}
