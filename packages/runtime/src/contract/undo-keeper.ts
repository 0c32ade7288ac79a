import type { ToolError } from "../protocol/errors.ts";
import type { PlannedFile } from "./context.ts";

/** Recorded only if it differs from that of the process, which new files get anyway. */
interface Owned {
  readonly owner?: { readonly user: number; readonly group: number };
}

/** A file's content and mode at one time. The content itself is stored by its hash. */
export interface FileVersion extends Owned {
  readonly kind?: "file";
  readonly sha256: string;
  readonly size: number;
  readonly mode: number;
  /**
   * Other names of the same file (hard links), one character per byte: restore links to the first one with the same
   * content. At most two: one that kept its content, and the first of all names.
   */
  readonly linked?: readonly string[];
}

export interface LinkVersion extends Owned {
  readonly kind: "link";
  /** One character per byte. */
  readonly target: string;
}

interface FolderVersion extends Owned {
  readonly kind: "folder";
  readonly mode: number;
}

/** A pipe, a socket or a device: it can be removed again, but not restored. */
interface OtherVersion extends Owned {
  readonly kind: "other";
}

/** The state of a path at one time. */
export type Version = FileVersion | LinkVersion | FolderVersion | OtherVersion;

/** One path of a recorded change. Null: nothing existed, or nothing is left. */
export interface ChangedEntry {
  /** As the call named it. */
  readonly path: string;
  /** The real path. */
  readonly real: string;
  /** The real path with one character per byte, where it is not valid UTF-8. */
  readonly key?: string;
  readonly before: Version | null;
  readonly after: Version | null;
  /** Another command ran when this changed and may have made the change: undo skips it unless forced. */
  readonly unsure?: true;
  /** The old content was too large to keep, so this file cannot be restored. */
  readonly not_kept?: true;
  /** Folders that were created for it, outermost first. */
  readonly folders_made?: readonly string[];
}

/** One regular file of a change by a tool. */
export interface ChangedFile extends ChangedEntry {
  readonly before: FileVersion | null;
  readonly after: FileVersion | null;
}

/** The data needed to undo one change. */
export interface UndoRecord {
  readonly undo_id: string;
  readonly run_id: string;
  readonly tool_call_id: string;
  /** ISO 8601. */
  readonly ts: string;
  readonly files: readonly ChangedEntry[];
  /** A command made the change, found by comparing the files before and after it. */
  readonly by_command?: true;
  /** The first parts of the change that cannot be undone, with the reason; `lost_more` counts the rest. */
  readonly lost?: readonly { readonly path: string; readonly why: string }[];
  readonly lost_more?: number;
  /** The change is the runtime's own: it removed a file that would run later, and undo brings that file back. */
  readonly set_aside?: true;
  /** Instead of files: data for the named tool's own `revert`. */
  readonly revert?: { readonly tool: string; readonly undo: unknown };
}

export type UndoTarget = { readonly undo_id: string } | { readonly run_id: string };

/** The changes that a call would undo. */
export type UndoRequest = UndoTarget & {
  /** Also overwrite later changes by others. */
  readonly force: boolean;
};

/** Reads recorded changes of any caller. */
export interface UndoLog {
  /** The records of one change or of a whole run, newest first. Throws `NotFound`. */
  find(target: UndoTarget): Promise<readonly UndoRecord[]>;
  /** The content with that hash, or undefined if it is not stored (any more). */
  content(sha256: string): Promise<Buffer | undefined>;
}

/** A change to something other than files, as its tool described it. */
export interface StoredRevert {
  readonly run_id: string;
  readonly tool_call_id: string;
  readonly tool: string;
  readonly undo: unknown;
}

/** One path that undo restores from its expected current state to its old state. */
export interface RestoreItem {
  readonly path: string;
  readonly real: string;
  readonly key?: string;
  /** Expected current state. */
  readonly from: Version | null;
  readonly to: Version | null;
  /** The old content could not be kept. */
  readonly not_kept: boolean;
  /** Others changed it between two of the undone changes. */
  readonly broken: boolean;
  /** Why it is skipped unless forced, independent of the other items: a clause. */
  readonly doubt?: string;
  /** Folders that were created for it, innermost first: removed if that leaves them empty. */
  readonly folders: readonly string[];
}

export interface RestoreRequest {
  readonly run_id: string;
  readonly tool_call_id: string;
  readonly signal: AbortSignal;
  /** Resolves when the start of the call is on disk. Nothing changes before that. */
  readonly recorded: () => Promise<void>;
  /** Overwrites later changes by others. */
  readonly force: boolean;
  /** If set, nothing is changed; receives the planned changes. */
  readonly onPlanned?: (files: readonly PlannedFile[]) => void;
}

export interface RestoreResult {
  readonly undo_id: string | undefined;
  /** Changed paths with their current state; paths that are not listed were already restored. */
  readonly files: readonly ChangedEntry[];
  /** Why some of them could not be restored. */
  readonly failure?: ToolError;
}

/** The log, and the way for the gate to record changes that a tool undoes itself. */
export interface UndoKeeper {
  readonly undoLog: UndoLog;
  /** Restores all items. Throws `Stale` if one is not as expected, and then changes none. */
  restore(request: RestoreRequest, items: readonly RestoreItem[]): Promise<RestoreResult>;
  /** Returns the `undo_id`. */
  keepRevert(kept: StoredRevert): Promise<string>;
}
