import type { JsonSchema, Tool } from "./contract/tool.ts";
import type { CheckVerdict } from "./policy/decide.ts";
import type { Effect, Scope } from "./protocol/audit.ts";
import type { Permission, PermissionClass, Risk, SideEffect } from "./protocol/call.ts";
import type { ErrorCode } from "./protocol/errors.ts";

/** A tool as it is shown to callers. */
export interface ToolInfo {
  readonly name: string;
  readonly version: string;
  readonly aliases: readonly string[];
  readonly description: string;
  /** Null where it depends on the arguments. */
  readonly risk: Risk | null;
  readonly required_permissions: readonly Permission[];
  readonly side_effects: readonly SideEffect[];
  readonly permission_class: PermissionClass;
  readonly audit_operation: string;
  readonly concurrency_safe: boolean;
  readonly read_only: boolean;
  readonly destructive: boolean;
  readonly idempotent: boolean;
  readonly requires_checkpoint: boolean;
  readonly requires_reverse_thinking: boolean;
  readonly search_hint: string | null;
  readonly args_schema: JsonSchema;
  readonly return_schema: JsonSchema;
}

export function describeTool(tool: Tool, roots: readonly string[]): ToolInfo {
  return {
    name: tool.name,
    version: tool.version,
    aliases: tool.aliases.map((alias) => alias.name),
    description: tool.describe({ roots }),
    risk: tool.risk,
    required_permissions: tool.required_permissions,
    side_effects: tool.side_effects,
    permission_class: tool.permission_class,
    audit_operation: tool.audit_operation,
    concurrency_safe: tool.concurrency_safe,
    read_only: tool.read_only,
    destructive: tool.destructive,
    idempotent: tool.idempotent,
    requires_checkpoint: tool.requires_checkpoint,
    requires_reverse_thinking: tool.requires_reverse_thinking,
    search_hint: tool.search_hint ?? null,
    args_schema: tool.args_schema,
    return_schema: tool.return_schema,
  };
}

/** A decision and the checks that led to it (spec 5). */
export interface Explanation {
  readonly effect: Effect;
  readonly code?: ErrorCode;
  readonly scope?: Scope;
  readonly reason: string;
  readonly rule: string;
  readonly checks: readonly CheckVerdict[];
}
