import type { ApprovalRequest } from "../../protocol/approval.ts";
import type { ToolCallRequest } from "../../protocol/call.ts";
import { ERRORS, ToolError } from "../../protocol/errors.ts";
import type { ToolCallResult } from "../../protocol/result.ts";

/** Ends this attempt but not the call: it waits for a person and is repeated under the same id. */
export class Parked extends ToolError {
  constructor(
    tool: string,
    { approval_id, digest, expires_at }: Pick<ApprovalRequest, "approval_id" | "digest" | "expires_at">,
  ) {
    super("ApprovalRequired", `"${tool}" waits for approval until ${expires_at}`, {
      approval_id,
      digest,
      expires_at,
      parked: true,
      hint: "The call is pending. Repeat it with the same tool_call_id once a person has answered.",
    });
  }
}

/** Whether a call is pending because it waits for a person. */
export function isParked({ error }: ToolCallResult): boolean {
  return error?.details?.["parked"] === true;
}

/** For a call that follows a pending one: it is not made before that one, and is pending too. */
export function waitBehind({ name, tool_call_id }: ToolCallRequest, { error }: ToolCallResult): ToolCallResult {
  const { class: errorClass, hint } = ERRORS.ApprovalRequired;
  const message = `"${name}" did not run: an earlier call waits for approval`;
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
