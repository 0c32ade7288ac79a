import { z } from "zod";

export const PERMISSIONS = ["fs.read", "fs.write", "fs.delete", "proc.exec", "net.connect", "git.write"] as const;
export type Permission = (typeof PERMISSIONS)[number];

export const SIDE_EFFECTS = ["none", "files", "process", "network", "message"] as const;
export type SideEffect = (typeof SIDE_EFFECTS)[number];

export const RISKS = ["low", "medium", "high"] as const;
export type Risk = (typeof RISKS)[number];

export const PERMISSION_CLASSES = ["bash", "file", "webfetch", "readonly", "generic"] as const;
export type PermissionClass = (typeof PERMISSION_CLASSES)[number];

/** Shown to people; no decision depends on it. */
export const LABELS = ["read_only", "destructive"] as const;
/** A label of a tool. */
export type Label = (typeof LABELS)[number];

/** The labels of a tool for records: omitted if it has none, or is unknown. */
export function labelled(tool?: Readonly<Record<Label, boolean>>): { readonly labels?: readonly Label[] } {
  const labels = LABELS.filter((label) => tool?.[label] === true);
  return labels.length === 0 ? {} : { labels };
}

/** Limit for names in requests; tool names are shorter. */
export const LONGEST_NAME = 200;

/** A request from a caller: only `name` and `args` are required, the rest has defaults. */
export function makeInputSchema() {
  // Ids come from outside and end up in records and file names: no characters with a meaning in paths or terminals.
  const id = z.string().regex(/^[A-Za-z0-9_-]{1,128}$/, 'has to be up to 128 letters, digits, "_" and "-"');
  return z.strictObject({
    /** Default: a new one. */
    tool_call_id: id.optional(),
    /** A tool's name or alias. */
    name: z.string().min(1).max(LONGEST_NAME),
    /** Default: the latest. */
    version: z.string().max(50).optional(),
    /** Checked against the tool's schema. */
    args: z.unknown(),
    /** A call that needs another permission is refused. Default: whatever it needs. */
    requested_permissions: z.array(z.enum(PERMISSIONS)).optional(),
    trace_id: id.optional(),
    timestamp: z.number().optional(),
    task_id: id.optional(),
    /** Default: the runtime's run. */
    run_id: id.optional(),
    /** The parent of the call in the event tree. */
    parent_id: id.optional(),
  });
}
export type ToolCallInput = z.input<ReturnType<typeof makeInputSchema>>;

/** A request with all defaults filled in (spec 1, ToolCallRequest). */
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
