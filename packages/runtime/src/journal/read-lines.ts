import { closeSync, createReadStream, readSync } from "node:fs";
import { openOwnFile } from "../own-files/read-own-file.ts";

export interface Line {
  /** Empty if the line is too long to be read. */
  readonly text: string;
  /** False for a last line without a line end. */
  readonly whole: boolean;
  /** Its length, if it is longer than any line that we write. */
  readonly too_long?: number;
}

const BLOCK = 1 << 20;
/** An event has at most 4 Mi characters; a stored result may have more, since the output limits are settings. */
const LONGEST = 64 * 1024 * 1024;

/**
 * The lines of a file in batches. Only "\n" ends a line: JSON text may contain other characters that end lines
 * elsewhere.
 */
export async function* readLines(path: string, longest: number = LONGEST): AsyncIterable<readonly Line[]> {
  const splitter = new Splitter(longest);
  for await (const chunk of createReadStream(path, { fd: openOwnFile(path), encoding: "utf8", highWaterMark: BLOCK })) {
    const lines = splitter.take(String(chunk));
    if (lines.length > 0) yield lines;
  }
  yield* splitter.end();
}

/** The same, synchronously. */
export function* readLinesSync(path: string, longest: number = LONGEST): Iterable<Line> {
  const splitter = new Splitter(longest);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const block = Buffer.alloc(BLOCK);
  const fd = openOwnFile(path);
  try {
    for (let size = readSync(fd, block); size > 0; size = readSync(fd, block))
      yield* splitter.take(decoder.decode(block.subarray(0, size), { stream: true }));
  } finally {
    closeSync(fd);
  }
  for (const last of splitter.end()) yield* last;
}

/** Linear in the input; keeps no more of a line than may be read. */
class Splitter {
  readonly #longest: number;
  #begun: string[] = [];
  #length = 0;

  constructor(longest: number) {
    this.#longest = longest;
  }

  take(chunk: string): readonly Line[] {
    const pieces = chunk.split("\n");
    const rest = pieces.pop() ?? "";
    const lines = pieces.map((piece) => {
      this.#add(piece);
      return this.#line(true);
    });
    this.#add(rest);
    return lines;
  }

  end(): readonly (readonly Line[])[] {
    return this.#length === 0 ? [] : [[this.#line(false)]];
  }

  #add(piece: string): void {
    this.#length += piece.length;
    if (this.#length > this.#longest) this.#begun = [];
    else if (piece !== "") this.#begun.push(piece);
  }

  #line(whole: boolean): Line {
    const [first = "", ...more] = this.#begun;
    const text = more.length === 0 ? first : this.#begun.join("");
    const line = this.#length > this.#longest ? { text: "", whole, too_long: this.#length } : { text, whole };
    this.#begun = [];
    this.#length = 0;
    return line;
  }
}
