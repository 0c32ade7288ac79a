import type { ApprovalState } from "../protocol/approval-states.ts";
import type { Approval, ApprovalAnswer, ApprovalRequest, Grant } from "../protocol/approval.ts";

/** Which requests `ApprovalKeeper.list` returns. Default: all. */
export interface ApprovalFilter {
  readonly state?: ApprovalState;
  readonly run_id?: string;
}

/**
 * Whose waiting request for the same call (the same digest) stands for a new one. `run`: one of the same run. `any`: also
 * one of another run, for a caller that does not wait for the answer. `none`: no other.
 */
export interface OpenOptions {
  readonly shared?: "run" | "any" | "none";
}

/** Whose grants count for a call. */
export interface GrantHolder {
  readonly run_id: string;
  readonly session: string;
}

/**
 * Where requests and grants are kept. Makers: files in the runs' folders (library, command line), tables (service).
 * Each method is whole: what it did survives kill -9, and of two at once the first wins.
 */
export interface ApprovalKeeper {
  /**
   * Puts a request on record as `pending`. Where one of the same run, `tool_call_id` and `digest` is there already, gives
   * the latest as it stands, so that a call that is made again after a restart finds its answer; one that was used or
   * withdrawn does not count. An open one of the same call with another digest is withdrawn. Where another call with the
   * same digest waits for an answer already, its request is given (default: within the run): nobody is asked twice.
   */
  open(request: ApprovalRequest, options?: OpenOptions): Promise<Approval>;
  get(approval_id: string): Promise<Approval | undefined>;
  /** The one that was granted as it is (its answer has no `args`) and not used, for exactly this call, whoever made it. */
  findGranted(digest: string): Promise<Approval | undefined>;
  /** Oldest first. */
  list(filter?: ApprovalFilter): Promise<readonly Approval[]>;
  /** `won` is false where it was answered, or over, before: then the approval tells how. Undefined: there is none. */
  answer(
    approval_id: string,
    answer: ApprovalAnswer,
  ): Promise<{ readonly won: boolean; readonly approval: Approval } | undefined>;
  /** Ends one that is open without an answer. */
  end(approval_id: string, state: "expired" | "withdrawn"): Promise<void>;
  /** Takes a granted one for the call that is about to begin: true exactly once. */
  use(approval_id: string): Promise<boolean>;
  /** Resolves when it is no longer pending; rejects with the signal's reason. */
  wait(approval_id: string, signal: AbortSignal): Promise<Approval>;
  /** A `grant_id` that is there already stays as it is. */
  addGrant(grant: Grant): Promise<void>;
  /** Those that count for this run or session; all of them where nobody is named. */
  grants(holder?: GrantHolder): Promise<readonly Grant[]>;
  /** Gives false where there is none of that id. */
  revoke(grant_id: string): Promise<boolean>;
}
