import type { EntryKind } from "./context.ts";

/** One thing below the roots that is not as it was before the command. */
export interface CommandChange {
  /** Relative to the working folder where it lies below; a folder that was not looked into ends in "/". */
  readonly path: string;
  readonly real: string;
  readonly kind: EntryKind;
  readonly change: "added" | "changed" | "removed" | "mode";
  readonly undoable: boolean;
  /** A clause: "it is a link". */
  readonly why_not?: string;
}

/** What the command may not do unasked, and what became of it. */
export interface CommandIntrusion {
  readonly path: string;
  readonly real: string;
  /** E.g. ".git/hooks: git runs it". */
  readonly why: string;
  readonly change: "added" | "changed";
  readonly outcome: "restored" | "removed" | "stays";
  /** Why it stays: a clause. */
  readonly problem?: string;
}

/** What is looked for around a command. */
export interface CommandLook {
  /** To be called once, when the command is over. */
  after(): Promise<CommandChanges>;
  /** Instead, where the command never ran. */
  drop(): void;
}

export interface CommandChanges {
  /** In the order of their paths. */
  readonly files: readonly CommandChange[];
  /** How many more there were, where only the first of them were kept. */
  readonly files_more?: number;
  /** Takes back what is `undoable`. Left out where nothing is. */
  readonly undo_id?: string;
  readonly taken_back: readonly CommandIntrusion[];
  readonly taken_back_more?: number;
  /** Undoing it brings back what was set aside. */
  readonly set_aside_id?: string;
  /** Folders that were not looked into, and why: the first of them, and how many more there are. */
  readonly left_out: readonly { readonly path: string; readonly why: string }[];
  readonly left_out_more: number;
  /** Files that were hidden from the command and that git does not track any more: it took them for deleted. */
  readonly untracked?: readonly string[];
  /** How many more changed while commands of other sessions ran: not named, and left alone by undo. */
  readonly unsure?: number;
  /** Another command ran at the same time: a change may be that one's. What it told first is not told again. */
  readonly overlapped: boolean;
  /** The size of the files that it made or changed. */
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
