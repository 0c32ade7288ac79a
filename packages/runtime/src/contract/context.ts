/** What a tool gets to work with. These are its only handles to the machine. */
export interface ToolContext {
  readonly tool_call_id: string;
  readonly run_id: string;
  /** Aborted on timeout and on cancel. */
  readonly signal: AbortSignal;
  readonly files: ToolFiles;
  /** How much output a caller gets to see at once. */
  readonly limits: OutputLimits;
  readonly cursors: Cursors;
  /** `fraction` from 0 to 1, or null where it cannot be known. */
  progress(fraction: number | null, detail: string): void;
}

export interface OutputLimits {
  readonly lines: number;
  readonly bytes: number;
}

export type EntryKind = "file" | "directory" | "link" | "other";

export interface Entry {
  /** For people: bytes that are no UTF-8 stand as replacement marks. */
  readonly name: string;
  /** The name's exact bytes, one character a byte: sorts in byte order, leads back to the entry. */
  readonly key: string;
  readonly kind: EntryKind;
}

export interface FileFacts {
  readonly kind: EntryKind;
  readonly size: number;
  readonly modified_ms: number;
}

export interface ListOptions {
  /** Keys of the folders below `path` that lead to the one to list. Links among them are not followed. */
  readonly below?: readonly string[];
  /** Only entries whose key comes after this one. */
  readonly after?: string;
  /** At most so many entries: the first ones in the order of their keys. */
  readonly limit: number;
  readonly show_sensitive?: boolean;
  /** Leaves entries out before they count. */
  readonly skip?: (name: string) => boolean;
}

export interface Listing {
  readonly entries: readonly Entry[];
  /** There are entries after the last one given. */
  readonly more: boolean;
  /** Entries kept back because of their names. */
  readonly hidden: number;
}

/**
 * Files, as far as this call was allowed to touch them: a path that the tool did not declare, or that leads
 * elsewhere than when it was judged, is refused. Nothing is followed that was not verified after it was opened.
 */
export interface ToolFiles {
  stat(path: string): Promise<FileFacts>;
  list(path: string, options: ListOptions): Promise<Listing>;
}

/** Cursors are sealed: one that was altered, or made for another tool or other arguments, is refused. */
export interface Cursors {
  seal(position: unknown, boundTo: unknown): string;
  /** Throws `InvalidCursor`. */
  open(cursor: string, boundTo: unknown): unknown;
}
