import { CODE, isIn, isNewline, isQuote, isSpace, SETS, setOf } from "../text/character-sets.ts";
import type { Span } from "../shapes/find-shape.ts";
import { REDACTION_MARKER } from "../../protocol/marker.ts";
import {
  codeAt,
  codeBefore,
  follows,
  leftOf,
  restOfLine,
  rightOf,
  runEnd,
  runStart,
  skipBlanks,
} from "../text/text-view.ts";
import type { View } from "../text/text-view.ts";

/** A name in the text, with the word in it that was matched. */
export interface Name extends Span {
  readonly text: string;
  /** The number of dashes before it: `--token`. */
  readonly dashes: number;
}

/** Where the value of a name is, and how it is written. */
export interface Place {
  readonly at: number;
  readonly sign: "=" | ":" | "flag";
  readonly isSpaced: boolean;
  readonly isNameQuoted: boolean;
  /** A comparison, not an assignment: `token === "("` is a parser. */
  readonly isCompared?: boolean;
  /** The next cell of a table, or a C constant: it may also describe the value. */
  readonly isCell?: boolean;
  /** Only a value if quoted: `'password' => 'x'`, unlike an arrow function. */
  readonly mustQuote?: boolean;
  /** The text of an XML element, which ends at "<". */
  readonly isElement?: boolean;
  /** The sign is written %3D or %3A. */
  readonly isEncoded?: boolean;
}

/** Names extend at most this far on either side of the matched word. */
const NAME_REACH = 64;

export function nameAround(view: View, anchor: Span): Name | undefined {
  const reach = { of: SETS.dotted, window: NAME_REACH };
  let end = runEnd(view, anchor.end, reach);
  if (end - anchor.end === NAME_REACH) return undefined;
  let start = runStart(view, anchor.start, reach);
  // The rest of a name that was redacted in a decoded text: see codeBefore.
  if (view.isDecoded && start <= view.floor) return undefined;
  while (end > anchor.end && !isIn(SETS.word, view.text.charCodeAt(end - 1))) end--;
  start += foreignStart(view, start, anchor.start);
  let first = start;
  while (first < anchor.start && !isIn(SETS.alphanumeric, view.text.charCodeAt(first))) first++;
  return { start, end, text: view.text.slice(first, end), dashes: countDashes(view, start, first) };
}

const FOREIGN_ENDS = setOf("\\[;");

/** How much of the apparent name belongs to another notation: `\n`, `\u0022`, a terminal color. */
function foreignStart(view: View, start: number, noun: number): number {
  if (!isIn(FOREIGN_ENDS, codeBefore(view, start))) return 0;
  const left = leftOf(view, start, 14);
  const name = view.text.slice(start, noun);
  if (left.endsWith("\\")) return /^(?:u[0-9a-fA-F]{4}|[nrt])/.exec(name)?.[0].length ?? 0;
  return /\[[\d;]*$/.test(left) ? (/^\d*m/.exec(name)?.[0].length ?? 0) : 0;
}

function countDashes(view: View, start: number, first: number): number {
  return view.text.slice(start, first) === "-".repeat(first - start) ? first - start : 0;
}

/** Finds the value by the text after the name, trying one notation after the other. */
export function placeOf(view: View, name: Name): Place | undefined {
  const closing = closingQuoteEnd(view, name.end);
  const isNameQuoted = closing > name.end;
  const at = skipIndex(view, skipDecoration(view, closing), isNameQuoted);
  const blanks = skipBlanks(view, at, 32);
  const sign = signAt(view, blanks);
  if (sign !== undefined) {
    const value = valueStart(view, sign.end);
    if (value === undefined) return undefined;
    const isSpaced = blanks > at || (sign.sign === "=" && skipBlanks(view, sign.end, 1) > sign.end);
    return { ...sign, at: sign.sign === ":" ? skipAnchor(view, value) : value, isSpaced, isNameQuoted };
  }
  return (
    elementPlace(view, name, at) ??
    pairPlace(view, name, at) ??
    variablePlace(view, name, blanks) ??
    argumentPlace(view, name, { at, isNameQuoted }) ??
    callPlace(view, name, at) ??
    cellPlace(view, name, blanks) ??
    (blanks > at ? blankPlace(view, name, { blanks, isNameQuoted }) : undefined)
  );
}

/** Skips a closing quote, with the backslashes of nesting before it. */
function closingQuoteEnd(view: View, at: number): number {
  let end = at;
  while (end - at < 16 && codeAt(view, end) === CODE.backslash) end++;
  if (isQuote(codeAt(view, end))) return end + 1;
  if (codeAt(view, at) === CODE.percent && restOfLine(view, at, 3) === "%22") return at + 3;
  return at;
}

/** Skips `]` of `config["password"]`, and `[]` and `[64]` of a C array. */
function skipIndex(view: View, at: number, isNameQuoted: boolean): number {
  const code = codeAt(view, at);
  if (code === CODE.closeBracket && isNameQuoted) {
    return codeAt(view, skipBlanks(view, at + 1)) === CODE.colon ? at : at + 1;
  }
  if (code !== CODE.openBracket) return at;
  return at + (/^\[\d{0,6}\]/.exec(restOfLine(view, at, 8))?.[0].length ?? 0);
}

/** Skips terminal colors, and the two asterisks of bold text. */
function skipDecoration(view: View, at: number): number {
  const code = codeAt(view, at);
  if (code !== CODE.escape && code !== CODE.star) return at;
  const match = /^(?:\x1b\[[\d;]{0,16}m){1,2}|^\*\*(?!\*)/.exec(restOfLine(view, at, code === CODE.star ? 3 : 40));
  return at + (match?.[0].length ?? 0);
}

type Sign = Pick<Place, "sign" | "mustQuote" | "isCompared" | "isEncoded"> & { readonly end: number };

// oxfmt-ignore
const SIGNS: readonly (readonly [text: string, sign: Omit<Sign, "end"> | undefined])[] = [
  ["=~", undefined], ["::", undefined],
  ["===", { sign: "=", mustQuote: true, isCompared: true }], ["!==", { sign: "=", mustQuote: true, isCompared: true }],
  ["==",  { sign: "=", mustQuote: true, isCompared: true }], ["!=",  { sign: "=", mustQuote: true, isCompared: true }],
  ["=>",  { sign: ":", mustQuote: true }],
  ["??=", { sign: "=" }], ["||=", { sign: "=" }], [":=", { sign: "=" }], ["?=", { sign: "=" }], ["+=", { sign: "=" }],
  ["<-",  { sign: "=" }], ["?:", { sign: ":" }], ["!:", { sign: ":" }],
  ["=",   { sign: "=" }], [":",  { sign: ":" }], ["：", { sign: ":" }],
  ["%3D", { sign: "=", isEncoded: true }], ["%3d", { sign: "=", isEncoded: true }],
  ["%3A", { sign: ":", isEncoded: true }], ["%3a", { sign: ":", isEncoded: true }],
];
const SIGN_STARTS = setOf("=:?|+<!%");

function signAt(view: View, at: number): Sign | undefined {
  const code = codeAt(view, at);
  if (!isIn(SIGN_STARTS, code) && code !== CODE.fullWidthColon) return undefined;
  const text = restOfLine(view, at, 3);
  const found = SIGNS.find(([each]) => text.startsWith(each));
  return found?.[1] === undefined ? undefined : { ...found[1], end: at + found[0].length };
}

/** Skips spaces; continues on the next line only if a quoted value is there. */
function valueStart(view: View, at: number): number | undefined {
  const start = skipBlanks(view, skipDecoration(view, at));
  const decorated = skipDecoration(view, start);
  if (follows(view, decorated, "%22")) return decorated + 3;
  if (follows(view, decorated, "!!")) {
    return decorated + (/^!!\w{1,12}[ \t]+/.exec(restOfLine(view, decorated, 24))?.[0].length ?? 0);
  }
  if (!isNewline(codeAt(view, decorated))) return decorated;
  const match = /^\r?\n[ \t]{0,60}(?=["'`])/.exec(rightOf(view, decorated, 64));
  return match === null ? undefined : decorated + match[0].length;
}

/** Skips a YAML anchor: `password: &pw x`. `&mut T` is a type, and so is a name followed by "=". */
function skipAnchor(view: View, at: number): number {
  if (codeAt(view, at) !== CODE.ampersand) return at;
  const anchor =
    /^&(?!(?:mut|dyn|const|impl|static) )[\w-]{1,40}[ \t]{1,20}(?:!!\w{1,12}[ \t]{1,20})?(?=[^\s=&|)}\]>])/;
  return at + (anchor.exec(restOfLine(view, at, 96))?.[0].length ?? 0);
}

/** `<password>x</password>`, `<string name="api_key">x</string>`, `<key>API_KEY</key><string>x</string>`. */
function elementPlace(view: View, name: Name, at: number): Place | undefined {
  const place = { sign: ":", isSpaced: false, isNameQuoted: true, isElement: true } as const;
  const code = codeAt(view, at);
  if (code === CODE.greater) {
    const before = leftOf(view, name.start, 8);
    if (!/<$|name=["']$/.test(before)) return undefined;
    return { ...place, at: at + (restOfLine(view, at + 1, 9) === "<![CDATA[" ? 10 : 1) };
  }
  if (code !== CODE.less) return undefined;
  const match = /^<\/key>\s{0,20}<string>/.exec(rightOf(view, at, 40));
  return match === null ? undefined : { ...place, at: at + match[0].length };
}

/** `name: DB_PASSWORD` and then `value: x`, in YAML, JSON or XML; `name="password"` and an empty line, in a form. */
function pairPlace(view: View, name: Name, at: number): Place | undefined {
  if (!/(?:name|key)\\?["']?\s?[:=]\s?\\?["']?$/i.test(leftOf(view, name.start, 12))) return undefined;
  const match = /^(?:[\s,]{1,60}\\?["']?value\\?["']?\s?[:=]\s?|\r?\n\r?\n(?=\S))/i.exec(rightOf(view, at, 80));
  if (match === null) return undefined;
  return { at: at + match[0].length, sign: ":", isSpaced: false, isNameQuoted: true };
}

/** `variable "db_password" { default = "x" }` of Terraform. */
function variablePlace(view: View, name: Name, at: number): Place | undefined {
  if (codeAt(view, at) !== CODE.openBrace || !/\bvariable[ \t]{1,4}\\?["']$/.test(leftOf(view, name.start, 20)))
    return undefined;
  const match = /^\{[^{}]{0,300}?\bdefault[ \t]{0,20}=[ \t]{0,20}(?=\\?["'])/.exec(rightOf(view, at, 360));
  if (match === null || match[0].includes(REDACTION_MARKER)) return undefined;
  return { at: at + match[0].length, sign: "=", isSpaced: true, isNameQuoted: true };
}

const SETTER = /(?:define|set[A-Za-z]*|put[A-Za-z]*|add[A-Za-z]*|append|header|env|get|getenv)\(\s?["']$/i;

/** `["--token", "x"]`, `define('DB_PASSWORD', 'x')`. */
function argumentPlace(
  view: View,
  name: Name,
  { at, isNameQuoted }: { at: number; isNameQuoted: boolean },
): Place | undefined {
  if (!isNameQuoted || codeAt(view, at) !== CODE.comma) return undefined;
  const isFlag = name.dashes === 1 || name.dashes === 2;
  if (!isFlag && !SETTER.test(leftOf(view, name.start, 24))) return undefined;
  const match = /^,\s{0,20}(?=\\{0,7}["'](?!-))/.exec(rightOf(view, at, 32));
  if (match === null) return undefined;
  return { at: at + match[0].length, sign: isFlag ? "flag" : ":", isSpaced: false, isNameQuoted };
}

/** `| DB_PASSWORD | x |` */
function cellPlace(view: View, name: Name, at: number): Place | undefined {
  if (codeAt(view, at) !== CODE.pipe || !/\| {0,20}`?$/.test(leftOf(view, name.start, 24))) return undefined;
  const value = skipBlanks(view, at + 1, 32);
  return { at: value, sign: ":", isSpaced: true, isNameQuoted: true, isCell: true };
}

/** `setPassword("x")`, `.password("x")`. */
function callPlace(view: View, name: Name, at: number): Place | undefined {
  if (codeAt(view, at) !== CODE.openParenthesis || !isQuote(codeAt(view, at + 1))) return undefined;
  const isSetter = /(?:^|\.)(?:set|with)[A-Z]\w*$|\.(?:password|apiKey|secret)$/.test(name.text);
  return isSetter ? { at: at + 1, sign: "=", isSpaced: false, isNameQuoted: false } : undefined;
}

/** Words followed by a name and its value, with only a space between. */
const SETS_BY_BLANK =
  /(?:^|[\s;&|"'`(])(?:ENV|ARG|setenv|SetEnv|setx|fastcgi_param|config(?:ure)?(?: --?\w{1,12}){0,2}(?: set)?|config (?:create|update)(?: [^\s;|&]{1,40}){2,8}|set -\w{1,3})[ \t]+["']?(?:\/\/[\w./-]{1,60}:)?$/;
const IN_NETRC = /(?:login|machine|account)\s+\S{1,64}\s+$/;
const IN_SQL = /\b(?:with|user|role|set|alter|create|encrypted|identified)\b[^;]{0,60}$/i;

const BEFORE_FLAG = setOf("([,=|\\");

function blankPlace(
  view: View,
  name: Name,
  { blanks, isNameQuoted }: { blanks: number; isNameQuoted: boolean },
): Place | undefined {
  const place = { at: blanks, sign: "flag", isSpaced: false, isNameQuoted } as const;
  const next = codeAt(view, blanks);
  if (next === CODE.dash) return undefined;
  if (name.dashes === 1 || name.dashes === 2) {
    const before = codeBefore(view, name.start);
    if (before >= 0 && !isSpace(before) && !isQuote(before) && !isIn(BEFORE_FLAG, before)) return undefined;
    const onNextLine = next === CODE.backslash ? /^\\\r?\n[ \t]{0,40}/.exec(rightOf(view, blanks, 48)) : null;
    return { ...place, at: blanks + (onNextLine?.[0].length ?? 0) };
  }
  if (isNameQuoted) return undefined;
  const left = leftOf(view, name.start, 80);
  if (codeBefore(view, blanks) === CODE.tab && /(?:^|[\n\r\t])$/.test(left)) {
    return { ...place, sign: ":", isSpaced: true, isNameQuoted: true, isCell: true };
  }
  if (SETS_BY_BLANK.test(left) || name.text === "requirepass") return place;
  if (name.text === "password" && IN_NETRC.test(left)) return place;
  if (/#define[ \t]+$/.test(left)) return isQuote(next) ? { ...place, sign: ":", isCell: true } : undefined;
  const isTyped = /^(?:string|String|str|\[\]byte|text)\s?=\s?(?=["'`])/.exec(restOfLine(view, blanks, 24));
  if (isTyped !== null) return { ...place, at: blanks + isTyped[0].length, sign: "=", isSpaced: true };
  if (!isQuote(next)) return undefined;
  if (left.endsWith(":") || (/^password$/i.test(name.text) && IN_SQL.test(left))) return { ...place, sign: ":" };
  return undefined;
}
