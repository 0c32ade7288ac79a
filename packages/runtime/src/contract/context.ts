import type { AttachedFile } from "../protocol/attachment.ts";
import type { MemoryKeeper } from "./memory.ts";
import type { ToolNetwork } from "./network.ts";
import type { CallProcesses } from "./processes.ts";
import type { ToolSearch } from "./search.ts";
import type { ToolSkills } from "./skills.ts";
import type { ChangedFile, RestoreResult, RestoreItem, UndoLog, UndoRecord } from "./undo-keeper.ts";

/** Passed to each tool call. These are a tool's only handles to the machine. */
export interface ToolContext {
  readonly tool_call_id: string;
  readonly run_id: string;
  /** Aborted on timeout and on cancellation. */
  readonly signal: AbortSignal;
  readonly files: ToolFiles;
  readonly search: ToolSearch;
  readonly processes: CallProcesses;
  readonly network: ToolNetwork;
  readonly skills: ToolSkills;
  /** Memory entries across runs. Redacts entries before storing them. Undefined if the host has no memory. */
  readonly memory: MemoryKeeper | undefined;
  /** The tools in force, for `tool_search`. */
  tools(): readonly OfferedTool[];
  /** Output that this run stored because it was too long to show. */
  readonly observations: Observations;
  /** For tools that declare `undoes`: the records that the gate found and evaluated, newest first. */
  readonly undo: UndoAccess;
  /** For output that arrives in chunks and may be endless. */
  openTranscript(): Transcript;
  /** Starts a copy of a file for the requester. It is sent only after the call is recorded as completed. */
  openAttachment(file: AttachmentStart): AttachmentWriter;
  /** The maximum output that a caller sees at once. */
  readonly limits: OutputLimits;
  readonly cursors: Cursors;
  /** `fraction` from 0 to 1, or null if unknown. `output`: `detail` is the next chunk of a command's output. */
  progress(fraction: number | null, detail: string, output?: "stdout" | "stderr"): void;
  /** Shows something to the requester immediately. Recorded for later readers. */
  display(shown: Displayed): Promise<void>;
  readonly todo: TodoList;
}

/** A step in a run's to-do list. */
export interface TodoItem {
  readonly text: string;
  readonly done: boolean;
}

/** The to-do list of a run, stored in its record and shown to the requester. */
export interface TodoList {
  read(): Promise<readonly TodoItem[]>;
  /** Records the list that `plan` returns, and returns it as recorded (redacted). Errors of `plan` are rethrown. */
  change(plan: (items: readonly TodoItem[]) => readonly TodoItem[]): Promise<readonly TodoItem[]>;
}

/** The facts about a tool that a tool search needs. */
export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  readonly args_schema: Readonly<Record<string, unknown>>;
  readonly search_hint: string | null;
}

export const LEVELS = ["info", "success", "warning", "error", "progress"] as const;

/** The payload of a `display` event, without its call. */
interface Displayed {
  readonly content: string;
  readonly level: (typeof LEVELS)[number];
  readonly title?: string;
  readonly thought?: string;
  readonly evidence?: readonly string[];
}

interface Observations {
  /** Takes the `storage_ref` of a result of the same run. Throws `NotFound`. The caller closes it. */
  open(storage_ref: string): Promise<OpenedFile>;
}

interface UndoAccess extends Pick<UndoLog, "content"> {
  readonly records: readonly UndoRecord[];
  /** See `UndoKeeper.restore`. */
  restore(items: readonly RestoreItem[], options: { readonly force: boolean }): Promise<RestoreResult>;
  /** Has the tool that made the change undo it. */
  revert(record: UndoRecord): Promise<void>;
}

/** Receives command output: redacts it, stores all of it on disk and keeps the beginning and the end to show. */
export interface Transcript {
  /** Returns the part that can be shown already. */
  write(stream: "stdout" | "stderr", piece: Uint8Array): string;
  /** No output arrived for a while: returns what else can be shown. */
  pause(stream: "stdout" | "stderr"): string;
  end(): TranscriptEnd;
}

export interface TranscriptEnd {
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated_lines: boolean;
  readonly truncated_bytes: boolean;
  readonly redacted: boolean;
  /** If output was left out: reference to the full output, up to a size limit. */
  readonly aside?: { readonly storage_ref: string; readonly sha256: string };
}

export interface AttachmentStart {
  /** The name that the receiver sees. */
  readonly name: string;
  readonly media_type: string;
  /** The encoding of the text, needed for redaction. Null: not text. */
  readonly encoding: "utf8" | "latin1" | "utf16le" | "utf16be" | null;
  readonly caption?: string;
}

/** Receives a file in chunks. The opener must end or drop it. */
export interface AttachmentWriter {
  write(piece: Uint8Array): void;
  /** Throws `FileTooLarge`; then nothing is attached. */
  end(): { readonly file: AttachedFile; readonly redacted: boolean };
  drop(): void;
}

export interface OutputLimits {
  readonly lines: number;
  readonly bytes: number;
}

export type EntryKind = "file" | "directory" | "link" | "other";

export interface Entry {
  /** For display: invalid UTF-8 becomes replacement characters. */
  readonly name: string;
  /** The name's exact bytes, one character per byte: sorts in byte order and identifies the entry. */
  readonly key: string;
  readonly kind: EntryKind;
}

export interface FileFacts {
  readonly kind: EntryKind;
  readonly size: number;
  readonly modified_ms: number;
}

export interface ListOptions {
  /** Keys of the subfolders of `path` that lead to the folder to list. Symbolic links among them are not followed. */
  readonly below?: readonly string[];
  /** Only entries whose key comes after this one. */
  readonly after?: string;
  /** Maximum number of entries, in key order. */
  readonly limit: number;
  readonly show_sensitive?: boolean;
  /** Excludes entries before they are counted. */
  readonly skip?: (name: string) => boolean;
}

export interface Listing {
  readonly entries: readonly Entry[];
  /** More entries follow. */
  readonly more: boolean;
  /** Number of entries withheld because of their names. */
  readonly hidden: number;
}

/** A regular file, open for reading. Reads go to this file even if its name now points elsewhere. */
export interface OpenedFile {
  readonly size: number;
  /** Changes whenever the content may have changed: built from device, inode, size and times. */
  readonly identity: string;
  /**
   * Reads `length` bytes from `position`, or fewer at the end of the file. Callers that read a lot pass a buffer as
   * `into`.
   */
  read(position: number, length: number, into?: Buffer): Promise<Buffer>;
  close(): void;
}

/** The current state of a file that is about to change. */
export interface FileBefore {
  readonly path: string;
  /** Null if nothing exists yet. */
  readonly facts: (FileFacts & { readonly mode: number }) | null;
  /** Throws `FileTooLarge` above the size that can be edited in memory. Empty if nothing exists. */
  read(): Promise<Buffer>;
  /** At most `length` bytes from the end, for files of any size. */
  readEnd(length: number): Promise<Buffer>;
  /** Hash of the entire file, of any size. Undefined if nothing exists. */
  sha256(): Promise<string | undefined>;
}

/** The wanted state of a file. Without `mode` the mode is kept; a new file gets the default one. */
export type FileChange =
  | { readonly path: string; readonly content: Uint8Array; readonly mode?: number }
  | { readonly path: string; readonly append: Uint8Array }
  /** `folders`, innermost first, are removed too if that leaves them empty. */
  | { readonly path: string; readonly remove: true; readonly folders?: readonly string[] };

export interface FilesChange {
  readonly files: readonly ChangedFile[];
  /** Undoes the change. Undefined if nothing changed, or no old content could be kept. */
  readonly undo_id: string | undefined;
}

/** A file before or after a planned change. */
export interface FileSide {
  readonly size: number;
  readonly mode: number | undefined;
  /** Omitted if too large to show. */
  readonly content?: Uint8Array;
}

/** What a file would become. Null: nothing exists. */
export interface PlannedFile {
  readonly path: string;
  readonly before: FileSide | null;
  readonly after: FileSide | null;
}

/**
 * Files that this call may touch: a path that the tool did not declare, or that now leads elsewhere than when it was
 * evaluated, is refused. Every opened file is verified before it is used.
 */
export interface ToolFiles {
  stat(path: string): Promise<FileFacts>;
  list(path: string, options: ListOptions): Promise<Listing>;
  /** Opens for reading. Folders, pipes, sockets and devices are refused without being opened. The caller closes it. */
  open(path: string): Promise<OpenedFile>;
  /**
   * Changes files, all or none. `plan` sees the current files and returns the wanted ones; until the change is done, no
   * other user of this state folder changes these files. Changes from outside are not overwritten: `plan` is called
   * again. The undo data is on disk before the first file changes.
   */
  change(
    paths: readonly string[],
    plan: (before: readonly FileBefore[]) => Promise<readonly FileChange[]>,
  ): Promise<FilesChange>;
}

/** Cursors are sealed: altered ones, and ones made for another tool or other arguments, are refused. */
export interface Cursors {
  seal(position: unknown, boundTo: unknown): string;
  /** Throws `InvalidCursor`. */
  open(cursor: string, boundTo: unknown): unknown;
}
