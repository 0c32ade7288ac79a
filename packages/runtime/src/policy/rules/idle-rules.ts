import { PERMISSIONS } from "../../protocol/call.ts";
import type { Permission } from "../../protocol/call.ts";
import type { PolicyRule } from "../../protocol/configuration.ts";
import type { ToolFacts } from "../facts.ts";
import { isFarther, reachOfPermission } from "../profiles.ts";
import { compileTool } from "./rule-conditions.ts";

/** Rules that can never affect the tools they name, as configuration problems: `rules.0: …`. */
export function findIdleRules(rules: readonly PolicyRule[], tools: readonly ToolFacts[]): readonly string[] {
  return rules.flatMap((rule, index) => {
    const problem = problemOf(rule, tools);
    return problem === undefined ? [] : [`rules.${index}: ${problem}`];
  });
}

function problemOf({ tool: pattern, permission, effect }: PolicyRule, tools: readonly ToolFacts[]): string | undefined {
  if (pattern === undefined || permission === undefined) return undefined;
  const { matches } = compileTool(pattern);
  const meant = tools.filter(({ name }) => matches(name));
  // Tools may be registered later.
  if (meant.length === 0) return undefined;
  const using = meant.filter((tool) => canUse(tool).has(permission));
  if (using.length === 0) {
    const others = tools.filter((tool) => canUse(tool).has(permission)).map(({ name }) => name);
    return `"${pattern}" never needs "${permission}", so the rule has no effect; leave "permission" out, or name a tool that needs it${list(others)}`;
  }
  if (effect !== "allow" || using.some((tool) => canAllow(permission, tool))) return undefined;
  const needed = [...new Set(using.flatMap(({ required_permissions }) => required_permissions))];
  return `"${pattern}" also needs ${needed.map((each) => `"${each}"`).join(", ")}, which "${permission}" does not include, so the rule allows nothing; allow that permission, or name a command`;
}

function list(names: readonly string[]): string {
  return names.length === 0 ? "" : ` (${names.slice(0, 8).join(", ")})`;
}

const FILE_PERMISSIONS = ["fs.read", "fs.write", "fs.delete"] as const satisfies readonly Permission[];

/** The permissions that calls of a tool can need: those it declares, and those its paths and commands may add. */
function canUse({ required_permissions, side_effects, permission_class }: ToolFacts): ReadonlySet<Permission> {
  const changesFiles = side_effects.includes("files");
  if (required_permissions.includes("proc.exec") && changesFiles) return new Set(PERMISSIONS);
  const namesPaths = permission_class === "file" || permission_class === "generic";
  const paths = namesPaths ? (changesFiles ? FILE_PERMISSIONS : (["fs.read"] as const)) : [];
  return new Set<Permission>([...required_permissions, ...paths]);
}

/** Allowing one permission does not allow a call that also needs another one of the same reach. */
function canAllow(permission: Permission, { required_permissions }: ToolFacts): boolean {
  const reach = reachOfPermission(permission);
  return required_permissions.every((each) => each === permission || isFarther(reach, reachOfPermission(each)));
}
