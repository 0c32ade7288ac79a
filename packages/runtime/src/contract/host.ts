import type { ApprovalAnswer, ApprovalRequest, ReverseThinking } from "../protocol/approval.ts";

/** Milliseconds since the epoch. */
export type Clock = () => number;

/**
 * Result of asking: an answer; `null`: no one can answer, and the call is refused with `ApprovalRequired`; `parked`:
 * the answer comes later, so the call stays open and is repeated once the answer exists.
 */
type ApprovalReply = ApprovalAnswer | "parked" | null;

/** Asks a person. The signal is aborted when the answer is no longer needed: someone else answered, or time ran out. */
export type OnApproval = (
  request: ApprovalRequest,
  options: { readonly signal: AbortSignal },
) => Promise<ApprovalReply> | ApprovalReply;

export interface HookCall {
  readonly tool_call_id: string;
  readonly tool: string;
  readonly version: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** Decides whether a checkpoint tool may run. */
export type OnCheckpoint = (
  call: HookCall,
) =>
  | Promise<{ answer: "grant" | "deny"; reason?: string; by?: string }>
  | { answer: "grant" | "deny"; reason?: string; by?: string };

/** Challenges a call before it runs. */
export type OnReverseThinking = (call: HookCall) => Promise<ReverseThinking> | ReverseThinking;
