import { Unreadable } from "./text-reader.ts";
import type { TextReader } from "./text-reader.ts";

const MAX_DEPTH = 100;
const NUMBER = /[-+]?(?:\d{1,15}(?:\.\d{1,15})?|\.\d{1,15})(?:[eE][-+]?\d{1,3})?(?![\w.])/y;
const WORD = /[A-Za-z_]\w{0,100}(?![\w.])/y;
/** String quotes of model formats, longest first. Only Python's have escapes. */
const QUOTES = ['"""', "'''", '<|"|>', "<escape>", '"', "'"] as const;
const WORDS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ["True", true],
  ["true", true],
  ["False", false],
  ["false", false],
  ["None", null],
  ["null", null],
]);
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["n", "\n"],
  ["t", "\t"],
  ["r", "\r"],
  ["b", "\b"],
  ["f", "\f"],
  ["0", "\0"],
  ["\n", ""],
]);
const HEX_ESCAPE = /u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})/y;

/** A value in Python's or Gemma's syntax: keys without quotes, strings between `<|"|>`. */
function readLiteral(reader: TextReader, depth = 0): unknown {
  if (depth > MAX_DEPTH) throw new Unreadable("its values are nested too deep");
  reader.space();
  if (reader.startsWith("[")) return readList(reader, depth);
  if (reader.startsWith("{")) return readRecord(reader, depth);
  const text = readQuoted(reader);
  if (text !== undefined) return text;
  const number = reader.take(NUMBER)?.[0];
  if (number !== undefined) return Number(number);
  const word = reader.take(WORD)?.[0] ?? "";
  if (!WORDS.has(word)) throw new Unreadable("its values are not literals");
  return WORDS.get(word);
}

function readList(reader: TextReader, depth: number): readonly unknown[] {
  const values: unknown[] = [];
  reader.at += 1;
  while (!reader.space().startsWith("]")) {
    values.push(readLiteral(reader, depth + 1));
    takeComma(reader, "]");
  }
  reader.at += 1;
  return values;
}

const KEY = /[A-Za-z_][\w-]{0,100}/y;

/** Starts at `{`; keys with or without quotes. */
export function readRecord(reader: TextReader, depth = 0): Readonly<Record<string, unknown>> {
  const entries = new Map<string, unknown>();
  reader.at += 1;
  while (!reader.space().startsWith("}")) {
    const key = readQuoted(reader) ?? reader.take(KEY)?.[0];
    if (key === undefined || !reader.space().startsWith(":"))
      throw new Unreadable("its arguments are not key and value");
    reader.at += 1;
    addOnce(entries, key, readLiteral(reader, depth + 1));
    takeComma(reader, "}");
  }
  reader.at += 1;
  return Object.fromEntries(entries);
}

/** Starts at `(`: `(path="a", limit=3)`, or with colons. Positional arguments are ambiguous. */
export function readKeywords(reader: TextReader): Readonly<Record<string, unknown>> {
  const entries = new Map<string, unknown>();
  reader.at += 1;
  if (reader.space().startsWith("{")) return readOnlyRecord(reader);
  while (!reader.space().startsWith(")")) {
    const key = reader.take(KEY)?.[0];
    if (key === undefined || !"=:".includes(reader.space().next) || reader.isAtEnd)
      throw new Unreadable("its arguments have no names");
    reader.at += 1;
    addOnce(entries, key, readLiteral(reader));
    takeComma(reader, ")");
  }
  reader.at += 1;
  return Object.fromEntries(entries);
}

/** `({"path": "a"})`. */
function readOnlyRecord(reader: TextReader): Readonly<Record<string, unknown>> {
  const record = readRecord(reader);
  if (!reader.space().startsWith(")")) throw new Unreadable("it is cut off or broken");
  reader.at += 1;
  return record;
}

export function addOnce(entries: Map<string, unknown>, key: string, value: unknown): void {
  if (entries.has(key)) throw new Unreadable(`it has the argument ${JSON.stringify(key.slice(0, 100))} twice`);
  entries.set(key, value);
}

function takeComma(reader: TextReader, end: string): void {
  if (reader.space().startsWith(",")) reader.at += 1;
  else if (!reader.startsWith(end)) throw new Unreadable("it is cut off or broken");
}

function readQuoted(reader: TextReader): string | undefined {
  const quote = QUOTES.find((each) => reader.startsWith(each));
  if (quote === undefined) return undefined;
  reader.at += quote.length;
  if (quote.startsWith("<")) return reader.until(quote);
  const { text } = reader;
  const parts: string[] = [];
  for (let from = reader.at, at = from; at < text.length; at++) {
    if (text[at] === "\\") {
      parts.push(text.slice(from, at), readEscape(reader, at + 1));
      from = reader.at;
      at = from - 1;
    } else if (text.startsWith(quote, at)) {
      parts.push(text.slice(from, at));
      reader.at = at + quote.length;
      return parts.join("");
    }
  }
  throw reader.cutOff();
}

/** Python keeps a backslash before a character that is not an escape. */
function readEscape(reader: TextReader, at: number): string {
  reader.at = at;
  const hex = reader.take(HEX_ESCAPE);
  if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex[1] ?? hex[2] ?? "0", 16));
  const character = reader.next;
  reader.at += 1;
  const known = ESCAPES.get(character);
  if (known !== undefined) return known;
  return `"'\\`.includes(character) ? character : `\\${character}`;
}
