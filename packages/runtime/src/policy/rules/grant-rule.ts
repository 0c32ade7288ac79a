import type { GrantPattern } from "../../protocol/approval.ts";
import type { PolicyRule } from "../../protocol/configuration.ts";
import { asGlob } from "../../paths/as-glob.ts";

export type WiderPattern = Exclude<GrantPattern, { kind: "exact" }>;
export type CommandGrant = Extract<GrantPattern, { kind: "command" }>;
/** Grants that a rule can express. */
export type RuledPattern = Exclude<WiderPattern, CommandGrant>;

/**
 * The configuration rule equivalent to a grant; undefined if no rule can express it: for one exact call, and for a
 * command bound to paths or addresses.
 */
export function ruleFor(pattern: GrantPattern): PolicyRule | undefined {
  if (pattern.kind === "exact") return undefined;
  if (pattern.kind !== "command") return toRule(pattern);
  const { tool, bounds } = pattern;
  const words = bounds?.words.map(({ word }) => word) ?? [];
  // In a rule, spaces separate words, and `*` is a wildcard.
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
