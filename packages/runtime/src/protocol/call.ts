import { z } from "zod";

export const PERMISSIONS = ["fs.read", "fs.write", "fs.delete", "proc.exec", "net.connect", "git.write"] as const;
export type Permission = (typeof PERMISSIONS)[number];

export const SIDE_EFFECTS = ["none", "files", "process", "network", "message"] as const;
export type SideEffect = (typeof SIDE_EFFECTS)[number];

export const RISKS = ["low", "medium", "high"] as const;
export type Risk = (typeof RISKS)[number];

export const PERMISSION_CLASSES = ["bash", "file", "webfetch", "readonly", "generic"] as const;
export type PermissionClass = (typeof PERMISSION_CLASSES)[number];

/** What people are told about a tool; no decision depends on it. */
export const LABELS = ["read_only", "destructive"] as const;
/** A label of a tool. */
export type Label = (typeof LABELS)[number];

/** The labels that a tool has, as records hold them: left out where it has none, or is not known. */
export function labelled(tool?: Readonly<Record<Label, boolean>>): { readonly labels?: readonly Label[] } {
  const labels = LABELS.filter((label) => tool?.[label] === true);
  return labels.length === 0 ? {} : { labels };
}

/** Tools have shorter names; this is what a request may come with. */
export const LONGEST_NAME = 200;

/** A request as a caller gives it: only `name` and `args` are needed, the rest is filled in. */
export function makeInputSchema() {
  // Ids come from anywhere and go into records and names of files: nothing that a path or a terminal could make use of.
  const id = z.string().regex(/^[A-Za-z0-9_-]{1,128}$/, 'has to be up to 128 letters, digits, "_" and "-"');
  return z.strictObject({
    /** Default: a new one. */
    tool_call_id: id.optional(),
    /** A tool's name or alias. */
    name: z.string().min(1).max(LONGEST_NAME),
    /** Default: the newest. */
    version: z.string().max(50).optional(),
    /** Checked against the tool's schema. */
    args: z.unknown(),
    /** A call that needs another one is refused. Default: whatever it needs. */
    requested_permissions: z.array(z.enum(PERMISSIONS)).optional(),
    trace_id: id.optional(),
    timestamp: z.number().optional(),
    task_id: id.optional(),
    /** Default: the run of the runtime. */
    run_id: id.optional(),
    /** The event that the call belongs to, in the tree of events. */
    parent_id: id.optional(),
  });
}
export type ToolCallInput = z.input<ReturnType<typeof makeInputSchema>>;

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
