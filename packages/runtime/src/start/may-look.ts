import type { Access } from "../contract/tool.ts";
import { decide } from "../policy/decide.ts";
import type { Decision } from "../policy/decide.ts";
import type { DecisionSettings, ToolFacts, WorkspaceContext } from "../policy/facts.ts";

/** Options for reading the workspace before a run, to describe it to a model. */
export interface LookOptions {
  readonly roots: readonly string[];
  readonly cwd?: string;
  readonly state_dir?: string;
  readonly settings: DecisionSettings;
}

// oxfmt-ignore
const LOOKING = {
  list: { name: "ls",   permission_class: "file", required_permissions: ["fs.read"], side_effects: ["none"], requires_checkpoint: false },
  read: { name: "read", permission_class: "file", required_permissions: ["fs.read"], side_effects: ["none"], requires_checkpoint: false },
} as const satisfies Partial<Record<Access, ToolFacts>>;

interface Look {
  readonly access: keyof typeof LOOKING;
  /** A real path. */
  readonly path: string;
}

/** The policy's decision for `ls` or `read` of a path: only what is ALLOW is shown to a model. */
export function mayLook({ access, path }: Look, workspace: WorkspaceContext, settings: DecisionSettings): Decision {
  const touch = { path, real: path, access, show_sensitive: false, exists: true };
  return decide({ tool: LOOKING[access], risk: "low", touches: [touch] }, workspace, settings);
}
