import { REDACTION_MARKER } from "../protocol/marker.ts";
import { claimOf } from "./assignments/names.ts";
import type { Claim } from "./assignments/names.ts";
import { isKeyMember } from "./assignments/pairs.ts";
import { isPlaceholderOrReference } from "./assignments/placeholders.ts";
import { isWordy } from "./assignments/values.ts";

interface Result {
  readonly value: unknown;
  readonly redacted: boolean;
}

interface RedactText {
  (text: string): { readonly text: string; readonly redacted: boolean };
  /** Consecutive lines: a secret may continue from one to the next. */
  readonly lines: (lines: readonly string[]) => readonly string[];
}

/** Deeper data is replaced completely: no real data is nested that deeply, and the stack is finite. */
const MAX_DEPTH = 500;

/** Redacts JSON data. Other objects (dates, maps, buffers) are left unchanged. */
export function redactFields(value: unknown, redactText: RedactText): Result {
  return redactAt(value, 0, redactText);
}

function redactAt(value: unknown, depth: number, redactText: RedactText): Result {
  if (typeof value === "string") {
    const { text, redacted } = redactText(value);
    return { value: text, redacted };
  }
  if (typeof value !== "object" || value === null) return { value, redacted: false };
  if (depth >= MAX_DEPTH) return { value: REDACTION_MARKER, redacted: true };
  if (Array.isArray(value)) return redactItems(value, depth, redactText);
  return isPlain(value) ? redactEntries(value, depth, redactText) : { value, redacted: false };
}

function isPlain(value: object): value is Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function redactItems(given: readonly unknown[], depth: number, redactText: RedactText): Result {
  const items = redactListing(given, redactText);
  let changed: unknown[] | undefined = items === given ? undefined : [...items];
  for (const [index, item] of items.entries()) {
    const claim = claimBefore(items, index);
    const { value, redacted } = redactClaimed(item, claim, { depth, redactText });
    if (!redacted) continue;
    changed ??= [...items];
    changed[index] = value;
  }
  return changed === undefined ? { value: items, redacted: false } : { value: changed, redacted: true };
}

interface Line {
  readonly text: string;
  readonly path?: unknown;
  readonly line?: unknown;
}

/** Lines of a file in a search result, `{ path, line, text }`. Read together, they reveal more than single lines. */
function redactListing(items: readonly unknown[], redactText: RedactText): readonly unknown[] {
  if (items.length < 2 || !items.every(isLine)) return items;
  const lines = items.map(({ text }, index) => (isNext(items[index - 1], items[index] as Line) ? text : `\n${text}`));
  const redacted = redactText.lines(lines);
  if (redacted.every((text, index) => text === lines[index])) return items;
  return items.map((item, index) => {
    const text = redacted[index] ?? "";
    // Only the line end that was added before the text: the text may have one itself.
    return { ...item, text: lines[index] === item.text ? text : text.replace(/^\n/, "") };
  });
}

function isLine(item: unknown): item is Line {
  return typeof item === "object" && item !== null && isPlain(item) && typeof item["text"] === "string";
}

function isNext(before: Line | undefined, { path, line }: Line): boolean {
  if (before === undefined || before.path !== path) return before === undefined;
  return typeof line !== "number" || typeof before.line !== "number" || line === before.line + 1;
}

const FLAG = /^--?[A-Za-z][\w.-]{0,63}$/;
const HEADER = /^(?:x-|private-|proxy-|api-|job-|deploy-)[a-z-]{1,40}$|^authorization$/i;

/** The previous item's claim about this one: `["--token", "x"]`, and lists of header names and values. */
function claimBefore(items: readonly unknown[], index: number): Claim | undefined {
  const before = items[index - 1];
  const item = items[index];
  if (typeof before !== "string" || typeof item !== "string" || item.startsWith("-")) return undefined;
  return FLAG.test(before) || HEADER.test(before) ? secretClaim(before) : undefined;
}

function redactEntries(object: Record<string, unknown>, depth: number, redactText: RedactText): Result {
  let isChanged = false;
  const entries: [string, unknown][] = [];
  const isNamed = namesASecret(object);
  const isKey = typeof object["kty"] === "string";
  for (const [key, field] of Object.entries(object)) {
    const name = redactText(key);
    const isOfName = (isNamed && /^value$/i.test(key)) || (isKey && isKeyMember(key));
    const claim = isOfName ? NAMED : secretClaim(key);
    const { value, redacted } = redactClaimed(field, claim, { depth, redactText });
    isChanged ||= redacted || name.redacted;
    entries.push([name.text, value]);
  }
  return isChanged ? { value: Object.fromEntries(entries), redacted: true } : { value: object, redacted: false };
}

interface Inside {
  readonly depth: number;
  readonly redactText: RedactText;
}

/** With markers in it, a value may qualify as a secret although the original did not. */
function redactClaimed(value: unknown, claim: Claim | undefined, { depth, redactText }: Inside): Result {
  const secret = claim === undefined ? undefined : redactSecret(value, claim);
  if (secret !== undefined) return secret;
  const parts = redactAt(value, depth + 1, redactText);
  if (claim === undefined || !parts.redacted) return parts;
  return redactSecret(parts.value, claim) ?? parts;
}

/** `{ name: "DB_PASSWORD", value: "x" }`, as in the environment of a container. */
function namesASecret(object: Record<string, unknown>): boolean {
  const name = object["name"] ?? object["Name"] ?? object["key"] ?? object["Key"];
  return typeof name === "string" && secretClaim(name) !== undefined;
}

/** The claim of a field's name, if it is that of a secret. */
function secretClaim(name: string): Claim | undefined {
  if (name.length > 128) return undefined;
  const claim = claimOf(name);
  return claim === undefined || claim.strength === "random" || claim.isPlural ? undefined : claim;
}

/** For a field named by its neighbor. */
const NAMED: Claim = { noun: "secret", strength: "any", isUpper: false, isPlural: false };

/** Undefined if the value is not that of a secret; it is then scanned like any other text. */
function redactSecret(value: unknown, { noun, strength }: Claim): Result | undefined {
  const isSecret = (text: string): boolean => isLiteral(text) && (strength === "any" || !isWordy(text));
  if (typeof value === "string") return isSecret(value) ? { value: REDACTION_MARKER, redacted: true } : undefined;
  if (typeof value === "number") {
    // A small number under "token" is a position or a count.
    return noun === "token" && Math.abs(value) < 100_000 ? undefined : { value: REDACTION_MARKER, redacted: true };
  }
  if (!Array.isArray(value) || noun === "token" || noun === "key") return undefined;
  const isList = value.length > 0 && value.every((each) => typeof each === "string" && isSecret(each));
  return isList ? { value: value.map(() => REDACTION_MARKER), redacted: true } : undefined;
}

/** The name is certain here, so even one letter is a password, unless it clearly refers to another value. */
function isLiteral(value: string): boolean {
  return value !== "" && (value.length < 3 || !isPlaceholderOrReference(value));
}
