import type { Counts, QuotaHolder } from "./quotas.ts";
import type { ToolCallResult } from "../protocol/result.ts";
import type { EventDraft, RuntimeEvent } from "../protocol/event-record.ts";

/** How events are appended to a journal. */
export interface AppendOptions {
  /** Survives a power loss, not only kill -9. */
  readonly durable?: boolean;
  /** The full result of the call that these events end, for journals that store results. */
  readonly result?: ToolCallResult;
  /** Journals with `commits` apply it in the same transaction; for others the caller applies it before appending. */
  readonly commit?: StartCommit;
}

/** Resources that the start of a call consumes. */
export interface StartCommit {
  /**
   * The granted approval that the call consumes. Throws `ApprovalExpired` if it was already used or revoked; then
   * nothing is recorded.
   */
  readonly approval_id?: string;
  readonly quota?: { readonly holder: QuotaHolder; readonly counts: Counts };
}

/** Whether a recorded call has ended. */
export type CallState = "open" | "ended";

/** The record of one run. Implementations: a file (library), a table (service). */
export interface Journal {
  readonly run_id: string;
  /** `AppendOptions.commit` is applied together with the append. */
  readonly commits?: true;
  /**
   * Chains the events and returns once they are recorded. On failure throws and records none of them. Drafts must be
   * redacted already.
   */
  append(drafts: readonly EventDraft[], options?: AppendOptions): Promise<readonly RuntimeEvent[]>;
  /** Resolves when all appended events survive a power loss. Omitted by journals whose appends are always durable. */
  sync?(): Promise<void>;
  /**
   * The recorded state of a call of this run. `open`: started and not ended. Omitted by journals that cannot look it
   * up: then only concurrent calls are detected.
   */
  callState?(tool_call_id: string): Promise<CallState | undefined>;
  /** Recorded events with `seq` above `after`, in order. */
  read(after?: number): AsyncIterable<RuntimeEvent>;
  close(): Promise<void>;
}

/** A file in `observations/` that is being written. The writer closes it. */
export interface ObservationWriter {
  readonly storage_ref: string;
  write(bytes: Uint8Array): void;
  close(): void;
}

/** A file in `artifacts/` that is being written; it gets its name once it is complete. The writer ends it. */
export interface ArtifactWriter {
  write(bytes: Uint8Array): void;
  /** Durable when this returns. Returns the path in the run's folder. */
  keep(name: string): string;
  drop(): void;
}

/** Where a run stores output that is too long to show, and files for the requester. */
export interface RunFolder {
  /** Writes the text to `observations/` and returns its reference and hash. */
  storeText(name: string, text: string): { readonly storage_ref: string; readonly sha256: string };
  /** The same for text that arrives in chunks. */
  openAside(name: string): ObservationWriter;
  /** `id`: the owner of the file. A partly written file of the same owner is started over. */
  openArtifact(id: string): ArtifactWriter;
  /** The path of a stored observation. Throws `NotFound` if the run stored nothing under that reference. */
  pathOf(storage_ref: string): string;
}

/** Opens the journal of a run, for hosts that store the record elsewhere. */
export type OpenJournal = (run_id: string) => Promise<Journal>;
