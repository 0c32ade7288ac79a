import { ERRORS } from "@autonous/runtime";
import type { ErrorCode, ToolCallResult } from "@autonous/runtime";

/** Exit codes of the process (spec 5). */
// oxfmt-ignore
export const EXIT = {
  done:            0,
  failed:          1,
  usage_error:    2,
  denied:          3,
  approval_needed: 4,
  unproven:        5,
  timed_out:       124,
  interrupted:     130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

const BY_CLASS = {
  validation: EXIT.usage_error,
  policy: EXIT.denied,
  timeout: EXIT.timed_out,
  tool_exec: EXIT.failed,
  unknown: EXIT.failed,
} as const;

export function exitCodeOf(code: ErrorCode): ExitCode {
  if (code === "ApprovalRequired") return EXIT.approval_needed;
  return code === "Cancelled" ? EXIT.interrupted : BY_CLASS[ERRORS[code].class];
}

export function exitCodeOfResult(result: ToolCallResult): ExitCode {
  return result.error === null ? EXIT.done : exitCodeOf(result.error.code);
}
