import type { Permission, Risk } from "../protocol/call.ts";
import type { PolicyConfiguration, PolicyRule } from "../protocol/configuration.ts";
import { compileGlob } from "../paths/glob.ts";
import { isInside } from "../paths/inside.ts";
import { commandPattern } from "./command-pattern.ts";
import type { CallFacts, NamedCommand, ResolvedTouch } from "./facts.ts";
import { foldPath } from "./fold-name.ts";
import type { Place } from "./places.ts";
import { isFarther, reachOfPermission, riskOfCall } from "./profiles.ts";

/**
 * What each condition adds to how specific a rule is. Each outweighs all below it together, so the most telling
 * condition decides and further ones only refine; of two paths the one with more literal characters is closer.
 */
// oxfmt-ignore
const WEIGHTS = {
  path_character: 64, // for each literal character, counted from "/"; a relative pattern begins at its root
  path:           64,
  tool:           32, // a name
  tools:          16, // a glob over names
  permission:      8,
  risk:            4,
  user:            1,
  chat:            1,
} as const;

/** Among rules that are equally specific. */
const STRICTNESS = { allow: 0, confirm: 1, deny: 2 } as const satisfies Record<PolicyRule["effect"], number>;

const WILDCARD = /[*?[\]{}\\]/;
const NOT_LITERAL = /\[[^[\]]*\]|\{[^{}]*\}|[*?[\]{}\\]/g;

/** The conditions of a rule, in the order in which a rule is told. */
const CONDITIONS = ["tool", "permission", "risk", "path", "command", "chat", "user"] as const;

export interface CompiledRule {
  readonly effect: PolicyRule["effect"];
  /** "rule:3 (deny tool=ls path=secret/**)": counted from 1, in the order of the configuration. */
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
  configuration: PolicyConfiguration,
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
const rulesByConfiguration = new WeakMap<PolicyConfiguration, readonly CompiledRule[]>();

function rulesOf(configuration: PolicyConfiguration): readonly CompiledRule[] {
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
  const path = rule.path === undefined ? undefined : compilePath(rule.path, effect);
  const command = rule.command === undefined ? undefined : compileCommand(rule.command, effect);
  const weight =
    (tool === undefined ? 0 : tool.weight) +
    (permission === undefined ? 0 : WEIGHTS.permission) +
    (risk === undefined ? 0 : WEIGHTS.risk) +
    (user === undefined ? 0 : WEIGHTS.user) +
    (chat === undefined ? 0 : WEIGHTS.chat);
  return {
    effect,
    id: idOf(rule, index),
    reason,
    namesCommand: command !== undefined,
    ...(rule.path !== undefined && { pathNames: foldPath(rule.path).split("/") }),
    specificityFor(call, facts) {
      if (user !== undefined && user !== call.user) return undefined;
      if (chat !== undefined && chat !== call.chat) return undefined;
      if (risk !== undefined && risk !== facts.risk) return undefined;
      if (tool?.matches(call.tool.name) === false) return undefined;
      if (permission !== undefined && !appliesToPermission(permission, effect, call)) return undefined;
      const byCommand = command === undefined ? 0 : command.closenessFor(call.commands ?? []);
      const byPath = path === undefined ? 0 : path.closenessFor(call.touches, facts.roots);
      return byCommand === undefined || byPath === undefined ? undefined : weight + byCommand + byPath;
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

function compileTool(pattern: string): { weight: number; matches(name: string): boolean } {
  if (!WILDCARD.test(pattern)) return { weight: WEIGHTS.tool, matches: (name) => name === pattern };
  return { weight: WEIGHTS.tools, ...compileGlob(pattern) };
}

interface CompiledPath {
  /** What the path adds to the rule's weight; undefined where the touches do not match. */
  closenessFor(touches: readonly ResolvedTouch[], roots: readonly string[]): number | undefined;
}

/**
 * Patterns are held against where paths really lead. A rule that allows applies when it covers every touched path, in
 * the exact case; one that refuses or asks applies when it covers any, in any case and spelling, so that no look-alike
 * of a name gets by.
 */
function compilePath(given: string, effect: PolicyRule["effect"]): CompiledPath {
  const pattern = given.replace(/\/{2,}/g, "/").replace(/^(?:\.\/)+/, "");
  const isAbsolute = pattern.startsWith("/");
  const literal = pattern.replace(NOT_LITERAL, "").length;
  const covers = compileCover(pattern, effect);

  function closenessOf(real: string, roots: readonly string[]): number | undefined {
    if (isAbsolute) return covers(real) ? closeness(literal) : undefined;
    let best: number | undefined;
    for (const root of roots) {
      if (!isInside(root, real)) continue;
      const start = root.endsWith("/") ? root.length : root.length + 1;
      if (covers(real.slice(start))) best = pick(effect, best, closeness(start + literal));
    }
    return best;
  }

  return {
    closenessFor(touches, roots) {
      let best: number | undefined;
      for (const { real } of touches) {
        const each = closenessOf(real, roots);
        if (each === undefined && effect === "allow") return undefined;
        if (each !== undefined) best = pick(effect, best, each);
      }
      return best;
    },
  };
}

interface CompiledCommand {
  /** What the command adds to the rule's weight; undefined where the commands do not match. */
  closenessFor(commands: readonly NamedCommand[]): number | undefined;
}

/**
 * A rule that allows applies when it covers every command that would run, and all of them are known; one that refuses
 * or asks applies when it covers any.
 */
function compileCommand(given: string, effect: PolicyRule["effect"]): CompiledCommand {
  const pattern = commandPattern(given);
  const weight = closeness(given.replaceAll("*", "").length);
  return {
    closenessFor(named) {
      const commands = named.flatMap(({ parsed }) => parsed.commands).filter(({ words }) => words.length > 0);
      if (effect !== "allow") return commands.some((each) => pattern.matches(each)) ? weight : undefined;
      const isKnown = commands.length > 0 && named.every(({ parsed }) => parsed.opaque.length === 0);
      return isKnown && commands.every((each) => pattern.matches(each)) ? weight : undefined;
    },
  };
}

function closeness(characters: number): number {
  return WEIGHTS.path + characters * WEIGHTS.path_character;
}

/** Where a rule covers several paths, or one under several roots: the careful end. */
function pick(effect: PolicyRule["effect"], one: number | undefined, other: number): number {
  if (one === undefined) return other;
  return effect === "allow" ? Math.min(one, other) : Math.max(one, other);
}

function compileCover(pattern: string, effect: PolicyRule["effect"]): (path: string) => boolean {
  // The root itself, and the top of the machine: no glob stands for these two alone.
  if (pattern === "" || pattern === ".") return (path) => path === "";
  if (pattern === "/") return (path) => path === "/";
  const exact = compileAnchored(pattern);
  if (effect === "allow") return exact;
  const folded = compileAnchored(foldPath(pattern));
  return (path) => exact(path) || folded(foldPath(path));
}

/** A glob of one name matches at any depth; "/name" must not, so an absolute one gets a name in front of its "/". */
function compileAnchored(pattern: string): (path: string) => boolean {
  const before = pattern.startsWith("/") ? ":" : "";
  const glob = compileGlob(before + pattern);
  return (path) => glob.matches(before + path);
}
