import { readArguments } from "../calls/json-reply.ts";
import { repairJson } from "../calls/repair-json.ts";

/** Why a text that looks like a call cannot be read: a clause. */
export class Unreadable extends Error {}

/** JSON as it was read, and what was repaired in it. */
export interface ReadJson {
  readonly value: unknown;
  readonly repaired: readonly string[];
}

const SPACE = /\s*/y;
/** Deeper than any tool's arguments. */
const MAX_DEPTH = 100;

/** A place in a text that moves forward. What it cannot read it throws `Unreadable` for. */
export class TextReader {
  readonly text: string;
  at: number;
  /** Patterns that occur nowhere behind this place: each is looked for in vain once. */
  readonly #absent = new Set<RegExp | string>();
  /** Where patterns were found last: that holds for every place before it. */
  readonly #found = new Map<RegExp, RegExpExecArray>();
  /** Behind the last character that is not white space. */
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

  /** Moves over what the pattern matches right here; undefined where it does not. The pattern is sticky. */
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

  /** Where the pattern matches next. The pattern is global. */
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

  /** What was begun here has no end, so that nothing is left to read. */
  cutOff(): Unreadable {
    this.at = this.text.length;
    return new Unreadable("it is cut off");
  }

  /** The text up to `end`, and moves behind it. */
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

  /** The JSON value that begins here: an object or a list, as strict as arguments are, or with what has one reading. */
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

/** The place of the quote that closes a string, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '"') return at;
    if (text[at] === "\\") at += 1;
  }
  return text.length;
}
