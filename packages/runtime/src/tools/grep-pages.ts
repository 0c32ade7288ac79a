import type { OutputLimits } from "../contract/context.ts";
import type { FoundLine, LinePlace } from "../contract/search.ts";
import { makeVisible, makeVisibleLines } from "../output/visible.ts";

export type GrepMode = "lines" | "files" | "counts";

interface PageOptions {
  /** Matches, or files. */
  readonly limit: number;
  readonly limits: OutputLimits;
  readonly context: number;
  /** Where the page before ended. */
  readonly after: LinePlace | undefined;
  readonly pathOf: (line: FoundLine) => string;
}

interface GrepData {
  readonly matches?: { path: string; line: number; text: string }[];
  readonly files?: string[];
  readonly counts?: { path: string; count: number }[];
}

/** A page of results in the making. */
export interface GrepPage {
  readonly text: string;
  readonly data: GrepData;
  readonly count: number;
  readonly unit: { readonly one: string; readonly many: string };
  /** Where the page ends. */
  readonly last: LinePlace | undefined;
  readonly full: "limit" | "lines" | "bytes" | undefined;
  /** Adds what was found, or gives false where the page is full: then there is more, and it is not on it. */
  add(line: FoundLine): boolean;
  /** There is nothing more to add. False where something did not fit after all. */
  finish(): boolean;
}

export const GREP_PAGES: Readonly<Record<GrepMode, (options: PageOptions) => GrepPage>> = {
  lines: (options) => new LinesPage(options),
  files: (options) => new FilesPage(options),
  counts: (options) => new CountsPage(options),
};

/** Text that is put together up to both limits. The first piece always goes in: no page is empty. */
class Sheet {
  readonly #limits: OutputLimits;
  #pieces: string[] = [];
  #lines = 0;
  #bytes = 0;

  constructor(limits: OutputLimits) {
    this.#limits = limits;
  }

  get text(): string {
    return this.#pieces.join("");
  }

  /** What is full, or undefined where the piece went in. */
  write(piece: string, lines: number): "lines" | "bytes" | undefined {
    const bytes = Buffer.byteLength(piece);
    if (this.#pieces.length > 0) {
      if (this.#lines + lines > this.#limits.lines) return "lines";
      if (this.#bytes + bytes > this.#limits.bytes) return "bytes";
    }
    this.#pieces.push(piece);
    this.#lines += lines;
    this.#bytes += bytes;
    return undefined;
  }
}

class LinesPage implements GrepPage {
  readonly unit = { one: "matching line", many: "matching lines" };
  readonly data: { readonly matches: { path: string; line: number; text: string }[] } = { matches: [] };
  readonly #options: PageOptions;
  readonly #sheet: Sheet;
  #last: LinePlace | undefined;
  #lastMatch: LinePlace | undefined;
  #full: GrepPage["full"];

  constructor(options: PageOptions) {
    this.#options = options;
    this.#sheet = new Sheet(options.limits);
    this.#last = options.after;
  }

  get text(): string {
    return this.#sheet.text;
  }

  get count(): number {
    return this.data.matches.length;
  }

  get last(): LinePlace | undefined {
    return this.#last;
  }

  get full(): GrepPage["full"] {
    return this.#full;
  }

  add(found: FoundLine): boolean {
    const { limit, limits, pathOf } = this.#options;
    if (this.count >= limit && !this.#isBesideLastMatch(found)) {
      this.#full = limit === limits.lines ? "lines" : "limit";
      return false;
    }
    const path = pathOf(found);
    const text = textOf(found);
    const gap = this.#isAfterGap(found) ? "--\n" : "";
    this.#full = this.#sheet.write(`${gap}${format(path, text, found)}\n`, gap === "" ? 1 : 2);
    if (this.#full !== undefined) return false;
    const { key, line } = found;
    this.#last = { key, line };
    if (found.is_match) {
      this.data.matches.push({ path, line, text });
      this.#lastMatch = this.#last;
    }
    return true;
  }

  finish(): boolean {
    return true;
  }

  /** The last match of a page keeps the lines after it; those before the next match go with that one. */
  #isBesideLastMatch({ is_match, key, line }: FoundLine): boolean {
    if (is_match || this.#lastMatch?.key !== key) return false;
    return line <= this.#lastMatch.line + this.#options.context;
  }

  #isAfterGap({ key, line }: FoundLine): boolean {
    if (this.#options.context === 0 || this.#last === undefined) return false;
    return this.#last.key !== key || this.#last.line + 1 !== line;
  }
}

function textOf({ text, cut_before, cut_after, binary }: FoundLine): string {
  if (binary === true) return "binary file matches";
  const before = cut_before === 0 ? "" : `[+${cut_before} bytes]…`;
  const after = cut_after === 0 ? "" : `…[+${cut_after} bytes]`;
  return `${before}${text}${after}`;
}

function format(path: string, text: string, { line, is_match, binary }: FoundLine): string {
  if (binary === true) return `${makeVisible(path)}: ${text}`;
  const mark = is_match ? ":" : "-";
  return `${makeVisible(path)}${mark}${line}${mark}${makeVisibleLines(text)}`;
}

/** After everything in a file. */
const END_OF_FILE = Number.MAX_SAFE_INTEGER;

class FilesPage implements GrepPage {
  readonly unit = { one: "file with a match", many: "files with a match" };
  readonly data: { readonly files: string[] } = { files: [] };
  readonly #options: PageOptions;
  readonly #sheet: Sheet;
  #last: LinePlace | undefined;
  #full: GrepPage["full"];

  constructor(options: PageOptions) {
    this.#options = options;
    this.#sheet = new Sheet(options.limits);
  }

  get text(): string {
    return this.#sheet.text;
  }

  get count(): number {
    return this.data.files.length;
  }

  get last(): LinePlace | undefined {
    return this.#last;
  }

  get full(): GrepPage["full"] {
    return this.#full;
  }

  add(found: FoundLine): boolean {
    if (found.key === this.#last?.key) return true;
    const { limit, limits, pathOf } = this.#options;
    const path = pathOf(found);
    const isOver = this.count >= limit;
    this.#full = isOver ? (limit === limits.lines ? "lines" : "limit") : this.#sheet.write(`${makeVisible(path)}\n`, 1);
    if (this.#full !== undefined) return false;
    this.data.files.push(path);
    this.#last = { key: found.key, line: END_OF_FILE };
    return true;
  }

  finish(): boolean {
    return true;
  }
}

class CountsPage implements GrepPage {
  readonly unit = { one: "file with a match", many: "files with a match" };
  readonly data: { readonly counts: { path: string; count: number }[] } = { counts: [] };
  readonly #options: PageOptions;
  readonly #sheet: Sheet;
  /** The file whose matches are being counted. */
  #current: { readonly key: string; readonly path: string; count: number } | undefined;
  #last: LinePlace | undefined;
  #full: GrepPage["full"];

  constructor(options: PageOptions) {
    this.#options = options;
    this.#sheet = new Sheet(options.limits);
  }

  get text(): string {
    return this.#sheet.text;
  }

  get count(): number {
    return this.data.counts.length;
  }

  get last(): LinePlace | undefined {
    return this.#last;
  }

  get full(): GrepPage["full"] {
    return this.#full;
  }

  add(found: FoundLine): boolean {
    if (found.key !== this.#current?.key) {
      if (!this.finish()) return false;
      this.#current = { key: found.key, path: this.#options.pathOf(found), count: 0 };
    }
    if (this.#current !== undefined) this.#current.count++;
    const { limit, limits } = this.#options;
    if (this.count < limit) return true;
    this.#full = limit === limits.lines ? "lines" : "limit";
    return false;
  }

  finish(): boolean {
    if (this.#current === undefined) return true;
    const { key, path, count } = this.#current;
    this.#full = this.#sheet.write(`${makeVisible(path)}:${count}\n`, 1);
    if (this.#full !== undefined) return false;
    this.data.counts.push({ path, count });
    this.#last = { key, line: END_OF_FILE };
    this.#current = undefined;
    return true;
  }
}
