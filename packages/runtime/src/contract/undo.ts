/** A file's content and mode at one time. The content itself is kept by its hash. */
export interface FileVersion {
  readonly sha256: string;
  readonly size: number;
  readonly mode: number;
}

/** One file of a recorded change. Null stands for: there was nothing, or nothing is left. */
export interface ChangedFile {
  /** As the call named it. */
  readonly path: string;
  /** Where that led. */
  readonly real: string;
  readonly before: FileVersion | null;
  readonly after: FileVersion | null;
  /** The old content was too large to keep, so this file cannot be put back. */
  readonly not_kept?: true;
  /** Folders that were made for it, outermost first. */
  readonly folders_made?: readonly string[];
}

/** What it takes to take one change back. */
export interface UndoRecord {
  readonly undo_id: string;
  readonly run_id: string;
  readonly tool_call_id: string;
  /** ISO 8601. */
  readonly ts: string;
  readonly files: readonly ChangedFile[];
  /** Instead of files: what the tool of that name takes back itself. */
  readonly revert?: { readonly tool: string; readonly undo: unknown };
}

export type UndoTarget = { readonly undo_id: string } | { readonly run_id: string };

/** Reads what is on record of changes, whoever made them. */
export interface UndoLog {
  /** The records of one change or of a whole run, newest first. Throws `NotFound`. */
  find(target: UndoTarget): Promise<readonly UndoRecord[]>;
  /** The content of that hash, or undefined where it is not kept (any more). */
  content(sha256: string): Promise<Buffer | undefined>;
}

/** A change that is no file's, as its tool described it. */
export interface KeptRevert {
  readonly run_id: string;
  readonly tool_call_id: string;
  readonly tool: string;
  readonly undo: unknown;
}

/** The log, and the way for a gate to add what a tool can take back itself. */
export interface UndoKeeper {
  readonly undoLog: UndoLog;
  /** Gives the `undo_id`. */
  keepRevert(kept: KeptRevert): Promise<string>;
}
