import type { ApprovalAnswer, ApprovalRequest, ReverseThinking } from "../protocol/approval.ts";

/** Milliseconds since the epoch. */
export type Clock = () => number;

/**
 * What became of asking: an answer; `null`: nobody is there who may answer, and the call is refused with
 * `ApprovalRequired`; `parked`: the answer comes later, so the call is left open, and made again when it is there.
 */
type Asked = ApprovalAnswer | "parked" | null;

/** Asks a person. The signal is aborted when the answer is no longer wanted: somebody else gave it, or it is too late. */
export type OnApproval = (
  request: ApprovalRequest,
  options: { readonly signal: AbortSignal },
) => Promise<Asked> | Asked;

export interface HookCall {
  readonly tool_call_id: string;
  readonly tool: string;
  readonly version: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** Lets a checkpoint tool run, or not. */
export type OnCheckpoint = (
  call: HookCall,
) =>
  | Promise<{ answer: "grant" | "deny"; reason?: string; by?: string }>
  | { answer: "grant" | "deny"; reason?: string; by?: string };

/** Challenges a call before it runs. */
export type OnReverseThinking = (call: HookCall) => Promise<ReverseThinking> | ReverseThinking;
