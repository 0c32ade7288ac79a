import type { ApprovalRequest } from "../protocol/approval.ts";
import type { ToolCallRequest } from "../protocol/call.ts";
import { ERRORS, ToolError } from "../protocol/errors.ts";
import type { ErrorDetails } from "../protocol/errors.ts";
import type { ToolCallResult } from "../protocol/result.ts";

/** Ends this attempt but not the call: it waits for a person and is repeated under the same id. */
export class Parked extends ToolError {
  constructor({ tool, approval_id, digest, expires_at }: ApprovalRequest) {
    const hint = "The call is pending. Repeat it with the same tool_call_id once a person has answered.";
    const message = `"${tool}" waits for approval until ${expires_at}`;
    super("ApprovalRequired", message, { approval_id, digest, expires_at, hint });
  }
}

/** How a result says that its call is pending. */
const PARKED = { parked: true } as const;

/** The details of an error in a result. */
export function resultDetails(error: ToolError): ErrorDetails {
  return error instanceof Parked ? { ...error.details, ...PARKED } : (error.details ?? {});
}

/** Whether a call is pending because it waits for a person. */
export function isParked({ error }: ToolCallResult): boolean {
  return error?.details?.["parked"] === true;
}

/** For a call that follows a pending one: it is not made before that one, and is pending too. */
export function waitBehind({ name, tool_call_id }: ToolCallRequest, { error }: ToolCallResult): ToolCallResult {
  const { class: errorClass, hint } = ERRORS.ApprovalRequired;
  const message = `"${name}" did not run: an earlier call waits for approval`;
  const details = { ...error?.details, ...PARKED };
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
