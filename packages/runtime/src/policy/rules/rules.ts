import type { Permission, Risk } from "../../protocol/call.ts";
import type { PolicyConfiguration, PolicyRule } from "../../protocol/configuration.ts";
import { compileGlob } from "../../paths/glob.ts";
import type { CallFacts } from "../facts.ts";
import { foldPath } from "../paths/fold-name.ts";
import { permissionsOf } from "../commands/needed-permissions.ts";
import type { Place } from "../paths/places.ts";
import { isFarther, reachOfPermission, riskOfCall } from "../profiles.ts";
import {
  compileBelow,
  compileCommand,
  compileDomain,
  compilePath,
  compilePerson,
  compileServer,
  compileTool,
  literalPath,
  WILDCARD,
} from "./rule-conditions.ts";
import { WEIGHTS } from "./rule-weights.ts";

/** Among rules that are equally specific. */
const STRICTNESS = { allow: 0, confirm: 1, deny: 2 } as const satisfies Record<PolicyRule["effect"], number>;

/** The conditions of a rule, in the order of its description. */
// oxfmt-ignore
const CONDITIONS = ["tool", "permission", "risk", "path", "command", "domain", "mcp_server", "chat", "user"] as const;

export interface CompiledRule {
  readonly effect: PolicyRule["effect"];
  /** In the order of the configuration, counted from 0. */
  readonly index: number;
  /** "rule:3 (deny tool=ls path=secret/**)": counted from 1. */
  readonly id: string;
  readonly reason: string | undefined;
  /** It has a condition on commands. */
  readonly namesCommand: boolean;
  /** The names of the path pattern, folded for comparison. */
  readonly pathNames?: readonly string[];
  /** The literal part of the path pattern, up to its first wildcard. */
  readonly literalPath?: string;
  /** Whether the path pattern can match something below a folder. */
  readonly mayCoverBelow?: (folder: string, roots: readonly string[]) => boolean;
  readonly permission?: Permission;
  /** The tool that it offers even if the profile does not. */
  readonly offers?: string;
  /** Whether it matches this tool, server, chat, user and risk, whatever the call touches. */
  concerns(call: CallFacts): boolean;
  /** How specific the rule is for this call; undefined if it does not apply. */
  specificityFor(call: CallFacts, facts: RuleFacts): number | undefined;
}

/** Facts of a call that several rules use. */
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
  return findRuleAmong(rulesOf(configuration), call, roots);
}

/** Like `findRule`, among some of the rules. */
export function findRuleAmong(
  rules: readonly CompiledRule[],
  call: CallFacts,
  roots: readonly string[],
): CompiledRule | undefined {
  if (rules.length === 0) return undefined;
  const facts: RuleFacts = { risk: riskOfCall(call), roots };
  let best: CompiledRule | undefined;
  let bestSpecificity = -1;
  for (const rule of rules) {
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

/**
 * Whether a rule contains the distinctive name of a place: `.git/**` does for `.git/hooks`, `**` and `src/**` do not.
 */
export function namesPlace({ pathNames = [] }: CompiledRule, place: Place): boolean {
  const glob = compileGlob(place.telling);
  return pathNames.some((name) => name === place.telling || (!WILDCARD.test(name) && glob.matches(name)));
}

/** A cache, not state: the same configuration always compiles to the same. */
const rulesByConfiguration = new WeakMap<Pick<PolicyConfiguration, "rules">, readonly CompiledRule[]>();

/** The rules of a configuration in their order. */
export function rulesOf(configuration: Pick<PolicyConfiguration, "rules">): readonly CompiledRule[] {
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
    // A glob that is too long or too broad. What it would deny is unknown, so everything is denied.
    return {
      effect: "deny",
      index,
      id: idOf(rule, index),
      reason: `Rule ${index + 1} of the configuration cannot be read: its pattern is too long or too broad`,
      namesCommand: false,
      concerns: () => false, // it denies the call itself
      specificityFor: () => (rule.effect === "allow" ? undefined : Infinity),
    };
  }
}

function compileReadable(rule: PolicyRule, index: number): CompiledRule {
  const { effect, reason, risk, permission } = rule;
  const [user, chat] = [rule.user, rule.chat].map((each) =>
    each === undefined ? undefined : compilePerson(each, effect),
  );
  const tool = rule.tool === undefined ? undefined : compileTool(rule.tool);
  const server = rule.mcp_server === undefined ? undefined : compileServer(rule.mcp_server, effect);
  const close = [
    ...(rule.command === undefined ? [] : [compileCommand(rule.command, effect)]),
    ...(rule.path === undefined ? [] : [compilePath(rule.path, effect, { namesCommand: rule.command !== undefined })]),
    ...(rule.domain === undefined ? [] : [compileDomain(rule.domain, effect)]),
  ];
  const weight =
    (tool === undefined ? 0 : tool.weight) +
    (server === undefined ? 0 : WEIGHTS.mcp_server) +
    (permission === undefined ? 0 : WEIGHTS.permission) +
    (risk === undefined ? 0 : WEIGHTS.risk) +
    weightOfPerson(user) +
    weightOfPerson(chat);
  function isMeant(call: CallFacts, riskOf: () => Risk): boolean {
    if (user?.matches(call.user) === false || chat?.matches(call.chat) === false) return false;
    if (risk !== undefined && risk !== riskOf()) return false;
    return tool?.matches(call.tool.name) !== false && server?.matches(call.tool.name) !== false;
  }
  return {
    effect,
    index,
    id: idOf(rule, index),
    reason,
    namesCommand: rule.command !== undefined,
    ...(rule.path !== undefined && {
      pathNames: foldPath(rule.path).split("/"),
      literalPath: literalPath(rule.path),
      mayCoverBelow: compileBelow(rule.path),
    }),
    ...(permission !== undefined && { permission }),
    ...(rule.offer === true && rule.tool !== undefined && { offers: rule.tool }),
    concerns: (call) => isMeant(call, () => riskOfCall(call)),
    specificityFor(call, facts) {
      if (!isMeant(call, () => facts.risk)) return undefined;
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

function weightOfPerson(person: { readonly isName: boolean } | undefined): number {
  if (person === undefined) return 0;
  return person.isName ? WEIGHTS.person : WEIGHTS.persons;
}

function idOf(rule: PolicyRule, index: number): string {
  const given = CONDITIONS.filter((condition) => rule[condition] !== undefined);
  const words = [rule.effect, ...given.map((condition) => `${condition}=${rule[condition]}`)];
  return `rule:${index + 1} (${words.join(" ")})`;
}

/**
 * A call needs what its tool declares, what its touched paths imply, and what its commands do. Allowing one permission
 * does not allow a call that also needs another one of the same reach, or a command with unknown effects.
 */
function appliesToPermission(permission: Permission, effect: PolicyRule["effect"], call: CallFacts): boolean {
  const { uses, may } = permissionsOf(call);
  if (effect === "confirm") return uses.has(permission) || may.has(permission);
  if (!uses.has(permission)) return false;
  if (effect === "deny") return true;
  // Only `proc.exec` covers what unknown programs may do.
  if (may.size > 0 && permission !== "proc.exec") return false;
  const reach = reachOfPermission(permission);
  return [...uses].every((each) => each === permission || isFarther(reach, reachOfPermission(each)));
}
