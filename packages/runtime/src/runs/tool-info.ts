import type { Tool } from "../contract/tool.ts";
import type { DecidingParts } from "../gate/parts.ts";
import type { ActiveSkills } from "../gate/steps/active-skills.ts";
import type { Runtime } from "../options/runtime-options.ts";
import type { WorkspaceContext } from "../policy/decide.ts";
import { isInForce } from "../policy/tools-in-force.ts";

/** The declared properties that callers see. */
const SHOWN = [
  "name",
  "version",
  "risk",
  "required_permissions",
  "side_effects",
  "permission_class",
  "audit_operation",
  "concurrency_safe",
  "read_only",
  "destructive",
  "idempotent",
  "requires_checkpoint",
  "requires_reverse_thinking",
] as const satisfies readonly (keyof Tool)[];

/** A tool as it is shown to callers. */
export interface ToolInfo extends Pick<Tool, (typeof SHOWN)[number] | "args_schema" | "return_schema"> {
  readonly description: string;
  readonly aliases: readonly string[];
  readonly search_hint: string | null;
}

function describeTool(tool: Tool, roots: readonly string[]): ToolInfo {
  const shown = Object.fromEntries(SHOWN.map((name) => [name, tool[name]])) as unknown as Pick<
    Tool,
    (typeof SHOWN)[number]
  >;
  const aliases = tool.aliases.map((alias) => alias.name);
  return {
    ...shown,
    description: tool.describe({ roots }),
    aliases,
    search_hint: tool.search_hint ?? null,
    // Computed on demand: few callers need all of them.
    get args_schema() {
      return tool.args_schema;
    },
    get return_schema() {
      return tool.return_schema;
    },
  };
}

/**
 * Called for every model request, so the descriptions are cached until a tool is registered or a skill becomes active.
 */
export function toolsInForce({ registry, settings }: DecidingParts, active: ActiveSkills): Runtime["tools"] {
  const known = new WeakMap<
    WorkspaceContext,
    { readonly of: readonly Tool[]; readonly described: readonly ToolInfo[] }
  >();
  return ({ task_id = null } = {}) => {
    const all = registry.all();
    const workspace = active.workspaceFor(task_id);
    const last = known.get(workspace);
    if (last?.of === all) return last.described;
    const inForce = all.filter((tool) => isInForce(tool, workspace, settings).inForce);
    const described = inForce.map((tool) => describeTool(tool, workspace.roots));
    known.set(workspace, { of: all, described });
    return described;
  };
}
