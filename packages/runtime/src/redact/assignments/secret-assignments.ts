import { CODE, isIn, isNewline, SETS } from "../text/character-sets.ts";
import { claimIn, weaken } from "./claims.ts";
import type { Tail, WordStyle } from "../text/extent.ts";
import type { SecretMatch, Span } from "../shapes/find-shape.ts";
import { REDACTION_MARKER } from "../../protocol/marker.ts";
import type { Claim } from "./names.ts";
import { nameAround, placeOf } from "./value-places.ts";
import type { Name, Place } from "./value-places.ts";
import { openingQuote, readTo, skipRedacted } from "./read-value.ts";
import type { Opening } from "./read-value.ts";
import { unmarked } from "./placeholders.ts";
import { isProse, isSecretValue } from "./values.ts";
import type { Candidate } from "./values.ts";
import {
  beforeMarker,
  codeAt,
  codeBefore,
  hasValue,
  leftOf,
  pastValue,
  readingsOf,
  restOfLine,
  rightOf,
} from "../text/text-view.ts";
import type { View } from "../text/text-view.ts";

/** At most this much of an unquoted line is read to decide whether it is a secret. */
const LINE_WINDOW = 192;

/**
 * NAME=value in env, JSON, YAML, TOML, INI, XML, flag and header form: returns the value if the name is that of a
 * secret and the value is not code, a reference, a placeholder or a type. `anchor` is the matched word in the name.
 */
export function findAssignment(view: View, anchor: Span): SecretMatch | undefined {
  const name = nameAround(view, anchor);
  if (name === undefined) return undefined;
  const place = placeOf(view, name);
  if (place === undefined) return undefined;
  const claim = claimIn(view, name, place);
  if (claim === undefined) return undefined;
  const found = findValue(view, { name, place, claim }) ?? findTypedValue(view, { name, place, claim });
  // A known value inside the name splits it at the marker; the text after the marker is examined.
  const isParted = found !== undefined && found.tail === undefined && hasValue(view, anchor.end, name.end);
  return isParted ? { ...found, isBeside: true } : found;
}

interface Assignment {
  readonly name: Name;
  readonly place: Place;
  readonly claim: Claim;
}

function findValue(view: View, assignment: Assignment): SecretMatch | undefined {
  const { place } = assignment;
  const opening = openingQuote(view, place);
  if (opening !== undefined) return findQuoted(view, assignment, opening);
  if (place.mustQuote === true) return undefined;
  const code = codeAt(view, place.at);
  // After a Chinese name, Chinese text is a sentence.
  if (code > 127 && assignment.name.text.charCodeAt(0) > 127) return undefined;
  if (place.sign === ":" && (code === CODE.pipe || code === CODE.greater)) return findBlock(view, assignment);
  if (code === CODE.openBracket) return findList(view, assignment);
  return skipRedacted(view, place.at) ?? findLine(view, assignment) ?? findWord(view, assignment);
}

const SCHEME = /^(?:Bearer|Basic|Token|Bot|ApiKey|Api-Key|Negotiate|NTLM|OAuth|GenieKey|SSWS|Digest|Hawk)[ \t]+/i;

function findQuoted(view: View, { name, claim, place }: Assignment, { at, tail }: Opening): SecretMatch | undefined {
  // Text after a marker cannot change this, so a stream does not have to wait for the end.
  const early = place.isElement === true ? undefined : skipRedacted(view, contentStart(view, at, tail));
  if (early !== undefined) return early;
  const whole = readTo(view, at, tail);
  if (place.isElement === true && restOfLine(view, whole.end, 2) !== "</") return undefined;
  const scheme = SCHEME.exec(view.text.slice(at, whole.end))?.[0].length ?? 0;
  const start = at + scheme;
  const redacted = skipRedacted(view, contentStart(view, start, tail));
  if (redacted !== undefined) return redacted;
  const text = view.text.slice(start, whole.end);
  const texts = readingsOf(view, start, whole.end);
  if (tail.kind === "triple" && text.includes("\n")) {
    const first = Math.min(contentStart(view, start, tail), whole.end);
    return texts.some((each) => isBlockSecret(claim, each)) ? { start: first, ...whole } : undefined;
  }
  if (isOtherQuote(text, place, tail)) return undefined;
  if (!texts.some((each) => isSecretValue(candidate({ name, place, claim }, each)))) return undefined;
  return { start, ...whole, end: endOfLines(view, whole.end, { place, claim, tail }) };
}

/** Whether a quote does not open a value: it runs a shell command, or it closed a string: `log("token:", x)`. */
function isOtherQuote(text: string, { sign }: Place, tail: Tail): boolean {
  if (tail.kind === "quoted" && tail.quote === CODE.backtick && sign === "=" && /^[\w./-]+ /.test(text)) return true;
  return /^(?:\s|[,)\];]|[+%.] )/.test(text);
}

const LINES_WINDOW = 2048;

/** An environment variable may be quoted over several lines; it then ends at the quote that ends a line. */
function endOfLines(
  view: View,
  end: number,
  { place, claim, tail }: Pick<Assignment, "place" | "claim"> & { tail: Tail },
): number {
  const isVariable = claim.isUpper && place.sign === "=" && !place.isSpaced;
  if (!isVariable || tail.kind !== "quoted" || !isNewline(codeAt(view, end))) return end;
  const rest = rightOf(view, end, LINES_WINDOW);
  const quote = rest.indexOf(String.fromCharCode(tail.quote));
  if (quote < 0 || /[\r\n][ \t]*(?:export )?\w+=/.test(rest.slice(0, quote))) return end;
  return /^\s*(?:[;#\r\n]|$)/.test(rest.slice(quote + 1, quote + 40)) ? end + quote : end;
}

const MAX_ITEMS = 32;

/** `["x", "y"]`: each string of the list is judged as a separate value. */
function findList(view: View, { name, place, claim }: Assignment): SecretMatch | undefined {
  const isWordy = claim.noun === "password" || claim.noun === "secret";
  const assignment: Assignment = { name, place, claim: isWordy ? claim : weaken(claim) };
  const spans: Span[] = [];
  let at = place.at + 1;
  for (let count = 0; count < MAX_ITEMS; count++) {
    const gap = /^[\s,]{0,40}(?=\\{0,7}["'])/.exec(rightOf(view, at, 48));
    const opening = gap === null ? undefined : openingQuote(view, { ...place, at: at + gap[0].length });
    if (opening?.tail.kind !== "quoted") break;
    const { end, tail } = readTo(view, opening.at, opening.tail);
    const found = findQuoted(view, assignment, opening);
    if (tail !== undefined) return found === undefined ? undefined : { ...found, before: spans };
    if (found !== undefined) spans.push({ start: found.start, end: found.end });
    at = end + opening.tail.backslashes + 1;
  }
  const last = spans.pop();
  return last === undefined ? undefined : { ...last, before: spans };
}

/** Skips the line ends next to triple quotes. */
function contentStart(view: View, at: number, { kind }: Tail): number {
  let start = at;
  if (kind === "triple") while (isNewline(codeAt(view, start))) start++;
  return start;
}

function isBlockSecret(claim: Claim, text: string): boolean {
  const judged = unmarked(text) ?? "";
  return judged.trim().length >= 4 && claim.strength !== "random" && !isProse(judged, 3);
}

const BLOCK_HEADER = /^[|>][+\d-]{0,2}[ \t]{0,20}(?:#[^\n]{0,80})?\r?\n(?:[ \t]{0,80}\r?\n){0,3}([ \t]{0,200})(?=\S)/;
const HEADER_WINDOW = 400;

/** A YAML block scalar: `password: |` and the deeper-indented lines below. */
function findBlock(view: View, { name, place, claim }: Assignment): SecretMatch | undefined {
  const header = BLOCK_HEADER.exec(view.text.slice(place.at, place.at + HEADER_WINDOW));
  // Once the first line has begun, more text does not change the header.
  if (header === null) rightOf(view, place.at, HEADER_WINDOW);
  const left = leftOf(view, name.start, 200);
  const indent = left.length - 1 - left.lastIndexOf("\n");
  if (header === null || indent > 160 || (header[1]?.length ?? 0) <= indent) return undefined;
  const start = place.at + header[0].length;
  const redacted = skipRedacted(view, start);
  if (redacted !== undefined) return redacted;
  const whole = readTo(view, start, { kind: "block", indent });
  const texts = readingsOf(view, start, whole.end);
  return texts.some((each) => isBlockSecret(claim, each)) ? { start, ...whole } : undefined;
}

/** Allowed before a name that begins a line: line numbers, comment and diff signs, `export`. */
const LINE_START =
  /^(?:\s{0,8}\d{1,7}(?:\t|[:|→] ?)|[\w./-]{1,60}:\d{1,6}[:-])?[\s>|+#;*/-]{0,40}(?:(?:export|set|setx|ENV|ARG|declare|typeset|local|readonly|env|-\w{1,2}) )*$/;

function isLineStart(view: View, { start }: Name): boolean {
  const left = leftOf(view, start, 100);
  const newline = Math.max(left.lastIndexOf("\n"), left.lastIndexOf("\r"));
  if (newline < 0 && left.length >= 100) return false;
  return LINE_START.test(left.slice(newline + 1));
}

/** A value of several words up to the end of its line, as in YAML and INI. */
function findLine(view: View, { name, place, claim }: Assignment): SecretMatch | undefined {
  const mayHaveBlanks = place.sign === ":" || (place.sign === "=" && place.isSpaced);
  const isWordy = claim.noun === "password" || claim.noun === "secret" || claim.noun === "credential";
  if (!mayHaveBlanks || !isWordy || claim.strength === "random" || place.isNameQuoted) return undefined;
  if (!isLineStart(view, name)) return undefined;
  const rest = restOfLine(view, place.at, LINE_WINDOW);
  const text = rest.replace(/\s#.*$/, "").trimEnd();
  const end = place.at + text.length;
  if (!readingsOf(view, place.at, end).some((each) => isLineSecret({ name, place, claim }, each))) return undefined;
  return rest.length < LINE_WINDOW ? { start: place.at, end } : { start: place.at, end, tail: { kind: "line" } };
}

function isLineSecret(assignment: Assignment, text: string): boolean {
  // The text after a scheme is examined separately and may be redacted.
  if (beforeMarker(text).replace(SCHEME, "") === "") return false;
  if (!/\S[ \t]/.test(text) || /^[!&*|>@]|[(){}<>=;"`]|[,:|&?+]\s|\s[+*/&|?-]\s/.test(text)) return false;
  return !isProse(text) && isSecretValue(candidate(assignment, text));
}

/** A value without quotes and spaces. Alone on its line, it extends to a space if the text up to there is one value. */
function findWord(view: View, assignment: Assignment): SecretMatch | undefined {
  const { name, place, claim } = assignment;
  const scheme = SCHEME.exec(restOfLine(view, place.at, 20))?.[0] ?? "";
  const start = place.at + scheme.length;
  const redacted = skipRedacted(view, start);
  if (redacted !== undefined) return redacted;
  if (/^(?:Digest|Hawk)/i.test(scheme)) {
    return { start, end: start, tail: { kind: "line" } };
  }
  const isLine = !place.isNameQuoted && claim.noun !== "authorization" && isLineStart(view, name);
  if (place.isEncoded === true) return judgeWord(view, assignment, { start, style: "encoded", isLine });
  const whole = isLine ? judgeWord(view, assignment, { start, style: "whole", isLine }) : undefined;
  return whole ?? judgeWord(view, assignment, { start, style: "part", isLine });
}

interface Word {
  readonly start: number;
  readonly style: WordStyle;
  readonly isLine: boolean;
}

function judgeWord(view: View, assignment: Assignment, { start, style, isLine }: Word): SecretMatch | undefined {
  const { name, place } = assignment;
  const word = readWhole(view, start, { kind: "word", style });
  if (word.end === start) return undefined;
  const after = word.tail === undefined ? restOfLine(view, word.end, 24) : "";
  const isListed = place.sign === "=" && !place.isSpaced && /[;&?] ?$/.test(leftOf(view, name.start, 2));
  const isSecret = readingsOf(view, start, word.end).some((text) =>
    isSecretValue({ ...candidate(assignment, text), isQuoted: false, isListed, isLine, after }),
  );
  return isSecret ? { start, ...word } : undefined;
}

/** A word, including known values that cross its end. */
function readWhole(view: View, start: number, tail: Tail): { end: number; tail?: Tail } {
  let word = readTo(view, start, tail);
  for (let next = pastValue(view, word.end); word.tail === undefined && next > word.end && start < word.end;) {
    word = readTo(view, next, tail);
    next = pastValue(view, word.end);
  }
  return word;
}

/** A default value in quotes. */
function candidate({ name, place, claim }: Assignment, text: string): Candidate {
  // `--token=x` is treated like `--token x`.
  const isFlag = place.sign === "=" && !place.isSpaced && name.dashes > 0;
  const about = { text, name: name.text, claim, sign: isFlag ? "flag" : place.sign, isSpaced: place.isSpaced } as const;
  return { ...about, isQuoted: true, isListed: false, isLine: false, after: "" };
}

const TYPE = /^[&\w<>[\]|?., '*]{1,60}?\s{0,2}=\s{0,4}(?=(?:[rRbBuU]|@)?["'`])/;

/** `password: str = "x"`: the value after the type. */
function findTypedValue(view: View, { name, place, claim }: Assignment): SecretMatch | undefined {
  if (place.sign !== ":" || place.isNameQuoted || place.isElement === true) return undefined;
  if (codeBefore(view, place.at) !== CODE.space) return undefined;
  if (!isIn(SETS.word, codeAt(view, place.at)) && codeAt(view, place.at) !== CODE.ampersand) return undefined;
  const type = TYPE.exec(restOfLine(view, place.at, 80));
  if (type === null || type[0].includes(REDACTION_MARKER)) return undefined;
  const typed: Place = { at: place.at + type[0].length, sign: "=", isSpaced: true, isNameQuoted: false };
  const opening = openingQuote(view, typed);
  return opening === undefined ? undefined : findQuoted(view, { name, place: typed, claim }, opening);
}
