import { readArguments } from "../calls/json-reply.ts";
import { repairJson } from "../calls/repair-json.ts";

/** Why a text that looks like a call cannot be parsed: a clause. */
export class Unreadable extends Error {}

/** Parsed JSON, and the list of repairs. */
export interface ReadJson {
  readonly value: unknown;
  readonly repaired: readonly string[];
}

const SPACE = /\s*/y;
/** Deeper than any tool's arguments. */
const MAX_DEPTH = 100;

/** A position in a text that only moves forward. Throws `Unreadable` for what it cannot parse. */
export class TextReader {
  readonly text: string;
  at: number;
  /** Patterns that do not occur after this position: each is searched in vain only once. */
  readonly #absent = new Set<RegExp | string>();
  /** Where patterns were last found: valid for every position before. */
  readonly #found = new Map<RegExp, RegExpExecArray>();
  /** Position after the last character that is not white space. */
  readonly end: number;

  constructor(text: string, at = 0) {
    this.text = text;
    this.at = at;
    this.end = text.trimEnd().length;
  }

  get isAtEnd(): boolean {
    return this.at >= this.text.length;
  }

  get next(): string {
    return this.text[this.at] ?? "";
  }

  startsWith(text: string): boolean {
    return this.text.startsWith(text, this.at);
  }

  /** Consumes a match at this position; undefined if the pattern does not match. The pattern must be sticky. */
  take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.at;
    const match = pattern.exec(this.text);
    if (match === null) return undefined;
    this.at += match[0].length;
    return match;
  }

  space(): this {
    this.take(SPACE);
    return this;
  }

  /** Position of the next match. The pattern must be global. */
  search(pattern: RegExp): RegExpExecArray | undefined {
    if (this.#absent.has(pattern)) return undefined;
    const known = this.#found.get(pattern);
    if (known !== undefined && known.index >= this.at) return known;
    pattern.lastIndex = this.at;
    const match = pattern.exec(this.text);
    if (match === null) this.#absent.add(pattern);
    else this.#found.set(pattern, match);
    return match ?? undefined;
  }

  /** The construct that starts here has no end, so nothing is left to read. */
  cutOff(): Unreadable {
    this.at = this.text.length;
    return new Unreadable("it is cut off");
  }

  /** Returns the text up to `end`, and moves after it. */
  until(end: string): string {
    const found = this.#absent.has(end) ? -1 : this.text.indexOf(end, this.at);
    if (found === -1) {
      this.#absent.add(end);
      throw this.cutOff();
    }
    const taken = this.text.slice(this.at, found);
    this.at = found + end.length;
    return taken;
  }

  /** The JSON object or list that starts here, as strict as arguments, or with unambiguous repairs. */
  json(): ReadJson {
    const { end, problem } = endOfJson(this.text, this.at);
    const written = this.text.slice(this.at, end);
    this.at = end;
    if (problem !== undefined) throw new Unreadable(problem);
    const strict = readArguments(`{"value":${written}}`);
    if ("arguments" in strict) return { value: strict.arguments["value"], repaired: [] };
    const repaired = repairJson(written);
    const read = repaired === undefined ? strict : readArguments(`{"value":${repaired.text}}`);
    if ("problem" in read) throw new Unreadable(strict.problem);
    return { value: read.arguments["value"], repaired: repaired?.done ?? [] };
  }
}

/** Where the brackets that open at `start` are closed, or where it is clear that they are not. */
function endOfJson(text: string, start: number): { readonly end: number; readonly problem?: string } {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const character = text[at];
    if (character === '"') at = endOfString(text, at);
    else if (character === "{" || character === "[") {
      depth += 1;
      if (depth > MAX_DEPTH) return { end: at, problem: `its JSON is nested more than ${MAX_DEPTH} deep` };
    } else if (character === "}" || character === "]") {
      depth -= 1;
      if (depth === 0) return { end: at + 1 };
    }
  }
  return { end: text.length, problem: "it is cut off" };
}

/** Position of the closing quote of a string, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '"') return at;
    if (text[at] === "\\") at += 1;
  }
  return text.length;
}
