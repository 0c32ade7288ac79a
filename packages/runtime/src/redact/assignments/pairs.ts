import { CODE, isIn, isQuote, isSpace, setOf, SETS } from "../text/character-sets.ts";
import type { SecretMatch, Span } from "../shapes/find-shape.ts";
import { claimOf } from "./names.ts";
import { skipRedacted } from "./read-value.ts";
import { isSecretValue } from "./values.ts";
import { codeAt, codeBefore, leftOf, readingsOf, rightOf, runEnd, skipBlanks } from "../text/text-view.ts";
import type { View } from "../text/text-view.ts";

/** Allowed right after the word "value" if a value follows. */
export const AFTER_VALUE = setOf("\"'\\:= ");
const SIGNS = setOf(":=");
const BETWEEN = setOf(" \t\r\n,-");
const NAME_WORDS = ["name", "key"] as const;
const MAX_VALUE = 200;
const MAX_BETWEEN = 60;

/** `"value": "x", "name": "DB_PASSWORD"`: the value of a pair whose name comes second. `anchor` is the word "value". */
export function findValueBeforeName(view: View, { start, end }: Span): SecretMatch | undefined {
  if (isIn(SETS.word, codeBefore(view, start))) return undefined;
  const from = afterSign(view, end);
  if (from === undefined) return undefined;
  const first = pastQuote(view, from);
  const redacted = skipRedacted(view, first);
  if (redacted !== undefined) return redacted;
  const to = valueEnd(view, first, { isQuoted: first > from });
  if (to === undefined) return undefined;
  const next = runEnd(view, pastQuote(view, to), { of: BETWEEN, window: MAX_BETWEEN });
  const name = next === to ? undefined : nameAt(view, next);
  const claim = name === undefined || view.short ? undefined : claimOf(name);
  if (name === undefined || claim === undefined || claim.strength === "random" || claim.isPlural) return undefined;
  const about = { name, claim, isQuoted: first > from, sign: ":", isSpaced: false, isListed: false } as const;
  const isSecret = readingsOf(view, first, to).some((text) =>
    isSecretValue({ ...about, text, isLine: true, after: "" }),
  );
  return isSecret ? { start: first, end: to } : undefined;
}

/** Skips the quote that ends a name, and the sign and spaces after it. */
function afterSign(view: View, at: number): number | undefined {
  const sign = skipBlanks(view, pastQuote(view, at), 4);
  return isIn(SIGNS, codeAt(view, sign)) ? skipBlanks(view, sign + 1, 4) : undefined;
}

/** Skips a quote, with the backslashes of nesting before it. */
function pastQuote(view: View, at: number): number {
  let end = at;
  while (end - at < 8 && codeAt(view, end) === CODE.backslash) end++;
  return isQuote(codeAt(view, end)) ? end + 1 : at;
}

function valueEnd(view: View, at: number, { isQuoted }: { isQuoted: boolean }): number | undefined {
  for (let end = at; end < at + MAX_VALUE; end++) {
    const code = codeAt(view, end);
    if (code < 0 || code === CODE.newline || code === CODE.return || isQuote(code) || code === CODE.backslash) {
      return end === at || (isQuoted && code === CODE.newline) ? undefined : end;
    }
    if (!isQuoted && (isSpace(code) || code === CODE.comma)) return end;
  }
  return undefined;
}

/** `"name": "DB_PASSWORD"` and the like: the name in it. */
function nameAt(view: View, at: number): string | undefined {
  const from = pastQuote(view, at);
  const to = runEnd(view, from, { of: SETS.word, window: 8 });
  const word = view.text.slice(from, to).toLowerCase();
  if (view.short || !NAME_WORDS.some((each) => each === word)) return undefined;
  const sign = afterSign(view, to);
  if (sign === undefined) return undefined;
  const start = pastQuote(view, sign);
  const end = runEnd(view, start, { of: SETS.dotted, window: 80 });
  return end === start ? undefined : view.text.slice(start, end);
}

/** The private members of a JSON Web Key (RFC 7518), with the minimum length of each. */
// oxfmt-ignore
const KEY_MEMBERS: ReadonlyMap<string, number> = new Map([["d", 40], ["p", 80], ["q", 80], ["dp", 80], ["dq", 80], ["qi", 80], ["k", 16]]);
/** How far from the member the type of the key may be. */
const MEMBER_REACH = 240;

/** As written in JSON, and in JSON within a string. */
export const MEMBER_WORDS: readonly string[] = [...KEY_MEMBERS.keys()].flatMap((each) => [
  `"${each}"`,
  `\\"${each}\\"`,
]);

export function isKeyMember(name: string): boolean {
  return KEY_MEMBERS.has(name);
}

/** `"d":"…"` of a JSON Web Key. `anchor` is the name with its quotes. */
export function findKeyMember(view: View, { start, end }: Span): SecretMatch | undefined {
  const name = view.text.slice(start, end).replaceAll(/[\\"]/g, "");
  const sign = skipBlanks(view, end, 4);
  if (codeAt(view, sign) !== CODE.colon) return undefined;
  const blanks = skipBlanks(view, sign + 1, 4);
  const from = pastQuote(view, blanks);
  if (from === blanks) return undefined;
  const least = KEY_MEMBERS.get(name) ?? Infinity;
  const stop = runEnd(view, from, { of: SETS.url64, window: least });
  if (stop - from < least) return undefined;
  const text = view.text.slice(from, stop);
  // The symmetric key may be short, and its name is also used for other things.
  const isKey = name === "k" ? hasKeyType(view, start, stop) : isMixed(text);
  return isKey ? { start: from, end: stop, tail: { kind: "run", set: SETS.url64 } } : undefined;
}

function isMixed(text: string): boolean {
  return /[a-z]/.test(text) && /[A-Z]/.test(text) && /\d/.test(text);
}

const SYMMETRIC = /"kty\\*":\s?\\*"oct/;

/** Whether the object declares a symmetric key. */
function hasKeyType(view: View, start: number, end: number): boolean {
  return SYMMETRIC.test(leftOf(view, start, MEMBER_REACH)) || SYMMETRIC.test(rightOf(view, end, MEMBER_REACH));
}
