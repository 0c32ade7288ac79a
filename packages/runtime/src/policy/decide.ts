import type { Effect, Scope } from "../protocol/decision.ts";
import type { ErrorCode } from "../protocol/errors.ts";
import { findLaterPlace, judgeRoots, judgeSensitivity } from "./check-path.ts";
import type { ClosedPlace } from "./check-path.ts";
import type { CommandFinding } from "./check-command.ts";
import type { CallFacts, DecisionSettings, ResolvedTouch, ToolFacts, WorkspaceContext } from "./facts.ts";
import { CAUTIONS, DEEDS, MANY_FILES, PROFILES, reachOfCall, reachOfDeeds, reachOfTouches } from "./profiles.ts";
import type { ProfileEffect } from "./profiles.ts";
import { findRule, namesPlace } from "./rules.ts";
import type { CompiledRule } from "./rules.ts";
import { areCommandsInForce, isInForce, isReachInForce } from "./tools-in-force.ts";

export type {
  CallFacts,
  DecisionSettings,
  NamedAddress,
  NamedCommand,
  ResolvedTouch,
  ToolFacts,
  WorkspaceContext,
} from "./facts.ts";

/** What one check said, also where another one decided. */
export interface CheckVerdict {
  readonly check: string;
  readonly effect: Effect | "PASS";
  readonly reason: string;
}

export interface Decision {
  readonly effect: Effect;
  /** With DENY. */
  readonly code?: ErrorCode;
  /** With REQUIRE_CONFIRMATION. */
  readonly scope?: Scope;
  /** A whole sentence, for the caller or for the person who is asked. */
  readonly reason: string;
  /** What decided: "floor:roots", "rule:3 (deny tool=ls)", "builtin:files_that_run_later", "profile:guarded:change". */
  readonly rule: string;
  /** Every check in order, also those after the one that decided. */
  readonly checks: readonly CheckVerdict[];
}

type Verdict = Omit<Decision, "checks">;

/** All that a check may look at. */
interface Subject {
  readonly call: CallFacts;
  readonly workspace: WorkspaceContext;
  readonly settings: DecisionSettings;
  readonly rule: CompiledRule | undefined;
}

interface Check {
  readonly check: string;
  /** A verdict, or the words with which it lets the call pass. */
  readonly judge: (subject: Subject) => Verdict | string;
  /** Heard only where no rule matches. */
  readonly yieldsToRules?: true;
}

/**
 * The decision (spec 3). The first check that speaks decides, and those after it can only tighten what it said. The
 * order is the argument: the floor always says DENY, so no rule and no profile gets past it.
 */
// oxfmt-ignore
const CHECKS: readonly Check[] = [
  { check: "tools_in_force",       judge: checkToolsInForce },
  { check: "roots",                judge: checkRoots },       // the floor: what no profile allows
  { check: "sensitive_places",     judge: checkSensitivity }, // the floor
  { check: "destructive_commands", judge: checkDestructive }, // the floor
  { check: "addresses",            judge: checkAddresses },   // the floor
  { check: "checkpoint",           judge: checkCheckpoint },  // the floor
  { check: "rules",                judge: checkRules },
  { check: "files_that_run_later", judge: checkRunLater },
  { check: "hidden_names",         judge: checkHiddenNames },
  { check: "many_files",           judge: checkManyFiles },
  { check: "risky_commands",       judge: checkRisky },
  { check: "network_commands",     judge: checkNetwork },
  { check: "profile",              judge: judgeByProfile, yieldsToRules: true },
];

const STRICTNESS = { ALLOW: 0, REQUIRE_CONFIRMATION: 1, DENY: 2 } as const satisfies Record<Effect, number>;

const NOTHING_SAID: Verdict = deny("ToolNotAllowed", "Nothing allows this call", "none");

/**
 * May this call run? Pure: the same call, workspace and settings always give the same decision, so it can be explained
 * and run again over recorded history. Never throws.
 */
export function decide(call: CallFacts, workspace: WorkspaceContext, settings: DecisionSettings): Decision {
  const rule = findRule(call, workspace.roots, settings.configuration);
  const subject: Subject = { call, workspace, settings, rule };
  const checks: CheckVerdict[] = [];
  let decided = NOTHING_SAID;
  for (const { check, judge, yieldsToRules } of CHECKS) {
    const verdict = judge(subject);
    if (typeof verdict === "string") {
      checks.push({ check, effect: "PASS", reason: verdict });
      continue;
    }
    checks.push({ check, effect: verdict.effect, reason: verdict.reason });
    if (yieldsToRules && rule !== undefined) continue;
    if (decided === NOTHING_SAID || STRICTNESS[verdict.effect] > STRICTNESS[decided.effect]) decided = verdict;
  }
  return { ...decided, checks };
}

function checkToolsInForce({ call, workspace, settings }: Subject): Verdict | string {
  const { tool, touches } = call;
  let { inForce, reason } = isInForce(tool, workspace, settings);
  // A call may touch more than its tool declared.
  if (inForce) ({ inForce, reason } = areCommandsInForce(call, workspace));
  if (inForce) ({ inForce, reason } = isReachInForce(tool.name, reachOfTouches(touches), settings));
  return inForce ? reason : deny("ToolNotAllowed", reason, "tools_in_force");
}

function checkRoots({ call, workspace }: Subject): Verdict | string {
  for (const touch of call.touches) {
    const closed = judgeRoots(touch.real, workspace.roots);
    if (closed !== undefined) return denyTouch(touch, closed, "floor:roots");
  }
  return "Every path leads inside the allowed roots";
}

function checkSensitivity({ call, workspace }: Subject): Verdict | string {
  for (const touch of call.touches) {
    const closed = judgeSensitivity(touch.real, workspace);
    if (closed !== undefined) return denyTouch(touch, closed, "floor:sensitive_places");
  }
  return "No path leads to a closed place";
}

function checkDestructive({ call }: Subject): Verdict | string {
  const found = findingsOf(call).find(({ level }) => level === "destructive");
  if (found === undefined) return "No command is plainly destructive";
  return deny("CommandDenied", `Cannot run ${quote(found.command)}: ${found.reason}`, "floor:destructive_commands");
}

function checkAddresses({ call }: Subject): Verdict | string {
  for (const { shown, verdict } of call.addresses ?? []) {
    if (verdict.effect === "ALLOW") continue;
    return deny(verdict.code, `Cannot ask ${quote(shown)}: ${verdict.reason}`, "floor:network_allowlist");
  }
  return "No address is asked that the allowlist does not have";
}

function findingsOf({ commands = [] }: CallFacts): readonly CommandFinding[] {
  return commands.flatMap(({ verdict }) => verdict.findings);
}

function checkCheckpoint({ call, workspace }: Subject): Verdict | string {
  if (!call.tool.requires_checkpoint || workspace.checkpoint_handler) return "No checkpoint stands in the way";
  const reason = `Cannot use "${call.tool.name}": it waits for a checkpoint, and no handler is registered`;
  return deny("CheckpointDenied", reason, "floor:checkpoint");
}

function checkRules({ call, rule }: Subject): Verdict | string {
  if (rule === undefined) return "No rule matches";
  const reason = rule.reason ?? `A rule of the configuration ${RULE_SAYS[rule.effect]} "${call.tool.name}" here`;
  if (rule.effect === "deny") return deny("ToolNotAllowed", reason, rule.id);
  return rule.effect === "confirm" ? confirm(reason, rule.id) : { effect: "ALLOW", reason, rule: rule.id };
}

const RULE_SAYS = { allow: "allows", confirm: "asks a person before", deny: "denies" } as const;

/** A rule that allows in general does not mean these; one that names the place does. */
function checkRunLater({ call, workspace, rule }: Subject): Verdict | string {
  for (const { access, path, real } of call.touches) {
    if (!isChange(access)) continue;
    const place = findLaterPlace(real, workspace.roots);
    if (place === undefined || (rule?.effect === "allow" && namesPlace(rule, place))) continue;
    const reason = `Changing ${quote(path)} changes what runs later unasked (${place.path}: ${place.why})`;
    return confirm(reason, "builtin:files_that_run_later");
  }
  return "Nothing that runs later unasked would change, or a rule names it";
}

/** A rule that allows in general does not mean these; one that names the folder does. */
function checkHiddenNames({ call, settings, rule }: Subject): Verdict | string {
  const effect = CAUTIONS.hidden_names[settings.profile];
  const touch = call.touches.find(({ access, show_sensitive }) => access === "list" && show_sensitive);
  if (touch === undefined) return "No hidden names are asked for";
  if (effect === "allow") return `The profile "${settings.profile}" shows hidden names`;
  if (rule?.effect === "allow" && rule.pathNames !== undefined) return "A rule for this path allows it";
  const id = "builtin:hidden_names";
  if (effect === "confirm") return confirm(`Listing ${quote(touch.path)} would show names that are kept back`, id);
  const reason = `Cannot show hidden names in ${quote(touch.path)}: the profile "${settings.profile}" keeps them back`;
  return deny("ToolNotAllowed", reason, id);
}

/** A rule that allows in general does not mean these; one that names the command does. */
function checkRisky({ call, settings, rule }: Subject): Verdict | string {
  const found = findingsOf(call).find(({ level }) => level !== "destructive");
  if (found === undefined) return "No command is risky, and of each it is known what it would do";
  if (CAUTIONS.risky_commands[settings.profile] !== "confirm")
    return `The profile "${settings.profile}" runs risky commands`;
  if (rule?.effect === "allow" && rule.namesCommand) return "A rule for this command allows it";
  return confirm(`To run ${quote(found.command)}: ${found.reason}`, `builtin:${found.level}_commands`);
}

function checkNetwork({ call, settings }: Subject): Verdict | string {
  if (call.commands?.some(({ network }) => network) !== true) return "No command asks for the network";
  if (CAUTIONS.network_commands[settings.profile] !== "confirm")
    return `The profile "${settings.profile}" lets commands ask`;
  return confirm("The command asks for the network", "builtin:network_commands");
}

/** Asked for whatever rules allow in general: a rule speaks of files, not of how many at once. */
function checkManyFiles({ call, settings }: Subject): Verdict | string {
  const changed = new Set(call.touches.filter(({ access }) => isChange(access)).map(({ real }) => real));
  if (changed.size <= MANY_FILES) return "Few files would change at once";
  if (CAUTIONS.many_files[settings.profile] !== "confirm")
    return `The profile "${settings.profile}" does not ask how many`;
  return confirm(`It would change ${changed.size} files at once, more than ${MANY_FILES}`, "builtin:many_files");
}

function isChange(access: ResolvedTouch["access"]): boolean {
  return access === "write" || access === "delete";
}

function judgeByProfile(subject: Subject): Verdict {
  const { call, settings } = subject;
  const { name, permission_class } = call.tool;
  if (permission_class === "readonly" && reachOfDeeds(call) === "look") {
    return { effect: "ALLOW", reason: `"${name}" can change nothing`, rule: "class:readonly" };
  }
  if (permission_class === "generic") {
    return confirm(`No rule speaks of "${name}", and tools of its class are asked for`, "class:generic");
  }
  const reach = reachOfCall(call);
  const rule = `profile:${settings.profile}:${reach}`;
  const effect = OUTCOMES[PROFILES[settings.profile][reach]](subject);
  const reason = `The profile "${settings.profile}" ${PROFILE_SAYS[effect]} "${name}", which can ${DEEDS[reach]}`;
  if (effect === "DENY") return deny("ToolNotAllowed", reason, rule);
  return effect === "ALLOW" ? { effect, reason, rule } : confirm(reason, rule);
}

// oxfmt-ignore
const PROFILE_SAYS = {
  ALLOW:                "allows",
  DENY:                 "does not offer",
  REQUIRE_CONFIRMATION: "asks a person before",
} as const satisfies Record<Effect, string>;

// oxfmt-ignore
const OUTCOMES = {
  allow:     () => "ALLOW",
  hide:      () => "DENY",
  confirm:   () => "REQUIRE_CONFIRMATION",
  sandboxed: ({ workspace }) => (workspace.sandbox === "none" ? "REQUIRE_CONFIRMATION" : "ALLOW"),
  // Addresses that the floor let through are on the allowlist.
  in_roots:  ({ call }) => (usesNetwork(call.tool) && call.addresses === undefined ? "REQUIRE_CONFIRMATION" : "ALLOW"),
} as const satisfies Record<ProfileEffect, (subject: Subject) => Effect>;

function usesNetwork({ required_permissions, side_effects }: ToolFacts): boolean {
  return required_permissions.includes("net.connect") || side_effects.includes("network");
}

function deny(code: ErrorCode, reason: string, rule: string): Verdict {
  return { effect: "DENY", code, reason, rule };
}

function denyTouch({ access, path }: ResolvedTouch, { code, reason }: ClosedPlace, rule: string): Verdict {
  return deny(code, `Cannot ${access} ${quote(path)}: ${reason}`, rule);
}

/** What a person grants is this one call; wider grants are theirs to give (spec 3, Approval). */
function confirm(reason: string, rule: string): Verdict {
  return { effect: "REQUIRE_CONFIRMATION", scope: "call", reason, rule };
}

/** Line breaks and other control characters of a path do not get to lay out the message. */
function quote(path: string): string {
  return JSON.stringify(path);
}
