import type { Counts, QuotaHolder } from "./quotas.ts";
import type { ToolCallResult } from "../protocol/result.ts";
import type { EventDraft, RuntimeEvent } from "../protocol/event-record.ts";

/** How events are appended to a journal. */
export interface AppendOptions {
  /** Survives a power cut, not only kill -9. */
  readonly durable?: boolean;
  /** The whole result of the call that these events end, for journals that keep results. */
  readonly result?: ToolCallResult;
  /** Done in the same commit by journals that can (`commits`); where they cannot, whoever appends does it before. */
  readonly commit?: StartCommit;
}

/** What the start of a call uses up. */
export interface StartCommit {
  /**
   * A granted approval, which the start uses. Throws `ApprovalExpired` where it was used or taken back before: then
   * nothing is recorded.
   */
  readonly approval_id?: string;
  readonly quota?: { readonly holder: QuotaHolder; readonly counts: Counts };
}

/** Whether a recorded call has ended. */
export type CallState = "open" | "ended";

/** The record of one run. Makers: a file (library), a table (service). */
export interface Journal {
  readonly run_id: string;
  /** `AppendOptions.commit` is done with the append. */
  readonly commits?: true;
  /**
   * Chains the events and returns when they are recorded. Throws when they could not be, and then none of them is.
   * Drafts have to be redacted already.
   */
  append(drafts: readonly EventDraft[], options?: AppendOptions): Promise<readonly RuntimeEvent[]>;
  /**
   * Resolves when everything that was appended so far survives a power cut too. Left out by journals whose appends all
   * do.
   */
  sync?(): Promise<void>;
  /**
   * What is on record of a call of this run. `open`: started and not ended. Left out by journals that do not know: then
   * only calls that run at the same time are told apart.
   */
  callState?(tool_call_id: string): Promise<CallState | undefined>;
  /** The events recorded so far with `seq` above `after`, in order. */
  read(after?: number): AsyncIterable<RuntimeEvent>;
  close(): Promise<void>;
}

/** A file in `observations/` that is being written. Who writes it closes it. */
export interface AsideWriter {
  readonly storage_ref: string;
  write(bytes: Uint8Array): void;
  close(): void;
}

/** A file in `artifacts/` that is being written; it has no name there before it is whole. Who writes it ends it. */
export interface ArtifactWriter {
  write(bytes: Uint8Array): void;
  /** Survives a power cut when this returns. Gives its place in the run's folder. */
  keep(name: string): string;
  drop(): void;
}

/** Where a run puts what is too long to be shown, and what is for whoever asked. */
export interface RunFolder {
  /** Writes the text to `observations/` and gives its reference and the hash of its bytes. */
  putAside(name: string, text: string): { readonly storage_ref: string; readonly sha256: string };
  /** The same for what comes in pieces. */
  openAside(name: string): AsideWriter;
  /** `id`: whose file it is. A file of the same that was left half written is begun anew. */
  openArtifact(id: string): ArtifactWriter;
  /** Where that is. Throws `NotFound` where the run put nothing aside under that reference. */
  pathOf(storage_ref: string): string;
}

/** Opens the journal of a run, for hosts that keep the record elsewhere. */
export type OpenJournal = (run_id: string) => Promise<Journal>;
