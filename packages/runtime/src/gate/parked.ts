import type { ApprovalRequest } from "../protocol/approval.ts";
import type { ToolCallRequest } from "../protocol/call.ts";
import { ERRORS, ToolError } from "../protocol/errors.ts";
import type { ToolCallResult } from "../protocol/result.ts";

/** Ends this attempt at a call and not the call: it waits for a person, and is made again under the same id. */
export class Parked extends ToolError {
  constructor(
    tool: string,
    { approval_id, digest, expires_at }: Pick<ApprovalRequest, "approval_id" | "digest" | "expires_at">,
  ) {
    super("ApprovalRequired", `"${tool}" waits for a person to approve it, until ${expires_at} at most`, {
      approval_id,
      digest,
      expires_at,
      parked: true,
      hint: "The call is open. Make it again with the same tool_call_id once somebody has answered.",
    });
  }
}

/** Whether a call waits for a person and stays open. */
export function isParked({ error }: ToolCallResult): boolean {
  return error?.details?.["parked"] === true;
}

/** For a call that was to follow one that waits: it is not made before that one, and is open too. */
export function waitBehind({ name, tool_call_id }: ToolCallRequest, { error }: ToolCallResult): ToolCallResult {
  const { class: errorClass, hint } = ERRORS.ApprovalRequired;
  const message = `"${name}" was not made: a call before it waits for a person`;
  const details = { ...error?.details, parked: true };
  return {
    tool_call_id,
    ok: false,
    payload: null,
    error: { code: "ApprovalRequired", class: errorClass, message, details, hint },
    artifacts: { files_changed: [], commands_run: [] },
    duration_ms: 0,
    redacted: false,
  };
}
