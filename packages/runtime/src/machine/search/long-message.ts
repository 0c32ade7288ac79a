import { keyOf } from "../system/keys.ts";
import type { LineMessage } from "./rg-messages.ts";

const STRING = String.raw`((?:[^"\\]|\\.)*)`;
const BEGINNING = new RegExp(
  String.raw`^\{"type":"(match|context)","data":\{"path":\{"(text|bytes)":"${STRING}"\},"lines":\{"(text|bytes)":"`,
);
const END = new RegExp(
  String.raw`^\},"line_number":(\d+),"absolute_offset":(\d+),"submatches":\[(?:\{"match":\{"(?:text|bytes)":"${STRING}"\},"start":(\d+))?`,
);

const QUOTE = 34;
const BACKSLASH = 92;
const LETTER_U = 117;
const EQUALS = 61;

/** Bytes kept after the lines: line number, offset, and the first match if it is short. */
const TAIL_BYTES = 4096;

/**
 * A message too long for memory: a line of a gigabyte, or a short one with a million matches. Keeps its beginning and
 * the fields after the lines, which relies on the order of the fields.
 */
export class LongMessage {
  readonly #type: LineMessage["type"] | undefined;
  readonly #key: string;
  readonly #isText: boolean;
  readonly #kept: Buffer;
  readonly #headStart: number;
  /** End of the stored part of the lines, at a character boundary. */
  #headEnd: number;
  #length = 0; // characters of the lines so far: bytes, or base64 digits
  #padding = 0; // of base64, whose last two digits may be "="
  #escaped = 0; // remaining characters of an escape, which counts as one
  #isHex = false;
  #isInside = true;
  #tail = "";

  constructor(kept: Buffer) {
    const begun = BEGINNING.exec(kept.toString("latin1"));
    const [all = "", type, pathForm, path = "", linesForm] = begun ?? [];
    this.#type = type as LineMessage["type"] | undefined;
    this.#key = keyOfString(path, pathForm === "text");
    this.#isText = linesForm === "text";
    this.#kept = kept;
    this.#headStart = all.length;
    this.#headEnd = all.length;
    if (this.#type === undefined) return;
    const rest = this.#scan(kept.subarray(all.length), (at) => (this.#headEnd = all.length + at));
    this.#take(rest);
  }

  feed(piece: Buffer): void {
    if (this.#type !== undefined) this.#take(this.#isInside ? this.#scan(piece) : piece);
  }

  /** Undefined if the message was not about lines. */
  finish(): LineMessage | undefined {
    if (this.#type === undefined) return undefined;
    const [, line, offset, , start] = END.exec(this.#tail) ?? [];
    if (line === undefined || offset === undefined) {
      throw new Error("Cannot parse the output of rg: a line message lacks required fields");
    }
    const head = this.#isText ? this.#text() : this.#bytes();
    return {
      type: this.#type,
      key: this.#key,
      head,
      headLength: typeof head === "string" ? Buffer.byteLength(head) : head.length,
      length: this.#isText ? this.#length : Math.floor((this.#length * 3) / 4) - this.#padding,
      line: Number(line),
      offset: Number(offset),
      start: Number(start ?? 0),
    };
  }

  /** Scans the lines up to the closing quote, and returns the bytes after it. */
  #scan(piece: Buffer, onCharacters?: (end: number) => void): Buffer {
    const quotes = finder(piece, QUOTE);
    const backslashes = finder(piece, BACKSLASH);
    for (let at = 0; at < piece.length;) {
      if (this.#escaped > 0) {
        this.#continueEscape(piece[at++]);
      } else {
        const next = Math.min(quotes(at), backslashes(at));
        this.#length += next - at;
        for (const byte of piece.subarray(Math.max(at, next - 2), next)) if (byte === EQUALS) this.#padding++;
        onCharacters?.(next);
        if (piece[next] === QUOTE) {
          this.#isInside = false;
          return piece.subarray(next + 1);
        }
        if (piece[next] === BACKSLASH) this.#escaped = 1;
        at = next + 1;
      }
      if (this.#escaped === 0) onCharacters?.(Math.min(at, piece.length));
    }
    return piece.subarray(piece.length);
  }

  #continueEscape(byte: number | undefined): void {
    if (byte === LETTER_U && !this.#isHex) {
      this.#escaped = 4;
      this.#isHex = true;
    } else if (--this.#escaped === 0) {
      this.#isHex = false;
      this.#length++;
    }
  }

  #take(piece: Buffer): void {
    if (this.#isInside || this.#tail.length >= TAIL_BYTES) return;
    this.#tail += piece.toString("latin1", 0, TAIL_BYTES - this.#tail.length);
  }

  #text(): string {
    // The stored part may end within a character.
    const end = this.#headEnd === this.#kept.length ? wholeCharacters(this.#kept, this.#headEnd) : this.#headEnd;
    return JSON.parse(`"${this.#kept.toString("utf8", this.#headStart, end)}"`) as string;
  }

  #bytes(): Buffer {
    const digits = this.#kept.toString("latin1", this.#headStart, this.#headEnd);
    return Buffer.from(digits.slice(0, digits.length - (digits.length % 4)), "base64");
  }
}

/** Finds the next position of a byte, or the end, for ascending start positions. */
function finder(bytes: Buffer, wanted: number): (from: number) => number {
  let next = -1;
  return (from) => {
    if (next < from) {
      const found = bytes.indexOf(wanted, from);
      next = found < 0 ? bytes.length : found;
    }
    return next;
  };
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** The end of the last complete character before `end`. */
function wholeCharacters(bytes: Buffer, end: number): number {
  let start = end;
  while (start > 0 && end - start < 4 && isContinuation(bytes[start - 1])) start--;
  const lead = bytes[start - 1] ?? 0;
  const needed = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return end - (start - 1) < needed ? start - 1 : end;
}

function keyOfString(inner: string, isText: boolean): string {
  if (!isText) return Buffer.from(inner, "base64").toString("latin1");
  // `inner` has one character per byte; the UTF-8 text that it encodes is parsed.
  return keyOf(JSON.parse(`"${Buffer.from(inner, "latin1").toString("utf8")}"`) as string);
}
