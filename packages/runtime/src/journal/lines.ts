import { createReadStream } from "node:fs";

export interface Line {
  readonly text: string;
  /** False for a last line that no line end follows. */
  readonly whole: boolean;
}

/** The lines of a file, some at a time. Only "\n" ends a line: JSON text may hold the other characters that end lines elsewhere. */
export async function* readLines(path: string): AsyncIterable<readonly Line[]> {
  let rest = "";
  for await (const chunk of createReadStream(path, { encoding: "utf8", highWaterMark: 1 << 20 })) {
    const lines = (rest + String(chunk)).split("\n");
    rest = lines.pop() ?? "";
    yield lines.map((text) => ({ text, whole: true }));
  }
  if (rest !== "") yield [{ text: rest, whole: false }];
}
