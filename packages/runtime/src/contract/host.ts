import type { ApprovalAnswer, ApprovalRequest, ReverseThinking } from "../protocol/approval.ts";

/** Milliseconds since the epoch. */
export type Clock = () => number;

/** Asks a person. `null`: nobody is there who may answer, and the call is refused with `ApprovalRequired`. */
export type OnApproval = (
  request: ApprovalRequest,
  options: { readonly signal: AbortSignal },
) => Promise<ApprovalAnswer | null> | ApprovalAnswer | null;

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
