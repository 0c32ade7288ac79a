import { labelled, nearestNames } from "@autonous/runtime/internal";
import type { ToolInfo } from "@autonous/runtime";
import { LABEL_WORDS } from "../../channels/terminal/request-lines.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { inspectRuntime } from "../../workplace/runtime-options.ts";
import { findWorkplace, optionsWithModules } from "../session/find-workplace.ts";
import { table } from "../output/table.ts";

/** `autonous tools`: the tools that are offered here. */
export async function tools(input: CommandInput): Promise<ExitCode> {
  const { args, print } = input;
  const options = await optionsWithModules(findWorkplace(input), print);
  const offered = await inspectRuntime(options, (runtime) => runtime.tools());
  const [name] = args;
  if (name === undefined) {
    if (print.json) print.document(offered);
    print.text(toolTable(offered, print.textWidth));
    return EXIT.done;
  }
  const tool = offered.find((each) => each.name === name || each.aliases.includes(name));
  if (tool === undefined) throw new UsageError(notOffered(name, offered));
  if (print.json) print.document(tool);
  print.text(describe(tool));
  return EXIT.done;
}

export function toolTable(offered: readonly ToolInfo[], width: number | undefined): string {
  return table([["TOOL", "RISK", "LABEL", "PERMISSIONS", "WHAT IT DOES"], ...offered.map(toRow)], { width });
}

function toRow(tool: ToolInfo): string[] {
  const { name, risk, required_permissions, description } = tool;
  return [name, risk ?? "varies", labelsOf(tool), required_permissions.join(" ") || "none", description];
}

function labelsOf(tool: ToolInfo): string {
  return (labelled(tool).labels ?? []).map((label) => LABEL_WORDS[label]).join(", ");
}

function notOffered(name: string, offered: readonly ToolInfo[]): string {
  const [nearest] = nearestNames(
    name,
    offered.flatMap((tool) => [tool.name, ...tool.aliases]),
  );
  return `Unknown tool "${name}"; ${nearest === undefined ? "" : `did you mean "${nearest}"? `}"autonous tools" lists all tools`;
}

function describe(tool: ToolInfo): string {
  const facts = [
    ["version", tool.version],
    ["aliases", tool.aliases.join(", ") || "none"],
    ["risk", tool.risk ?? "depends on the arguments"],
    ["label", labelsOf(tool) || "none"],
    ["permissions", tool.required_permissions.join(", ") || "none"],
    ["side effects", tool.side_effects.join(", ")],
    ["class", tool.permission_class],
    ["audited as", tool.audit_operation],
  ];
  return `${tool.name}: ${tool.description}\n\n${table(facts)}\n\narguments:\n${JSON.stringify(tool.args_schema, null, 2)}`;
}
