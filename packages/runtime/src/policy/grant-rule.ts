import type { GrantPattern } from "../protocol/approval.ts";
import type { PolicyRule } from "../protocol/configuration.ts";
import { asGlob } from "../paths/as-glob.ts";

export type WiderPattern = Exclude<GrantPattern, { kind: "exact" }>;
export type CommandGrant = Extract<GrantPattern, { kind: "command" }>;
/** Those that mean what a rule means. */
export type RuledPattern = Exclude<WiderPattern, CommandGrant>;

/**
 * The rule that says in a configuration what a grant says; undefined where no rule can: of one exact call, and of a
 * command that is bound to places or addresses.
 */
export function ruleFor(pattern: GrantPattern): PolicyRule | undefined {
  if (pattern.kind === "exact") return undefined;
  if (pattern.kind !== "command") return toRule(pattern);
  const { tool, bounds } = pattern;
  const words = bounds?.words.map(({ word }) => word) ?? [];
  // A rule's words are parted by spaces, and `*` stands for others.
  if (words.length === 0 || words.some((word) => word === undefined || !/^[^\s*]+$/.test(word))) return undefined;
  return { effect: "allow", tool: asGlob(tool), command: words.join(" ") };
}

export function toRule(pattern: RuledPattern): PolicyRule {
  const { tool } = pattern;
  switch (pattern.kind) {
    case "path":
      return { effect: "allow", tool: asGlob(tool), path: pattern.path };
    case "domain":
      return { effect: "allow", tool: asGlob(tool), domain: pattern.domain };
    case "tool":
      return { effect: "allow", tool: asGlob(tool) };
  }
}
