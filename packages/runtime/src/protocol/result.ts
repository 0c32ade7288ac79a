import { z } from "zod";
import { ERRORS } from "./errors.ts";
import type { ErrorCode } from "./errors.ts";

const ERROR_CODES = Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]];

const callError = z.strictObject({
  code: z.enum(ERROR_CODES),
  class: z.enum(["validation", "policy", "timeout", "tool_exec", "unknown"]),
  message: z.string(),
  details: z.record(z.string(), z.unknown()).optional(),
  hint: z.string().optional(),
  replay: z.string().optional(),
});
/** Why a call failed. */
export type CallError = z.infer<typeof callError>;

const payload = z.strictObject({
  exit_code: z.int(),
  stdout: z.string(),
  stderr: z.string(),
  truncated_lines: z.boolean(),
  truncated_bytes: z.boolean(),
  next_page_cursor: z.string().optional(),
  sha256: z.string().optional(),
  storage_ref: z.string().optional(),
  data: z.unknown(),
  meta: z.record(z.string(), z.unknown()),
});
export type Payload = z.infer<typeof payload>;

export const artifacts = z.strictObject({
  files_changed: z.array(z.string()),
  commands_run: z.array(z.string()),
  undo_id: z.string().optional(),
});
export type Artifacts = z.infer<typeof artifacts>;

/** The result of every call, whatever its outcome (spec 1, ToolCallResult). */
export const toolCallResult = z.strictObject({
  tool_call_id: z.string(),
  ok: z.boolean(),
  /**
   * The output: `stdout`, `stderr`, `exit_code`, `data`, whether it was truncated, and where the full output is. Null:
   * it did not run.
   */
  payload: payload.nullable(),
  /** Null if the call succeeded. */
  error: callError.nullable(),
  /** Changed files, commands that ran, and the `undo_id`. */
  artifacts,
  duration_ms: z.number(),
  /** Whether a secret was redacted. */
  redacted: z.boolean(),
});
export type ToolCallResult = z.infer<typeof toolCallResult>;
