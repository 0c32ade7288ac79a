import type { Tool } from "./contract/tool.ts";

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

export function describeTool(tool: Tool, roots: readonly string[]): ToolInfo {
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
