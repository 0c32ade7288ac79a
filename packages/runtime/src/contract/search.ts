import type { EntryKind } from "./context.ts";

/** A glob over the paths below the searched folder. */
export interface NameFilter {
  /** As it was given. The engine may be told of it to be faster, never to decide. */
  readonly pattern: string;
  /** Decides. */
  matches(path: string): boolean;
}

export interface TextQuery {
  /** A regular expression as ripgrep has it: no backtracking, so no pattern can make it hang. */
  readonly pattern: string;
  readonly ignore_case: boolean;
  /** A match may go over several lines. */
  readonly multiline: boolean;
  /** Lines before and after each match that are given too. */
  readonly context: number;
  /** No more than the first match of each file. */
  readonly first_only: boolean;
  /** Left out of account where the path is a file. */
  readonly glob?: NameFilter;
  /** A kind of file by ripgrep's table: `ts`, `py`. */
  readonly type?: string;
  /** Only what comes after this line, in the order of the search. */
  readonly after?: LinePlace;
  /** Told what could not be searched. */
  readonly onComplaint: (complaint: string) => void;
}

export interface LinePlace {
  readonly key: string;
  readonly line: number;
}

/** A line that matches, or one beside it. It is in a file inside the roots, at this place, or was when it was read. */
export interface FoundLine extends LinePlace {
  /** Below the searched folder, for people; empty where the path is a file itself. */
  readonly path: string;
  /** The path's exact bytes, one character a byte. */
  readonly key: string;
  readonly line: number;
  readonly is_match: boolean;
  /** Without its line end. A long line is cut to what is around the match. */
  readonly text: string;
  /** Bytes of the line that were cut before and after `text`. */
  readonly cut_before: number;
  readonly cut_after: number;
  /** The file is no text: this stands for all of its matches, and `text` is empty. */
  readonly binary?: true;
}

export interface NamesQuery {
  readonly filter: NameFilter;
  /** Left out: any kind. */
  readonly kind?: Exclude<EntryKind, "other">;
  /** 1 is the folder itself. */
  readonly max_depth?: number;
  readonly order: "path" | "newest";
  /** Only what comes after the entry of this rank. */
  readonly after?: string;
  readonly limit: number;
}

export interface FoundName {
  /** Below the searched folder, for people. */
  readonly path: string;
  readonly kind: EntryKind;
  /** Its place in the order. Compares as a string. */
  readonly rank: string;
}

export interface FoundNames {
  readonly entries: readonly FoundName[];
  /** The rank to go on after, where there are more. */
  readonly next: string | undefined;
  /** Entries kept back because of their names. */
  readonly hidden: number;
  /** The program that looked: "rg", or the path of fd. */
  readonly engine: string;
  /** What the engines of this machine could not do. */
  readonly notes: readonly string[];
}

/**
 * Search, as far as this call was allowed to look. `.gitignore` is respected, links are not followed. What an engine
 * says is believed only after it was verified: a folder that turns into a link while it is searched shows nothing.
 */
export interface ToolSearch {
  /** Lines in path order: names compared byte by byte, a folder's own entries right after it. Leaving the loop ends it. */
  text(path: string, query: TextQuery): AsyncIterable<FoundLine>;
  /** Holds no more than the entries that are asked for, however many there are. */
  names(path: string, query: NamesQuery): Promise<FoundNames>;
}
