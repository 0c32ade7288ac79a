import type { ApprovalState } from "../protocol/approval-states.ts";
import type { Approval, ApprovalAnswer, ApprovalRequest, Grant } from "../protocol/approval.ts";

/** Which requests `ApprovalKeeper.list` returns. Default: all. */
export interface ApprovalFilter {
  readonly state?: ApprovalState;
  readonly run_id?: string;
}

/**
 * Which pending request for the same call (the same digest) is reused. `run`: one of the same run. `any`: also one of
 * another run, for a caller that does not wait for the answer. `none`: never.
 */
export interface OpenOptions {
  readonly shared?: "run" | "any" | "none";
}

/** Identifies whose grants apply to a call. */
export interface GrantHolder {
  readonly run_id: string;
  readonly session: string;
}

/**
 * Stores approval requests and grants. Implementations: files in the run folders (library, command line), tables
 * (service). Each method is atomic and survives kill -9; of two concurrent calls the first wins.
 */
export interface ApprovalKeeper {
  /**
   * Records a request as `pending`. If one with the same run, `tool_call_id` and `digest` exists, returns the latest in
   * its current state, so that a call repeated after a restart finds its answer; used and withdrawn requests do not
   * count. A pending request of the same call with another digest is withdrawn. If another call with the same digest is
   * already waiting (default: within the run), returns its request, so that a person is not asked twice.
   */
  open(request: ApprovalRequest, options?: OpenOptions): Promise<Approval>;
  get(approval_id: string): Promise<Approval | undefined>;
  /** The granted, unused approval for exactly this call, from any caller; approvals with edited `args` do not match. */
  findGranted(digest: string): Promise<Approval | undefined>;
  /** Oldest first. */
  list(filter?: ApprovalFilter): Promise<readonly Approval[]>;
  /**
   * `won` is false if it was already answered or closed: the returned approval shows the result. Undefined: unknown id.
   */
  answer(
    approval_id: string,
    answer: ApprovalAnswer,
  ): Promise<{ readonly won: boolean; readonly approval: Approval } | undefined>;
  /** Closes a pending request without an answer. */
  end(approval_id: string, state: "expired" | "withdrawn"): Promise<void>;
  /** Consumes a granted approval for the call that is about to start: true exactly once. */
  use(approval_id: string): Promise<boolean>;
  /** Resolves when the request is no longer pending; rejects with the signal's reason. */
  wait(approval_id: string, signal: AbortSignal): Promise<Approval>;
  /** An existing `grant_id` is left unchanged. */
  addGrant(grant: Grant): Promise<void>;
  /** Grants that apply to this run or session; all grants if no holder is given. */
  grants(holder?: GrantHolder): Promise<readonly Grant[]>;
  /** Returns false if the id is unknown. */
  revoke(grant_id: string): Promise<boolean>;
}
