/** A line over this is answered with a refusal instead of being held. */
const MAX_LINE = 64 * 1024 * 1024;

export type JsonLine = { readonly value: unknown } | { readonly problem: string };

/** Standard input as JSON Lines: one item for each line that is not blank, in order, however bad it is. */
export async function* readJsonLines(input: AsyncIterable<Buffer>): AsyncIterable<JsonLine> {
  for await (const line of splitLines(input)) {
    if (line === undefined) yield { problem: `The line is longer than ${MAX_LINE} bytes` };
    else if (line.trim() !== "") yield parseLine(line);
  }
}

function parseLine(line: string): JsonLine {
  try {
    return { value: JSON.parse(line) as unknown };
  } catch (error) {
    return { problem: `The line is no JSON: ${(error as Error).message}` };
  }
}

/** Undefined stands for a line that is too long; its bytes are let go as they come. */
async function* splitLines(input: AsyncIterable<Buffer>): AsyncIterable<string | undefined> {
  let parts: Buffer[] = [];
  let length = 0;
  function take(): string | undefined {
    const line = length > MAX_LINE ? undefined : Buffer.concat(parts).toString("utf8");
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
    if (length <= MAX_LINE) parts.push(chunk.subarray(from));
    else parts = [];
  }
  if (length > 0) yield take();
}

/** All of standard input as text. */
export async function readAll(input: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  for await (const chunk of input) parts.push(chunk);
  return Buffer.concat(parts).toString("utf8");
}
