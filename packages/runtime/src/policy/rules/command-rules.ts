import type { Permission } from "../../protocol/call.ts";
import type { CallFacts, NamedCommand, PolicyLayer, ResolvedTouch } from "../facts.ts";
import type { NamedPlace } from "../commands/command-words.ts";
import { judge } from "./judge-rules.ts";
import { permissionsOf, runsUnnamed, withoutNeeds } from "../commands/needed-permissions.ts";
import type { Use } from "../commands/program-roles.ts";
import { findRuleAmong, rulesOf } from "./rules.ts";
import type { CompiledRule } from "./rules.ts";
import { confirm, quote } from "../verdict.ts";
import type { Subject, Verdict } from "../verdict.ts";

/** Whose rules: the user's own, or those of an untrusted project. */
interface Layer {
  readonly layer: PolicyLayer;
  readonly whose: string;
  readonly prefix: string;
}

export function layersOf({ settings }: Pick<Subject, "settings">): readonly Layer[] {
  const { projects = [] } = settings;
  const theirs = projects.map((layer) => ({ layer, whose: "the project's configuration", prefix: "project_" }));
  return [{ layer: settings, whose: "the configuration", prefix: "" }, ...theirs];
}

/**
 * Path rules apply to the paths in a command's words, as they do to path arguments of tools. An allow rule only exempts
 * a path from the other rules.
 */
export function checkCommandPaths(subject: Subject): Verdict | string {
  const { call, workspace } = subject;
  const { commands = [] } = call;
  if (commands.length === 0) return "It runs no command";
  let found: Verdict | undefined;
  for (const { layer, whose, prefix } of layersOf(subject)) {
    const rules = rulesOf(layer.configuration).filter(({ pathNames }) => pathNames !== undefined);
    if (rules.every(({ effect }) => effect === "allow")) continue;
    for (const named of commands) {
      for (const place of named.places) {
        const rule = strictestFor(place, { call, named, rules, roots: workspace.roots });
        if (rule === undefined || rule.effect === "allow") continue;
        const about = `${WHAT[rule.effect]} ${quote(place.shown)}, which resolves to ${quote(shownPlace(place))}`;
        const verdict = judge(rule, { layer, toolName: call.tool.name, whose, prefix, about });
        if (verdict.effect === "DENY") return verdict;
        found ??= verdict;
      }
    }
  }
  return found ?? "No rule matches a path that a command names";
}

const WHAT = { confirm: "requires approval before a command uses", deny: "denies commands" } as const;

function shownPlace({ real, names = [] }: NamedPlace): string {
  return [real === "/" ? "" : real, ...names].join("/");
}

interface RuleScope {
  readonly call: CallFacts;
  readonly named: NamedCommand;
  readonly rules: readonly CompiledRule[];
  readonly roots: readonly string[];
}

const STRICTNESS = { allow: 0, confirm: 1, deny: 2 } as const;

function strictestFor(place: NamedPlace, judging: RuleScope): CompiledRule | undefined {
  const { named, call, rules, roots } = judging;
  const { verdict, read_only, folder, network, needs } = named;
  const parsed = { commands: [place.command], guessed: [], opaque: [] };
  const only = { parsed, verdict, read_only, folder, network, needs, places: [] };
  const facts = forOnePath({ ...call, commands: [only] }, rules);
  let strictest: CompiledRule | undefined;
  for (const use of place.uses) {
    const asked = { call: facts, use, rules, roots };
    const rule = ruleForPath(place, asked) ?? ruleBelow(place, asked);
    if (rule !== undefined && STRICTNESS[rule.effect] >= STRICTNESS[strictest?.effect ?? "allow"]) strictest = rule;
  }
  return strictest;
}

/** Deleting or moving a folder affects everything in it, so rules for paths below it count too. */
function ruleBelow({ real, names = [], isKnown }: NamedPlace, judging: PathScope): CompiledRule | undefined {
  if (!isKnown || judging.use !== "delete") return undefined;
  const rules = judging.rules.filter(({ literalPath = "" }) => literalPath !== "");
  return ruleForPath({ real, names: [...names, "**"] }, { ...judging, rules });
}

interface PathScope {
  /** See `forOnePath`. */
  readonly call: CallFacts;
  readonly use: Use;
  readonly rules: readonly CompiledRule[];
  readonly roots: readonly string[];
}

/**
 * The rule that matches a path, or else the nearest folder above it: a command denied a folder is denied its content.
 */
export function ruleForPath(place: Pick<NamedPlace, "real" | "names">, judging: PathScope): CompiledRule | undefined {
  const { real, names } = place;
  const own = ruleAt(place, judging);
  if (own !== undefined) return own;
  for (let above = names === undefined ? parentOf(real) : real; above !== "/"; above = parentOf(above)) {
    if (judging.roots.includes(above)) return undefined;
    const rule = ruleAt({ real: above }, judging);
    if (rule !== undefined) return rule;
  }
  return undefined;
}

/** The rule that matches the path itself. */
export function ruleAt(
  { real, names }: Pick<NamedPlace, "real" | "names">,
  { call, use, rules, roots }: PathScope,
): CompiledRule | undefined {
  const touch: ResolvedTouch = { path: real, real, access: use, show_sensitive: false, exists: true };
  const touches = [names === undefined ? touch : { ...touch, names }];
  return findRuleAmong(rules, { ...call, touches }, roots);
}

/** Only the access to this one path counts here, not the permissions of the whole call. */
export function forOnePath(call: CallFacts, rules: readonly CompiledRule[]): CallFacts {
  const { commands, tool } = call;
  const side_effects = tool.side_effects.filter((each) => each !== "files");
  // Allowing writes below a path lets commands write there, although running them needs another permission.
  const required_permissions = rules.some(({ permission }) => permission === "proc.exec")
    ? tool.required_permissions
    : [];
  const facts = { ...call, tool: { ...tool, side_effects, required_permissions } };
  return commands === undefined ? facts : { ...facts, commands: withoutNeeds(commands) };
}

export function parentOf(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash <= 0 ? "/" : path.slice(0, slash);
}

/**
 * Without a sandbox to enforce deny rules, a command whose arguments do not show everything it touches needs approval,
 * unless a rule allows this exact command.
 */
export function checkUnshownPaths(subject: Subject): Verdict | string {
  const { call, workspace, rule: own } = subject;
  if (workspace.sandbox !== "none") return "A sandbox enforces the rules that deny";
  const untold = findUnshownPaths(call);
  if (untold === undefined) return "The arguments of every command show what it touches, or none runs";
  if (own?.effect === "allow" && own.namesCommand) return "A rule for this command allows it";
  const { uses, may } = permissionsOf(call);
  const could = new Set<Permission>([...may, "net.connect"]);
  for (const { layer, prefix } of layersOf(subject)) {
    const rule = rulesOf(layer.configuration).find((each) => {
      if (each.effect === "allow" || !each.concerns(call)) return false;
      if (each.pathNames !== undefined) return true;
      return each.permission !== undefined && !uses.has(each.permission) && could.has(each.permission);
    });
    if (rule === undefined) continue;
    const why = `without a sandbox nothing prevents it from doing what ${prefix === "" ? "a rule" : "the project's rule"} forbids (${rule.id})`;
    return confirm(`The arguments of ${untold} do not show everything it touches, and ${why}`, prefix + rule.id);
  }
  return "No rule forbids what commands could do indirectly";
}

/** The command that may touch more than its arguments show, for a message. */
function findUnshownPaths(call: CallFacts): string | undefined {
  const untold = runsUnnamed(call) ? call.tool.name : call.commands?.find((each) => each.untold !== undefined)?.untold;
  return untold === undefined ? undefined : quote(untold);
}
