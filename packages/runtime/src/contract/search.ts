import type { EntryKind } from "./context.ts";

/** A glob over the paths below the searched folder. */
export interface NameFilter {
  /** As given. The engine may use it as a filter for speed; `matches` decides. */
  readonly pattern: string;
  /** Final decision. */
  matches(path: string): boolean;
}

export interface TextQuery {
  /** A regular expression in ripgrep syntax: no backtracking, so no pattern can make it hang. */
  readonly pattern: string;
  readonly ignore_case: boolean;
  /** A match may span several lines. */
  readonly multiline: boolean;
  /** Context lines before and after each match. */
  readonly context: number;
  /** Only the first match per file. */
  readonly first_only: boolean;
  /** Ignored if the path is a file. */
  readonly glob?: NameFilter;
  /** A ripgrep file type: `ts`, `py`. */
  readonly type?: string;
  /** Only results after this line, in search order. */
  readonly after?: LinePlace;
  /** Called for each part that could not be searched. */
  readonly onComplaint: (complaint: string) => void;
}

export interface LinePlace {
  readonly key: string;
  readonly line: number;
}

/** A matching line or a context line. It is in a file inside the roots, as of the time it was read. */
export interface SearchLine extends LinePlace {
  /** Relative to the searched folder, for display; empty if the path is a file itself. */
  readonly path: string;
  /** The path's exact bytes, one character per byte. */
  readonly key: string;
  readonly line: number;
  readonly is_match: boolean;
  /** Without its line end. A long line is cut to the part around the match. */
  readonly text: string;
  /** Number of bytes cut before and after `text`. */
  readonly cut_before: number;
  readonly cut_after: number;
  /** The file is binary: one entry for all of its matches, with an empty `text`. */
  readonly binary?: true;
}

export interface NamesQuery {
  readonly filter: NameFilter;
  /** Default: any kind. */
  readonly kind?: Exclude<EntryKind, "other">;
  /** 1 is the folder itself. */
  readonly max_depth?: number;
  readonly order: "path" | "newest";
  /** Only entries after this rank. */
  readonly after?: string;
  readonly limit: number;
}

export interface SearchName {
  /** Relative to the searched folder, for display. */
  readonly path: string;
  readonly kind: EntryKind;
  /** Position in the sort order. Compares as a string. */
  readonly rank: string;
}

export interface SearchNames {
  readonly entries: readonly SearchName[];
  /** The rank to continue after, if there are more. */
  readonly next: string | undefined;
  /** Number of entries withheld because of their names. */
  readonly hidden: number;
  /** The program that searched: "rg", or the path of fd. */
  readonly engine: string;
  /** Limitations of the search engines on this machine. */
  readonly notes: readonly string[];
}

/**
 * Search within the paths that this call may read. Respects `.gitignore`, does not follow symbolic links. Engine
 * results are verified before they are used: a folder that is replaced by a link during the search yields nothing.
 */
export interface ToolSearch {
  /**
   * Lines in path order: names compared byte by byte, a folder's entries right after it. Leaving the loop stops the
   * search.
   */
  text(path: string, query: TextQuery): AsyncIterable<SearchLine>;
  /** Memory use is bounded by the requested number of entries. */
  names(path: string, query: NamesQuery): Promise<SearchNames>;
}
