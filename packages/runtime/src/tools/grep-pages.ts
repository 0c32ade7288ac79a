import type { OutputLimits } from "../contract/context.ts";
import type { SearchLine, LinePlace } from "../contract/search.ts";
import { makeVisible, makeVisibleLines } from "../output/visible.ts";

interface PageOptions {
  /** Matches, or files. */
  readonly limit: number;
  readonly limits: OutputLimits;
  readonly context: number;
  /** Where the previous page ended. */
  readonly after: LinePlace | undefined;
  readonly pathOf: (line: SearchLine) => string;
}

interface GrepData {
  readonly matches?: { path: string; line: number; text: string }[];
  readonly files?: string[];
  readonly counts?: { path: string; count: number }[];
}

const FILES = { one: "file with a match", many: "files with a match" } as const;

/** A page of results under construction. Its first item always fits, whatever the limits, so no page is empty. */
export abstract class GrepPage {
  protected readonly options: PageOptions;
  readonly unit: { readonly one: string; readonly many: string } = FILES;
  #pieces: string[] = [];
  #lines = 0;
  #bytes = 0;
  #last: LinePlace | undefined;
  #full: "limit" | "lines" | "bytes" | undefined;

  constructor(options: PageOptions) {
    this.options = options;
    this.#last = options.after;
  }

  abstract readonly data: GrepData;

  /** Adds a result, or returns false if the page is full: then there are more results. */
  abstract add(line: SearchLine): boolean;

  /** Matches or files on it. */
  abstract get count(): number;

  /** Call when there are no more results. False if something did not fit. */
  finish(): boolean {
    return true;
  }

  get text(): string {
    return this.#pieces.join("");
  }

  /** Where it ends. */
  get last(): LinePlace | undefined {
    return this.#last;
  }

  get full(): "limit" | "lines" | "bytes" | undefined {
    return this.#full;
  }

  /** Whether the page has its maximum number of matches or files. */
  protected isAtLimit(): boolean {
    const { limit, limits } = this.options;
    if (this.count < limit) return false;
    this.#full = limit === limits.lines ? "lines" : "limit";
    return true;
  }

  /** Writes whole lines, or returns false if they do not fit. */
  protected write(piece: string, { lines = 1, end }: { lines?: number; end: LinePlace }): boolean {
    const { limits } = this.options;
    const bytes = Buffer.byteLength(piece);
    if (this.#pieces.length > 0) {
      if (this.#lines + lines > limits.lines) this.#full = "lines";
      else if (this.#bytes + bytes > limits.bytes) this.#full = "bytes";
      if (this.#full !== undefined) return false;
    }
    this.#pieces.push(piece);
    this.#lines += lines;
    this.#bytes += bytes;
    this.#last = end;
    return true;
  }
}

class LinesPage extends GrepPage {
  override readonly unit = { one: "matching line", many: "matching lines" };
  readonly data: { readonly matches: { path: string; line: number; text: string }[] } = { matches: [] };
  #lastMatch: LinePlace | undefined;

  get count(): number {
    return this.data.matches.length;
  }

  add(found: SearchLine): boolean {
    if (!this.#isBesideLastMatch(found) && this.isAtLimit()) return false;
    const path = this.options.pathOf(found);
    const text = textOf(found);
    const end = { key: found.key, line: found.line };
    const gap = this.#isAfterGap(found) ? "--\n" : "";
    if (!this.write(`${gap}${format(path, text, found)}\n`, { lines: gap === "" ? 1 : 2, end })) return false;
    if (!found.is_match) return true;
    this.data.matches.push({ path, line: found.line, text });
    this.#lastMatch = end;
    return true;
  }

  /** The last match of a page keeps the lines after it; those before the next match go with that one. */
  #isBesideLastMatch({ is_match, key, line }: SearchLine): boolean {
    if (is_match || this.#lastMatch?.key !== key) return false;
    return line <= this.#lastMatch.line + this.options.context;
  }

  /** Also at the beginning of a page, so that the concatenated pages are the complete text. */
  #isAfterGap({ key, line }: SearchLine): boolean {
    if (this.options.context === 0 || this.last === undefined) return false;
    return this.last.key !== key || this.last.line + 1 !== line;
  }
}

function textOf({ text, cut_before, cut_after, binary }: SearchLine): string {
  if (binary === true) return "binary file matches";
  const before = cut_before === 0 ? "" : `[+${cut_before} bytes]…`;
  const after = cut_after === 0 ? "" : `…[+${cut_after} bytes]`;
  return `${before}${text}${after}`;
}

function format(path: string, text: string, { line, is_match, binary }: SearchLine): string {
  if (binary === true) return `${makeVisible(path)}: ${text}`;
  const mark = is_match ? ":" : "-";
  return `${makeVisible(path)}${mark}${line}${mark}${makeVisibleLines(text)}`;
}

/** After everything in a file. */
const END_OF_FILE = Number.MAX_SAFE_INTEGER;

class FilesPage extends GrepPage {
  readonly data: { readonly files: string[] } = { files: [] };

  get count(): number {
    return this.data.files.length;
  }

  add(found: SearchLine): boolean {
    const { key } = found;
    if (key === this.last?.key) return true;
    const path = this.options.pathOf(found);
    if (this.isAtLimit() || !this.write(`${makeVisible(path)}\n`, { end: { key, line: END_OF_FILE } })) return false;
    this.data.files.push(path);
    return true;
  }
}

class CountsPage extends GrepPage {
  readonly data: { readonly counts: { path: string; count: number }[] } = { counts: [] };
  /** The file whose matches are being counted. */
  #current: { readonly key: string; readonly path: string; count: number } | undefined;

  get count(): number {
    return this.data.counts.length;
  }

  add(found: SearchLine): boolean {
    if (found.key !== this.#current?.key) {
      if (!this.finish() || this.isAtLimit()) return false;
      this.#current = { key: found.key, path: this.options.pathOf(found), count: 0 };
    }
    this.#current.count++;
    return true;
  }

  override finish(): boolean {
    if (this.#current === undefined) return true;
    const { key, path, count } = this.#current;
    if (!this.write(`${makeVisible(path)}:${count}\n`, { end: { key, line: END_OF_FILE } })) return false;
    this.data.counts.push({ path, count });
    this.#current = undefined;
    return true;
  }
}

const PAGES = { lines: LinesPage, files: FilesPage, counts: CountsPage } as const;
export type GrepMode = keyof typeof PAGES;

export function startPage(mode: GrepMode, options: PageOptions): GrepPage {
  return new PAGES[mode](options);
}
