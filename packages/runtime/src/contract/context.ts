import type { AttachedFile } from "../protocol/attachment.ts";
import type { MemoryKeeper } from "./memory.ts";
import type { ToolNetwork } from "./network.ts";
import type { CallProcesses } from "./processes.ts";
import type { ToolSearch } from "./search.ts";
import type { ToolSkills } from "./skills.ts";
import type { ChangedFile, Restored, RestoreItem, UndoLog, UndoRecord } from "./undo.ts";

/** What a tool gets to work with. These are its only handles to the machine. */
export interface ToolContext {
  readonly tool_call_id: string;
  readonly run_id: string;
  /** Aborted on timeout and on cancel. */
  readonly signal: AbortSignal;
  readonly files: ToolFiles;
  readonly search: ToolSearch;
  readonly processes: CallProcesses;
  readonly network: ToolNetwork;
  readonly skills: ToolSkills;
  /** What was learnt before, for later. Redacts what it is given to keep. Undefined where the host keeps nothing. */
  readonly memory: MemoryKeeper | undefined;
  /** The tools in force, for the one that looks for others. */
  tools(): readonly OfferedTool[];
  /** What this run put aside because it was too long to show. */
  readonly observations: Observations;
  /** For tools that declare `undoes`: the records that the gate looked up and judged, newest first. */
  readonly undo: Undoing;
  /** For output that comes in pieces and may be endless. */
  openTranscript(): Transcript;
  /** Begins a copy of a file for whoever asked. It goes out when the call is on record as done, and not before. */
  openAttachment(file: AttachmentStart): AttachmentWriter;
  /** How much output a caller gets to see at once. */
  readonly limits: OutputLimits;
  readonly cursors: Cursors;
  /** `fraction` from 0 to 1, or null where it cannot be known. `output`: the detail is the next piece of what a command prints. */
  progress(fraction: number | null, detail: string, output?: "stdout" | "stderr"): void;
  /** Shows something at once to whoever asked. Recorded, so that it is there for who looks later. */
  display(shown: Displayed): Promise<void>;
  readonly todo: TodoList;
}

/** A step of the work of a run. */
export interface TodoItem {
  readonly text: string;
  readonly done: boolean;
}

/** The steps of a run, kept in its record and shown to whoever asked. */
export interface TodoList {
  read(): Promise<readonly TodoItem[]>;
  /** Records what the plan makes of the list, and gives it as it is recorded: redacted. What the plan throws is thrown. */
  change(plan: (items: readonly TodoItem[]) => readonly TodoItem[]): Promise<readonly TodoItem[]>;
}

/** A tool, as far as somebody who looks for one has to know it. */
export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  readonly args_schema: Readonly<Record<string, unknown>>;
  readonly search_hint: string | null;
}

export const LEVELS = ["info", "success", "warning", "error", "progress"] as const;

/** The payload of a `display` event, beside the call that it belongs to. */
interface Displayed {
  readonly content: string;
  readonly level: (typeof LEVELS)[number];
  readonly title?: string;
  readonly thought?: string;
  readonly evidence?: readonly string[];
}

interface Observations {
  /** By the `storage_ref` of a result of the same run. Throws `NotFound`. The caller closes it. */
  open(storage_ref: string): Promise<OpenedFile>;
}

interface Undoing extends Pick<UndoLog, "content"> {
  readonly records: readonly UndoRecord[];
  /** See `UndoKeeper.restore`. */
  restore(items: readonly RestoreItem[], options: { readonly force: boolean }): Promise<Restored>;
  /** Has the tool that made the change take it back. */
  revert(record: UndoRecord): Promise<void>;
}

/** Takes what a command prints: redacted as it comes, the whole to the disk, the beginning and the end to be shown. */
export interface Transcript {
  /** Gives what can be shown of it already. */
  write(stream: "stdout" | "stderr", piece: Uint8Array): string;
  /** No output came for a while: gives what more of it can be shown. */
  pause(stream: "stdout" | "stderr"): string;
  end(): TranscriptEnd;
}

export interface TranscriptEnd {
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated_lines: boolean;
  readonly truncated_bytes: boolean;
  readonly redacted: boolean;
  /** Where something was left out: the whole output, up to a bound. */
  readonly aside?: { readonly storage_ref: string; readonly sha256: string };
}

export interface AttachmentStart {
  /** As the receiver sees it. */
  readonly name: string;
  readonly media_type: string;
  /** How its text is written, so that it can be redacted on the way. Null: it is no text. */
  readonly encoding: "utf8" | "latin1" | "utf16le" | "utf16be" | null;
  readonly caption?: string;
}

/** Takes a file piece by piece. Who opened it ends it or drops it. */
export interface AttachmentWriter {
  write(piece: Uint8Array): void;
  /** Throws `FileTooLarge`, and then nothing is attached. */
  end(): { readonly file: AttachedFile; readonly redacted: boolean };
  drop(): void;
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

/** A regular file, open for reading. What is read is this file, whatever its name leads to by now. */
export interface OpenedFile {
  readonly size: number;
  /** Differs whenever the content may differ: made of device, inode, size and times. */
  readonly identity: string;
  /**
   * The bytes from `position` on: `length` of them, or fewer where the file ends. Whoever reads much gives the buffer
   * that they are put `into`.
   */
  read(position: number, length: number, into?: Buffer): Promise<Buffer>;
  close(): void;
}

/** A file that is about to change, as it is now. */
export interface FileBefore {
  readonly path: string;
  /** Null where there is nothing yet. */
  readonly facts: (FileFacts & { readonly mode: number }) | null;
  /** Throws `FileTooLarge` above what can be edited in memory. Empty where there is nothing. */
  read(): Promise<Buffer>;
  /** At most so many bytes at its end, however large it is. */
  readEnd(length: number): Promise<Buffer>;
  /** Of the whole file, however large. Undefined where there is nothing. */
  sha256(): Promise<string | undefined>;
}

/** What a file is to be. `mode` is kept where it is left out; a new file gets the usual one. */
export type FileChange =
  | { readonly path: string; readonly content: Uint8Array; readonly mode?: number }
  | { readonly path: string; readonly append: Uint8Array }
  /** `folders`, innermost first, go with it where that leaves them empty. */
  | { readonly path: string; readonly remove: true; readonly folders?: readonly string[] };

export interface Changed {
  readonly files: readonly ChangedFile[];
  /** Takes the change back. Undefined where nothing changed, or none of the old content could be kept. */
  readonly undo_id: string | undefined;
}

/** A file before or after a change that is only planned. */
export interface FileSide {
  readonly size: number;
  readonly mode: number | undefined;
  /** Left out where it is too large to be shown. */
  readonly content?: Uint8Array;
}

/** What a file would become. Null stands for: there is nothing. */
export interface PlannedFile {
  readonly path: string;
  readonly before: FileSide | null;
  readonly after: FileSide | null;
}

/**
 * Files, as far as this call was allowed to touch them: a path that the tool did not declare, or that leads
 * elsewhere than when it was judged, is refused. Nothing is followed that was not verified after it was opened.
 */
export interface ToolFiles {
  stat(path: string): Promise<FileFacts>;
  list(path: string, options: ListOptions): Promise<Listing>;
  /** For reading. Folders, pipes, sockets and devices are refused without being opened. The caller closes it. */
  open(path: string): Promise<OpenedFile>;
  /**
   * Changes files, all of them or none. `plan` sees what is there and says what is to be; until that is done nobody
   * else who works with this state folder changes these files, and what somebody outside changed meanwhile is not
   * overwritten: `plan` is asked again. What takes the change back is on the disk before the first file changes.
   */
  change(
    paths: readonly string[],
    plan: (before: readonly FileBefore[]) => Promise<readonly FileChange[]>,
  ): Promise<Changed>;
}

/** Cursors are sealed: one that was altered, or made for another tool or other arguments, is refused. */
export interface Cursors {
  seal(position: unknown, boundTo: unknown): string;
  /** Throws `InvalidCursor`. */
  open(cursor: string, boundTo: unknown): unknown;
}
