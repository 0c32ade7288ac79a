import type { ToolError } from "../protocol/errors.ts";
import type { PlannedFile } from "./context.ts";

/** Recorded only where it is another one than that of the process, which new files get anyway. */
interface Owned {
  readonly owner?: { readonly user: number; readonly group: number };
}

/** A file's content and mode at one time. The content itself is kept by its hash. */
export interface FileVersion extends Owned {
  readonly kind?: "file";
  readonly sha256: string;
  readonly size: number;
  readonly mode: number;
  /**
   * Other names of the same file (hard links), one character per byte: the first one that holds the same is made the same
   * file again. At most two: one that kept its content, and the first of all names.
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

/** A pipe, a socket or a device: it can be removed again, but not brought back. */
interface OtherVersion extends Owned {
  readonly kind: "other";
}

/** What stood at a path at one time. */
export type Version = FileVersion | LinkVersion | FolderVersion | OtherVersion;

/** One path of a recorded change. Null stands for: nothing was there, or nothing is left. */
export interface ChangedEntry {
  /** As the call named it. */
  readonly path: string;
  /** Where that led. */
  readonly real: string;
  /** The real path with one character per byte, where it is not valid UTF-8. */
  readonly key?: string;
  readonly before: Version | null;
  readonly after: Version | null;
  /** Another command ran when this changed, so it may be that one's change: undo leaves it alone unless forced. */
  readonly unsure?: true;
  /** The old content was too large to keep, so this file cannot be put back. */
  readonly not_kept?: true;
  /** Folders that were made for it, outermost first. */
  readonly folders_made?: readonly string[];
}

/** One regular file of a change by a tool. */
export interface ChangedFile extends ChangedEntry {
  readonly before: FileVersion | null;
  readonly after: FileVersion | null;
}

/** What it takes to take one change back. */
export interface UndoRecord {
  readonly undo_id: string;
  readonly run_id: string;
  readonly tool_call_id: string;
  /** ISO 8601. */
  readonly ts: string;
  readonly files: readonly ChangedEntry[];
  /** A command made the change, found by comparing the files before and after it. */
  readonly by_command?: true;
  /** What of the change cannot be undone, the first of them, and why; `lost_more` counts the others. */
  readonly lost?: readonly { readonly path: string; readonly why: string }[];
  readonly lost_more?: number;
  /** The change is the runtime's own: it removed a file that would run later, and undo brings that file back. */
  readonly set_aside?: true;
  /** Instead of files: what the tool of that name takes back itself. */
  readonly revert?: { readonly tool: string; readonly undo: unknown };
}

export type UndoTarget = { readonly undo_id: string } | { readonly run_id: string };

/** What a call would undo. */
export type UndoWish = UndoTarget & {
  /** Whatever others changed since. */
  readonly force: boolean;
};

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

/** One path that undo brings from what it has to be now to what it was. */
export interface RestoreItem {
  readonly path: string;
  readonly real: string;
  readonly key?: string;
  /** What is expected there now. */
  readonly from: Version | null;
  readonly to: Version | null;
  /** What it was could not be kept. */
  readonly not_kept: boolean;
  /** Others changed it between two of the changes that are undone. */
  readonly broken: boolean;
  /** Why it is left alone unless forced, whatever becomes of the others: a clause. */
  readonly doubt?: string;
  /** Folders that were made for it, innermost first: removed where that leaves them empty. */
  readonly folders: readonly string[];
}

export interface RestoreRequest {
  readonly run_id: string;
  readonly tool_call_id: string;
  readonly signal: AbortSignal;
  /** Resolves when the start of the call is on the disk. Nothing changes before that. */
  readonly recorded: () => Promise<void>;
  /** Restores over what others changed since. */
  readonly force: boolean;
  /** Given: nothing is changed; gets what would be. */
  readonly onPlanned?: (files: readonly PlannedFile[]) => void;
}

export interface Restored {
  readonly undo_id: string | undefined;
  /** Paths that were changed, with what is there now; those not listed were as before already. */
  readonly files: readonly ChangedEntry[];
  /** Why some of them are not as they were. */
  readonly failure?: ToolError;
}

/** The log, and the way for a gate to add what a tool can take back itself. */
export interface UndoKeeper {
  readonly undoLog: UndoLog;
  /** Restores all of the items. Throws `Stale` where one is not as expected, and then changes none. */
  restore(request: RestoreRequest, items: readonly RestoreItem[]): Promise<Restored>;
  /** Gives the `undo_id`. */
  keepRevert(kept: KeptRevert): Promise<string>;
}
