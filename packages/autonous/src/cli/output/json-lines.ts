import { parseStrictJson } from "@autonous/runtime";
import { syntaxReason } from "../../model/calls/json-syntax.ts";

/** A line over this is answered with a refusal instead of being held. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

export type JsonLine = { readonly value: unknown } | { readonly problem: string };

/** JSON Lines: one item for each line, in order, however bad it is. What follows the last line end is a line if it is anything. */
export async function* readJsonLines(input: AsyncIterable<Buffer>): AsyncIterable<JsonLine> {
  for await (const line of splitLines(input)) {
    yield line === undefined ? { problem: `The line is longer than ${MAX_LINE_BYTES} bytes` } : parseLine(line);
  }
}

function parseLine(bytes: Buffer): JsonLine {
  const text = decode(bytes);
  if (text === undefined) return { problem: "The line is not UTF-8" };
  if (text.trim() === "") return { problem: "The line is empty" };
  return parseJson(text, "The line is no JSON");
}

/** JSON text as its value; or what is wrong with it. The problem shows nothing of the text, which may hold a secret. */
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

/** Undefined stands for a line that is too long; its bytes are let go as they come. */
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

/** All of it as text. */
export async function readAll(input: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  for await (const chunk of input) parts.push(chunk);
  return Buffer.concat(parts).toString("utf8");
}
