import type { FoundLine } from "../../contract/search.ts";
import { cutLine } from "./cut-line.ts";
import type { CutLine } from "./cut-line.ts";
import type { FileContent } from "./file-content.ts";
import type { LineMessage } from "./rg-messages.ts";

export interface LinesOptions {
  readonly path: string;
  readonly key: string;
  /** Only lines with a higher number. */
  readonly after: number;
  /** The message is about this very file, without doubt. */
  readonly isVerified: boolean;
}

/** The lines of a message, if the file has them where the message says. */
export function* linesOf(
  message: LineMessage,
  content: FileContent,
  { path, key, after, isVerified }: LinesOptions,
): Generator<FoundLine> {
  const isLong = message.length > message.headLength;
  // Lines of one message are as many as its line ends; most have one, and then this is quick.
  if (message.line <= after && !isMany(message.head)) return;
  if (!isVerified && !isInFile(message, content)) return;
  const is_match = message.type === "match";
  const text = typeof message.head === "string" ? message.head : message.head.toString("utf8");
  let { line } = message;
  for (let at = 0; at < text.length || at === 0; line++) {
    const newline = text.indexOf("\n", at);
    const end = newline < 0 ? text.length : newline;
    if (line > after) {
      const isFirst = at === 0;
      const isLast = newline < 0;
      const whole = text.slice(at, text[end - 1] === "\r" && newline >= 0 ? end - 1 : end);
      yield { path, key, line, is_match, ...cut(whole, { message, content, isFirst, isOpen: isLong && isLast }) };
    }
    if (newline < 0) return;
    at = newline + 1;
  }
}

function isMany(head: string | Buffer): boolean {
  const newline = head.indexOf("\n");
  return newline >= 0 && newline + 1 < head.length;
}

function isInFile({ head, headLength, offset }: LineMessage, content: FileContent): boolean {
  const bytes = content.read(offset, headLength);
  return typeof head === "string" ? bytes.toString("utf8") === head : bytes.equals(head);
}

interface CutOptions {
  readonly message: LineMessage;
  readonly content: FileContent;
  readonly isFirst: boolean;
  /** More of this line, or of the lines after it, was not kept. */
  readonly isOpen: boolean;
}

/** Bytes around a far match that are read to show it: enough for the width in the widest characters. */
const BEFORE_BYTES = 1024;
const AROUND_BYTES = 4096;

function cut(line: string, { message, content, isFirst, isOpen }: CutOptions): CutLine {
  const { start, length, offset } = message;
  const kept = Buffer.byteLength(line);
  if (isOpen && isFirst && start >= kept) {
    const from = start - BEFORE_BYTES;
    const around = content.read(offset + from, Math.min(AROUND_BYTES, length - from));
    const text = around.toString("utf8").replace(/\n[^]*/, "");
    const shown = cutLine(text, around.toString("utf8", 0, BEFORE_BYTES).length);
    const cut_before = from + shown.cut_before;
    return {
      text: shown.text,
      cut_before,
      cut_after: Math.max(0, length - cut_before - Buffer.byteLength(shown.text)),
    };
  }
  const matchStart = isFirst && start > 0 && line.length > 400 ? charactersIn(line, start) : 0;
  const shown = cutLine(line, matchStart);
  const missing = isOpen ? length - message.headLength : 0;
  return { ...shown, cut_after: shown.cut_after + missing };
}

/** How many characters the first bytes of a line are. */
function charactersIn(line: string, bytes: number): number {
  return Buffer.from(line).toString("utf8", 0, bytes).length;
}
