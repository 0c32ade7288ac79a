import type { Permission, Risk } from "../protocol/call.ts";
import type { PolicyConfiguration, PolicyRule } from "../protocol/configuration.ts";
import { compileGlob } from "../paths/glob.ts";
import type { CallFacts, ResolvedTouch } from "./facts.ts";
import { foldPath } from "./fold-name.ts";
import type { Place } from "./places.ts";
import { isFarther, reachOfPermission, riskOfCall } from "./profiles.ts";
import { compileCommand, compileDomain, compilePath, compileServer, compileTool, WILDCARD } from "./rule-conditions.ts";
import { WEIGHTS } from "./rule-weights.ts";

/** Among rules that are equally specific. */
const STRICTNESS = { allow: 0, confirm: 1, deny: 2 } as const satisfies Record<PolicyRule["effect"], number>;

/** The conditions of a rule, in the order in which a rule is told. */
// oxfmt-ignore
const CONDITIONS = ["tool", "permission", "risk", "path", "command", "domain", "mcp_server", "chat", "user"] as const;

export interface CompiledRule {
  readonly effect: PolicyRule["effect"];
  /** In the order of the configuration, counted from 0. */
  readonly index: number;
  /** "rule:3 (deny tool=ls path=secret/**)": counted from 1. */
  readonly id: string;
  readonly reason: string | undefined;
  /** It speaks of certain commands. */
  readonly namesCommand: boolean;
  /** The names of the path pattern, in the form in which names are compared. */
  readonly pathNames?: readonly string[];
  /** How specific the rule is for this call; undefined where it does not apply. */
  specificityFor(call: CallFacts, facts: RuleFacts): number | undefined;
}

/** What of a call several rules ask for. */
interface RuleFacts {
  readonly risk: Risk;
  readonly roots: readonly string[];
}

/** The most specific rule that applies; among equals deny beats confirm beats allow, then the first. */
export function findRule(
  call: CallFacts,
  roots: readonly string[],
  configuration: Pick<PolicyConfiguration, "rules">,
): CompiledRule | undefined {
  if (configuration.rules.length === 0) return undefined;
  const facts: RuleFacts = { risk: riskOfCall(call), roots };
  let best: CompiledRule | undefined;
  let bestSpecificity = -1;
  for (const rule of rulesOf(configuration)) {
    const specificity = rule.specificityFor(call, facts);
    if (specificity === undefined || specificity < bestSpecificity) continue;
    if (best !== undefined && specificity === bestSpecificity && STRICTNESS[rule.effect] <= STRICTNESS[best.effect]) {
      continue;
    }
    best = rule;
    bestSpecificity = specificity;
  }
  return best;
}

/** Whether a rule spells out the name that tells a place: `.git/**` does so for `.git/hooks`, `**` and `src/**` do not. */
export function namesPlace({ pathNames = [] }: CompiledRule, place: Place): boolean {
  const glob = compileGlob(place.telling);
  return pathNames.some((name) => name === place.telling || (!WILDCARD.test(name) && glob.matches(name)));
}

/** Remembered, not state: the same configuration always compiles to the same. */
const rulesByConfiguration = new WeakMap<Pick<PolicyConfiguration, "rules">, readonly CompiledRule[]>();

function rulesOf(configuration: Pick<PolicyConfiguration, "rules">): readonly CompiledRule[] {
  const known = rulesByConfiguration.get(configuration);
  if (known !== undefined) return known;
  const rules = configuration.rules.map(compileRule);
  rulesByConfiguration.set(configuration, rules);
  return rules;
}

function compileRule(rule: PolicyRule, index: number): CompiledRule {
  try {
    return compileReadable(rule, index);
  } catch {
    // A glob that is too long or stands for too much. What it would refuse is not known, so everything is refused.
    return {
      effect: "deny",
      index,
      id: idOf(rule, index),
      reason: `Rule ${index + 1} of the configuration cannot be read: its pattern is too long or stands for too much`,
      namesCommand: false,
      specificityFor: () => (rule.effect === "allow" ? undefined : Infinity),
    };
  }
}

function compileReadable(rule: PolicyRule, index: number): CompiledRule {
  const { effect, reason, risk, permission, user, chat } = rule;
  const tool = rule.tool === undefined ? undefined : compileTool(rule.tool);
  const server = rule.mcp_server === undefined ? undefined : compileServer(rule.mcp_server, effect);
  const close = [
    ...(rule.command === undefined ? [] : [compileCommand(rule.command, effect)]),
    ...(rule.path === undefined ? [] : [compilePath(rule.path, effect)]),
    ...(rule.domain === undefined ? [] : [compileDomain(rule.domain, effect)]),
  ];
  const weight =
    (tool === undefined ? 0 : tool.weight) +
    (server === undefined ? 0 : WEIGHTS.mcp_server) +
    (permission === undefined ? 0 : WEIGHTS.permission) +
    (risk === undefined ? 0 : WEIGHTS.risk) +
    (user === undefined ? 0 : WEIGHTS.user) +
    (chat === undefined ? 0 : WEIGHTS.chat);
  return {
    effect,
    index,
    id: idOf(rule, index),
    reason,
    namesCommand: rule.command !== undefined,
    ...(rule.path !== undefined && { pathNames: foldPath(rule.path).split("/") }),
    specificityFor(call, facts) {
      if (user !== undefined && user !== call.user) return undefined;
      if (chat !== undefined && chat !== call.chat) return undefined;
      if (risk !== undefined && risk !== facts.risk) return undefined;
      if (tool?.matches(call.tool.name) === false) return undefined;
      if (server?.matches(call.tool.name) === false) return undefined;
      if (permission !== undefined && !appliesToPermission(permission, effect, call)) return undefined;
      let specificity = weight;
      for (const closenessFor of close) {
        const each = closenessFor(call, facts.roots);
        if (each === undefined) return undefined;
        specificity += each;
      }
      return specificity;
    },
  };
}

function idOf(rule: PolicyRule, index: number): string {
  const given = CONDITIONS.filter((condition) => rule[condition] !== undefined);
  const words = [rule.effect, ...given.map((condition) => `${condition}=${rule[condition]}`)];
  return `rule:${index + 1} (${words.join(" ")})`;
}

/**
 * A call needs what its tool declares and what its touches say. To allow one permission is not to allow a call that
 * needs another which reaches as far.
 */
function appliesToPermission(permission: Permission, effect: PolicyRule["effect"], call: CallFacts): boolean {
  const needed = new Set<Permission>(call.tool.required_permissions);
  for (const { access } of call.touches) needed.add(PERMISSION_OF_ACCESS[access]);
  if (!needed.has(permission)) return false;
  if (effect !== "allow") return true;
  const reach = reachOfPermission(permission);
  return [...needed].every((each) => each === permission || isFarther(reach, reachOfPermission(each)));
}

// oxfmt-ignore
const PERMISSION_OF_ACCESS = {
  read:   "fs.read",
  list:   "fs.read",
  write:  "fs.write",
  delete: "fs.delete",
} as const satisfies Record<ResolvedTouch["access"], Permission>;
