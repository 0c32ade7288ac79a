import { ToolError } from "../protocol/errors.ts";

/** The change of one file in a patch. Chunk lines are as in the patch. */
export type PatchChange = PatchAdd | PatchDelete | PatchUpdate;

export interface PatchAdd {
  readonly kind: "add";
  readonly path: string;
  readonly content: string;
}

export interface PatchDelete {
  readonly kind: "delete";
  readonly path: string;
  /** The expected content of the file, if the patch contains it. */
  readonly chunks: readonly PatchChunk[];
}

export interface PatchUpdate {
  readonly kind: "update";
  readonly path: string;
  readonly move_to?: string;
  readonly chunks: readonly PatchChunk[];
  /**
   * `envelope`: chunks go to the first place they fit, new lines get the file's first line end, and the file ends in a
   * line end. `unified`: line numbers determine the place, neighbours the line end, and the end of the file is as
   * written.
   */
  readonly format: "envelope" | "unified";
}

export interface PatchChunk {
  /** First line in the patch, from 1. */
  readonly patch_line: number;
  /** Lines that must precede it, in order: `@@ class A`. */
  readonly anchors: readonly string[];
  /** Index of the target line according to the patch, from 0. */
  readonly line_hint?: number;
  /** Belongs at the end of the file. */
  readonly at_end?: true;
  /** ` context`, `-old`, `+new`; an empty line is empty context; `\ No newline…` refers to the line before it. */
  readonly lines: readonly string[];
}

/** Reads the lines of a patch in order. */
export class PatchReader {
  readonly lines: readonly string[];
  readonly #before: number;
  at = 0;

  /** `before`: number of lines of the original text before these. */
  constructor(lines: readonly string[], before: number) {
    this.lines = lines;
    this.#before = before;
  }

  get done(): boolean {
    return this.at >= this.lines.length;
  }

  /** The next line, or one further ahead; empty after the end. */
  peek(ahead = 0): string {
    return this.lines[this.at + ahead] ?? "";
  }

  next(): string {
    const line = this.peek();
    this.at++;
    return line;
  }

  /** The current line of the original patch, from 1. */
  get line(): number {
    return this.#before + this.at + 1;
  }

  /** The error for unexpected content at this line. */
  fail(expected: string, line = this.line): ToolError {
    const text = this.lines[line - this.#before - 1];
    const found = text === undefined ? "the patch ends here" : `found ${JSON.stringify(cut(text))}`;
    const message = `Cannot read the patch: line ${line} must be ${expected}; ${found}`;
    return new ToolError("InvalidArguments", message, { field: "patch_text", line, expected });
  }
}

const SHOWN = 120;

function cut(text: string): string {
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}

const NUMBERS = /^@@ -(\d{1,9})(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))?(?: ?@@|$)/;

export interface ChunkHeader {
  readonly anchor?: string;
  readonly line_hint?: number;
  /** Number of old and new lines according to the header. */
  readonly counts?: { readonly old: number; readonly new: number };
}

/** Reads `@@`, `@@ -1,2 +3,4 @@ …` or `@@ a line of the file`. Other headers are refused. */
export function readChunkHeader(reader: PatchReader): ChunkHeader {
  const line = reader.peek().trimEnd();
  const numbers = NUMBERS.exec(line);
  if (numbers !== null) {
    reader.next();
    const [, start = "1", old = "1", added = "1"] = numbers;
    // Without old lines the number is that of the line before.
    const line_hint = Math.max(0, Number(start) - (Number(old) === 0 ? 0 : 1));
    return { line_hint, counts: { old: Number(old), new: Number(added) } };
  }
  if (!/^@@( |$)/.test(line) || /^@@ [-+]\d/.test(line)) {
    throw reader.fail('"@@", "@@ " and a line of the file, or "@@ -1,2 +1,3 @@"');
  }
  reader.next();
  const anchor = line.slice(3).replace(/ ?@@$/, "");
  return anchor.trim() === "" || anchor === "..." ? {} : { anchor };
}
