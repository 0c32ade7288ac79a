import { z } from "zod";
import { ERRORS } from "./errors.ts";
import type { ErrorCode } from "./errors.ts";

export const PERMISSIONS = ["fs.read", "fs.write", "fs.delete", "proc.exec", "net.connect", "git.write"] as const;
export type Permission = (typeof PERMISSIONS)[number];

export const SIDE_EFFECTS = ["none", "files", "process", "network", "message"] as const;
export type SideEffect = (typeof SIDE_EFFECTS)[number];

export const RISKS = ["low", "medium", "high"] as const;
export type Risk = (typeof RISKS)[number];

export const PERMISSION_CLASSES = ["bash", "file", "webfetch", "readonly", "generic"] as const;
export type PermissionClass = (typeof PERMISSION_CLASSES)[number];

/** Ids come from anywhere and go into records and the names of files: nothing that a path or a terminal could make use of. */
const id = z.string().regex(/^[A-Za-z0-9_-]{1,128}$/, 'has to be up to 128 letters, digits, "_" and "-"');

/** A request as a caller gives it: only `name` and `args` are needed, the rest is filled in. */
export const toolCallInput = z.strictObject({
  tool_call_id: id.optional(),
  name: z.string().min(1).max(200),
  version: z.string().max(50).optional(),
  args: z.unknown(),
  requested_permissions: z.array(z.enum(PERMISSIONS)).optional(),
  trace_id: id.optional(),
  timestamp: z.number().optional(),
  task_id: id.optional(),
  run_id: id.optional(),
  parent_id: id.optional(),
});
export type ToolCallInput = z.input<typeof toolCallInput>;

/** A request with everything filled in (spec 1, ToolCallRequest). */
export interface ToolCallRequest {
  readonly tool_call_id: string;
  readonly name: string;
  readonly version?: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly requested_permissions?: readonly Permission[];
  readonly trace_id: string;
  readonly timestamp: number;
  readonly task_id?: string;
  readonly run_id: string;
  readonly parent_id?: string;
}

const ERROR_CODES = Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]];

const callError = z.strictObject({
  code: z.enum(ERROR_CODES),
  class: z.enum(["validation", "policy", "timeout", "tool_exec", "unknown"]),
  message: z.string(),
  details: z.record(z.string(), z.unknown()).optional(),
  hint: z.string().optional(),
  replay: z.string().optional(),
});
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

/** What every call gives back, whatever happened (spec 1, ToolCallResult). */
export const toolCallResult = z.strictObject({
  tool_call_id: z.string(),
  ok: z.boolean(),
  payload: payload.nullable(),
  error: callError.nullable(),
  artifacts,
  duration_ms: z.number(),
  redacted: z.boolean(),
});
export type ToolCallResult = z.infer<typeof toolCallResult>;
