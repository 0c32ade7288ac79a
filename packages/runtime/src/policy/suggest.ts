import { PROFILE_NAMES } from "../protocol/configuration.ts";
import type { PolicyRule, ProfileName } from "../protocol/configuration.ts";
import type { Effect } from "../protocol/decision.ts";
import { asGlob } from "../paths/as-glob.ts";
import { commonFolder, exactCommand, onlyHost, onlyPath } from "./rules/call-patterns.ts";
import { isCarrierPattern } from "./rules/carrier-pattern.ts";
import { judgeAddress } from "./check-address.ts";
import { decide } from "./decide.ts";
import type { CallFacts, DecisionSettings, WorkspaceContext } from "./facts.ts";
import { commandNetworkProblem, notRequested } from "./floor.ts";
import { placeOf } from "./rules/judge-rules.ts";
import { rulesOf } from "./rules/rules.ts";
import { areCommandsInForce } from "./tools-in-force.ts";
import { quote } from "./verdict.ts";
import type { Verdict } from "./verdict.ts";

/** Something that would change the answer to a call. */
export interface Suggestion {
  /** A full sentence. */
  readonly words: string;
  /** The suggested rule, if it is one. */
  readonly rule?: PolicyRule;
}

/** The input of a decision. */
export interface DecidedOn {
  readonly call: CallFacts;
  readonly workspace: WorkspaceContext;
  readonly settings: DecisionSettings;
}

/**
 * What would change the answer, the smallest change first; empty for ALLOW. Each rule, profile and setting was tried,
 * so every suggestion works. Pure.
 */
export function suggest(decision: Verdict, on: DecidedOn): readonly Suggestion[] {
  if (decision.effect === "ALLOW") return [];
  const floor = FLOOR[decision.rule];
  if (floor !== undefined) return floor(on).map((words) => ({ words }));
  const yes = { words: "A person can approve it, once or for longer" };
  const found = [
    ...(decision.effect === "REQUIRE_CONFIRMATION" ? [yes] : []),
    ...suggestRules(decision, on),
    ...suggestWithoutRule(decision, on),
    ...suggestProfile(decision, on),
    ...suggestSandbox(decision, on),
  ];
  return found.length > 0 ? found : [{ words: "No single rule, profile or setting changes this answer" }];
}

/** Suggestions for each part of the floor, by the rule that decided. */
// oxfmt-ignore
const FLOOR: Readonly<Record<string, (on: DecidedOn) => readonly string[]>> = {
  "tools_in_force":             toolsInForce,
  "floor:requested_permissions": ({ call }) => [`The call would have to list ${notRequested(call).join(", ")} in requested_permissions, or leave that out`],
  "floor:roots":                () => ["No rule, profile or approval allows this; restart with a root that contains the path (AUTONOUS_TOOL_ALLOWED_ROOTS)"],
  "floor:sensitive_places":     () => ["Nothing allows this: such paths are off limits to all tools, whatever the configuration says"],
  "floor:destructive_commands": () => ["Nothing allows this: such commands, and those of AUTONOUS_TOOL_BASH_DENYLIST, are refused whatever the configuration says"],
  "floor:hidden_tracked_files": () => ["Nothing allows this unchanged: leave the hidden files out of it, as its reason says, or run it in your own terminal"],
  "floor:unreadable_commands":  () => ["Nothing allows this unchanged: fix its quoting and brackets, or write it to a script file and run that"],
  "floor:network_allowlist":    allowlist,
  "floor:network_without_sandbox": () => ['Only a sandbox gives commands the network; "autonous doctor" explains why no sandbox is available'],
  "floor:network_in_background": () => ["Without is_background it could have the network of the allowlist"],
  "floor:checkpoint":           () => ["Only a program that registers a handler for checkpoints (onCheckpoint) lets this tool run"],
};

function toolsInForce(on: DecidedOn): readonly string[] {
  const { call, workspace } = on;
  const { configuration, projects = [], profile } = on.settings;
  const { name } = call.tool;
  const leavesOut = (tools: readonly string[] | undefined): boolean => tools?.includes(name) === false;
  const isProject = projects.some((project) => leavesOut(project.configuration.tools));
  const whose = isProject ? "the project's configuration" : "the configuration";
  const offering = PROFILE_NAMES.filter((each) => isOffered(call, workspace, each));
  return [
    ...(leavesOut(configuration.tools) ? [`"tools" of ${whose} would have to list "${name}"`] : []),
    ...(leavesOut(workspace.skill_tools) ? [`The active skill would have to list "${name}" in allowed-tools`] : []),
    ...(leavesOut(workspace.runtime_tools)
      ? [`The program that started this run would have to include "${name}"`]
      : []),
    ...(areCommandsInForce(call, workspace).inForce ? [] : ["The active skill would have to allow these commands"]),
    ...(offering.includes(profile) ? [] : [`The profile would have to be ${offering.map(quote).join(" or ")}`]),
    ...suggestOffer(on),
  ];
}

/** A rule that offers, with approval, a tool that the profile does not. */
function suggestOffer(on: DecidedOn): readonly string[] {
  const rule: PolicyRule = { effect: "confirm", tool: on.call.tool.name, offer: true };
  if (decideWith(on, [...on.settings.configuration.rules, rule]) === "DENY") return [];
  return [`With the rule ${JSON.stringify(rule)} it would need approval`];
}

/** A profile alone. */
function isOffered(call: CallFacts, workspace: WorkspaceContext, profile: ProfileName): boolean {
  const { skill_tools: _skill, runtime_tools: _runtime, skill_commands: _commands, ...open } = workspace;
  return decide(call, open, { profile, configuration: { rules: [], quotas: [] } }).rule !== "tools_in_force";
}

function allowlist(on: DecidedOn): readonly string[] {
  const { addresses = [] } = on.call;
  const { projects = [] } = on.settings;
  const isNarrowed = projects.some(({ configuration }) => configuration.network !== undefined);
  const whose = isNarrowed ? "the configuration and the project's" : "the configuration";
  if (commandNetworkProblem(on) !== undefined) {
    return [
      `"network": { "allow": ["example.com"] } in ${whose} gives commands the network, for the names on that list`,
    ];
  }
  return addresses.flatMap(({ shown, verdict }) => {
    if (verdict.effect === "ALLOW") return [];
    const entry = entriesFor(shown).find((each) => judgeAddress(shown, [each]).effect === "ALLOW");
    return entry === undefined
      ? ["No allowlist entry allows this address: it is invalid, or local to this machine or its network"]
      : [`"network": { "allow": [${quote(entry)}] } in ${whose} would allow it`];
  });
}

/** The allowlist entries that could match an address: its host, and its host with the port. */
function entriesFor(shown: string): readonly string[] {
  if (!URL.canParse(shown)) return [];
  const { host, hostname, protocol } = new URL(shown);
  return [host, `${hostname}:${protocol === "http:" ? 80 : 443}`];
}

/** Answers in words, from strict to lenient. */
// oxfmt-ignore
const ANSWERS = {
  DENY:                 { strictness: 2, words: "be refused" },
  REQUIRE_CONFIRMATION: { strictness: 1, words: "need approval" },
  ALLOW:                { strictness: 0, words: "run without approval" },
} as const satisfies Record<Effect, { readonly strictness: number; readonly words: string }>;

function isWeaker(one: Effect, other: Effect): boolean {
  return ANSWERS[one].strictness < ANSWERS[other].strictness;
}

/** For each weaker answer, the narrowest rule that gives it. */
function suggestRules(decision: Verdict, on: DecidedOn): readonly Suggestion[] {
  const wanted = [
    { effect: "confirm", gives: "REQUIRE_CONFIRMATION" },
    { effect: "allow", gives: "ALLOW" },
  ] as const;
  return wanted.flatMap(({ effect, gives }) => {
    if (!isWeaker(gives, decision.effect)) return [];
    const rule = candidates(on)
      .map((conditions): PolicyRule => ({ effect, ...conditions }))
      .find((each) => decideWith(on, [...on.settings.configuration.rules, each]) === gives);
    return rule === undefined
      ? []
      : [{ words: `With the rule ${JSON.stringify(rule)} it would ${ANSWERS[gives].words}`, rule }];
  });
}

/** Conditions that match this call, the narrowest first. */
function candidates({ call, workspace: { roots } }: DecidedOn): readonly Omit<PolicyRule, "effect">[] {
  const tool = asGlob(call.tool.name);
  const path = onlyPath(call);
  const folder = commonFolder(call, roots);
  const domain = onlyHost(call);
  const command = exactCommand(call);
  return [
    ...(command === undefined || isCarrierPattern(command) ? [] : [{ tool, command }]),
    ...(domain === undefined ? [] : [{ tool, domain }]),
    ...(path === undefined ? [] : [{ tool, path: asGlob(path) }]),
    ...(folder === undefined ? [] : [{ tool, path: `${asGlob(folder)}/**` }]),
    // For a tool that runs commands it would match all of them.
    ...(call.commands === undefined ? [{ tool }] : []),
  ];
}

/** The answer with other rules of the user. */
function decideWith({ call, workspace, settings }: DecidedOn, rules: PolicyRule[]): Effect {
  return decide(call, workspace, { ...settings, configuration: { ...settings.configuration, rules } }).effect;
}

function suggestWithoutRule(decision: Verdict, on: DecidedOn): readonly Suggestion[] {
  const { call, workspace, settings } = on;
  const { configuration, projects = [] } = settings;
  const own = rulesOf(configuration).find(({ id }) => id === decision.rule);
  if (own !== undefined) {
    return without("the rule", decision, decideWith(on, configuration.rules.toSpliced(own.index, 1)));
  }
  for (const [index, project] of projects.entries()) {
    const theirs = rulesOf(project.configuration).find(({ id }) => `project_${id}` === decision.rule);
    if (theirs === undefined) continue;
    const rules = project.configuration.rules.toSpliced(theirs.index, 1);
    const others = projects.with(index, { configuration: { ...project.configuration, rules } });
    return without("the project's rule", decision, decide(call, workspace, { ...settings, projects: others }).effect);
  }
  return [];
}

function without(what: string, { effect, origin }: Verdict, after: Effect): readonly Suggestion[] {
  if (!isWeaker(after, effect)) return [];
  return [{ words: `Without ${what} that decided${placeOf(origin)} it would ${ANSWERS[after].words}` }];
}

/** The strictest profile with a weaker answer. */
function suggestProfile({ effect }: Verdict, { call, workspace, settings }: DecidedOn): readonly Suggestion[] {
  for (const profile of PROFILE_NAMES) {
    const after = decide(call, workspace, { ...settings, profile }).effect;
    if (!isWeaker(after, effect)) continue;
    return [{ words: `Under the profile "${profile}" it would ${ANSWERS[after].words}` }];
  }
  return [];
}

function suggestSandbox({ effect }: Verdict, { call, workspace, settings }: DecidedOn): readonly Suggestion[] {
  if (workspace.sandbox !== "none") return [];
  const after = decide(call, { ...workspace, sandbox: "any" }, settings).effect;
  if (!isWeaker(after, effect)) return [];
  return [
    { words: `In a sandbox it would ${ANSWERS[after].words}; "autonous doctor" explains why no sandbox is available` },
  ];
}
