import type { EntryKind } from "./context.ts";

/** A path below the roots that differs from its state before the command. */
export interface CommandChange {
  /** Relative to the working folder if below it; a folder that was not scanned ends in "/". */
  readonly path: string;
  readonly real: string;
  readonly kind: EntryKind;
  readonly change: "added" | "changed" | "removed" | "mode";
  readonly undoable: boolean;
  /** A clause: "it is a link". */
  readonly why_not?: string;
}

/** A change that needs approval but was made without it, and how it was handled. */
export interface CommandIntrusion {
  readonly path: string;
  readonly real: string;
  /** E.g. ".git/hooks: git runs it". */
  readonly why: string;
  readonly change: "added" | "changed";
  readonly outcome: "restored" | "removed" | "stays";
  /** Why it was left in place: a clause. */
  readonly problem?: string;
}

/** Detects what a command changes. */
export interface ChangeDetection {
  /** Call once, when the command has ended. */
  after(): Promise<CommandChanges>;
  /** Call instead of `after` if the command never ran. */
  drop(): void;
}

export interface CommandChanges {
  /** Sorted by path. */
  readonly files: readonly CommandChange[];
  /** Number of further changes that are not listed. */
  readonly files_more?: number;
  /** Undoes the `undoable` changes. Omitted if none are undoable. */
  readonly undo_id?: string;
  readonly taken_back: readonly CommandIntrusion[];
  readonly taken_back_more?: number;
  /** Undoing it restores the files that were set aside. */
  readonly set_aside_id?: string;
  /** The first folders that were not scanned, with the reason; `left_out_more` counts the rest. */
  readonly left_out: readonly { readonly path: string; readonly why: string }[];
  readonly left_out_more: number;
  /** Files that were hidden from the command and that git no longer tracks: git considered them deleted. */
  readonly untracked?: readonly string[];
  /** Number of changes made while commands of other sessions ran: not listed, and skipped by undo. */
  readonly unsure?: number;
  /**
   * Another command ran at the same time and may have made some changes. Changes that it already reported are omitted.
   */
  readonly overlapped: boolean;
  /** Total size of the created and changed files. */
  readonly bytes_written: number;
}

export const NO_CHANGES: CommandChanges = {
  files: [],
  taken_back: [],
  left_out: [],
  left_out_more: 0,
  overlapped: false,
  bytes_written: 0,
};
