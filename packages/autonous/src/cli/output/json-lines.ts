import { parseStrictJson } from "@autonous/runtime/internal";
import { syntaxReason } from "../../model/calls/json-syntax.ts";

/** Longer lines are rejected instead of buffered. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

export type JsonLine = { readonly value: unknown } | { readonly problem: string };

/** JSON Lines: one item per line, in order, also for invalid lines. Text after the last line break counts as a line. */
export async function* readJsonLines(input: AsyncIterable<Buffer>): AsyncIterable<JsonLine> {
  for await (const line of splitLines(input)) {
    yield line === undefined ? { problem: `The line is longer than ${MAX_LINE_BYTES} bytes` } : parseLine(line);
  }
}

function parseLine(bytes: Buffer): JsonLine {
  const text = decode(bytes);
  if (text === undefined) return { problem: "The line is not UTF-8" };
  if (text.trim() === "") return { problem: "The line is empty" };
  return parseJson(text, "The line is not valid JSON");
}

/** Parses JSON text, or returns the problem, which never quotes the text: it may contain a secret. */
export function parseJson(text: string, complaint: string): JsonLine {
  try {
    return { value: parseStrictJson(text) };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { problem: `${complaint} (${syntaxReason(error)})` };
  }
}

function decode(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return undefined;
  }
}

/** Yields undefined for a line that is too long, without buffering it. */
async function* splitLines(input: AsyncIterable<Buffer>): AsyncIterable<Buffer | undefined> {
  let parts: Buffer[] = [];
  let length = 0;
  function take(): Buffer | undefined {
    const line = length > MAX_LINE_BYTES ? undefined : Buffer.concat(parts);
    parts = [];
    length = 0;
    return line;
  }
  for await (const chunk of input) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      parts.push(chunk.subarray(from, end));
      length += end - from;
      yield take();
      from = end + 1;
    }
    if (from === chunk.length) continue;
    length += chunk.length - from;
    if (length <= MAX_LINE_BYTES) parts.push(chunk.subarray(from));
    else parts = [];
  }
  if (length > 0) yield take();
}

/** Reads the whole input as text. */
export async function readAll(input: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  for await (const chunk of input) parts.push(chunk);
  return Buffer.concat(parts).toString("utf8");
}
