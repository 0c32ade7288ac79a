import { keyOf } from "../system/keys.ts";
import { LongMessage } from "./long-message.ts";

/** A message of `rg --json` about lines of a file. */
export interface LineMessage {
  readonly type: "match" | "context";
  /** The path as rg prints it, one character per byte. */
  readonly key: string;
  /** The lines with line endings, or only their beginning if they are long. A Buffer for invalid UTF-8. */
  readonly head: string | Buffer;
  /** Length of `head` in bytes. */
  readonly headLength: number;
  /** Length of all lines in bytes. */
  readonly length: number;
  readonly line: number;
  /** Offset of the lines in the file as rg counts it. */
  readonly offset: number;
  /** Offset in bytes of the first match within the lines, if known. */
  readonly start: number;
}

export type Message = LineMessage | { readonly type: "summary" };

/** Maximum bytes kept of a message: enough for any path, and for more of a line than is ever shown. */
const KEPT_BYTES = 65_536;

const NEWLINE = 10;

/** Reads the stream of messages. Holds only the beginning of one message at a time. */
export class MessageReader {
  #pieces: Buffer[] = [];
  #size = 0;
  #long: LongMessage | undefined;

  *push(chunk: Buffer): Generator<Message> {
    for (let at = 0; at < chunk.length;) {
      const newline = chunk.indexOf(NEWLINE, at);
      const piece = chunk.subarray(at, newline < 0 ? chunk.length : newline);
      at += piece.length + 1;
      this.#add(piece);
      if (newline < 0) return;
      const message = this.#finish();
      if (message !== undefined) yield message;
    }
  }

  #add(piece: Buffer): void {
    if (this.#long !== undefined) {
      this.#long.feed(piece);
      return;
    }
    this.#pieces.push(piece);
    this.#size += piece.length;
    if (this.#size <= KEPT_BYTES) return;
    const all = Buffer.concat(this.#pieces);
    this.#long = new LongMessage(all.subarray(0, KEPT_BYTES));
    this.#long.feed(all.subarray(KEPT_BYTES));
    this.#pieces = [];
  }

  #finish(): Message | undefined {
    const [only, ...more] = this.#pieces;
    const message =
      this.#long === undefined
        ? parseMessage(only === undefined || more.length > 0 ? Buffer.concat(this.#pieces) : only)
        : this.#long.finish();
    this.#long = undefined;
    this.#pieces = [];
    this.#size = 0;
    return message;
  }
}

type Data = { readonly text: string } | { readonly bytes: string };

interface RawMessage {
  readonly type: string;
  readonly data: {
    readonly path: Data;
    readonly lines: Data;
    readonly line_number: number;
    readonly absolute_offset: number;
    readonly submatches: readonly { readonly start: number }[];
  };
}

/** `{"type":"m`atch and `c`ontext; the summary begins with `{"data"`; other messages are ignored. */
const LETTER = 9;
const [M, C, S] = ["m", "c", "s"].map((letter) => letter.charCodeAt(0));

function parseMessage(line: Buffer): Message | undefined {
  const letter = line[LETTER];
  if (letter !== M && letter !== C) {
    const isSummary = letter === S || line.includes('"type":"summary"', Math.max(0, line.length - 32));
    return isSummary ? { type: "summary" } : undefined;
  }
  // The matches within the line are by far the longest part, and only the start of the first is needed. Quotes within
  // strings are escaped, so this text cannot occur inside one.
  const text = line.toString("utf8");
  const rest = text.indexOf(AFTER_FIRST_START, text.indexOf(BEFORE_SUBMATCHES));
  const { type, data } = JSON.parse(rest < 0 ? text : `${text.slice(0, rest)}}]}}`) as RawMessage;
  const head = valueOf(data.lines);
  const length = typeof head === "string" ? Buffer.byteLength(head) : head.length;
  return {
    type: type === "match" ? "match" : "context",
    key: keyOfData(data.path),
    head,
    headLength: length,
    length,
    line: data.line_number,
    offset: data.absolute_offset,
    start: data.submatches[0]?.start ?? 0,
  };
}

const BEFORE_SUBMATCHES = '"submatches":[{';
const AFTER_FIRST_START = ',"end":';

function valueOf(data: Data): string | Buffer {
  return "text" in data ? data.text : Buffer.from(data.bytes, "base64");
}

function keyOfData(data: Data): string {
  const value = valueOf(data);
  return typeof value === "string" ? keyOf(value) : value.toString("latin1");
}
