import type { GrantPattern } from "../protocol/approval.ts";
import type { PolicyRule } from "../protocol/configuration.ts";
import { asGlob } from "../paths/as-glob.ts";

export type WiderPattern = Exclude<GrantPattern, { kind: "exact" }>;

/** The rule that says in a configuration what a grant says; undefined where no rule can: of one exact call. */
export function ruleFor(pattern: GrantPattern): PolicyRule | undefined {
  return pattern.kind === "exact" ? undefined : toRule(pattern);
}

/** The same of any pattern but that one. */
export function toRule(pattern: WiderPattern): PolicyRule {
  const { tool } = pattern;
  switch (pattern.kind) {
    case "command":
      return { effect: "allow", tool: asGlob(tool), command: pattern.command };
    case "path":
      return { effect: "allow", tool: asGlob(tool), path: pattern.path };
    case "domain":
      return { effect: "allow", tool: asGlob(tool), domain: pattern.domain };
    case "tool":
      return { effect: "allow", tool: asGlob(tool) };
  }
}
