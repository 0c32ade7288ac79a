import type { Effect } from "../protocol/decision.ts";
import { checkHiddenNames, checkManyFiles, checkNetwork, checkRisky, checkRunLater } from "./cautions.ts";
import { checkHiddenTracked } from "./git/check-git.ts";
import type { CallFacts, DecisionSettings, ToolFacts, WorkspaceContext } from "./facts.ts";
import { checkCommandPaths, checkUnshownPaths } from "./rules/command-rules.ts";
import {
  checkAddresses,
  checkCheckpoint,
  checkCommandNetwork,
  checkDestructive,
  checkRequested,
  checkRoots,
  checkSensitivity,
  checkToolsInForce,
} from "./floor.ts";
import { checkProjectRules, checkRules, placeOf } from "./rules/judge-rules.ts";
import { REACH_TEXT, PROFILES, reachOfCall, reachIgnoringRisk } from "./profiles.ts";
import type { ProfileEffect } from "./profiles.ts";
import { findRule } from "./rules/rules.ts";
import { allow, confirm, deny } from "./verdict.ts";
import type { CheckVerdict, Decision, Subject, Verdict } from "./verdict.ts";

export type {
  CallFacts,
  DecisionSettings,
  NamedAddress,
  NamedCommand,
  PolicyLayer,
  ResolvedTouch,
  RuleOrigin,
  ToolFacts,
  WorkspaceContext,
} from "./facts.ts";
export type { CheckVerdict, Decision } from "./verdict.ts";

interface Check {
  readonly check: string;
  /** A verdict, or the reason why the check has no objection. */
  readonly judge: (subject: Subject) => Verdict | string;
  /** Runs only if no rule matches. */
  readonly yieldsToRules?: true;
}

/**
 * The decision (spec 3). The first check with a verdict decides, and later ones can only tighten it. The floor comes
 * first and always says DENY, so no rule and no profile overrides it.
 */
// oxfmt-ignore
const CHECKS: readonly Check[] = [
  { check: "tools_in_force",        judge: checkToolsInForce },
  { check: "requested_permissions", judge: checkRequested },  // the floor
  { check: "roots",                 judge: checkRoots },       // the floor: what no profile allows
  { check: "sensitive_places",      judge: checkSensitivity }, // the floor
  { check: "destructive_commands",  judge: checkDestructive }, // the floor
  { check: "hidden_tracked_files",  judge: checkHiddenTracked }, // the floor, or approval where that opens them
  { check: "addresses",             judge: checkAddresses },   // the floor
  { check: "command_network",       judge: checkCommandNetwork }, // the floor
  { check: "checkpoint",            judge: checkCheckpoint },  // the floor
  { check: "rules",                 judge: checkRules },
  { check: "command_paths",         judge: checkCommandPaths },
  { check: "untold_commands",       judge: checkUnshownPaths },
  { check: "files_that_run_later",  judge: checkRunLater },
  { check: "hidden_names",          judge: checkHiddenNames },
  { check: "many_files",            judge: checkManyFiles },
  { check: "risky_commands",        judge: checkRisky },
  { check: "network_commands",      judge: checkNetwork },
  { check: "profile",               judge: judgeByProfile, yieldsToRules: true },
  { check: "project_rules",         judge: checkProjectRules },
];

const STRICTNESS = { ALLOW: 0, REQUIRE_CONFIRMATION: 1, DENY: 2 } as const satisfies Record<Effect, number>;

/** Fails closed: used if no check has a verdict. The profile or a rule always has one. */
const NOTHING_SAID: Verdict = deny("ToolNotAllowed", "Nothing allows this call", "none");

/**
 * Whether this call may run. Pure: the same call, workspace and settings always give the same decision, so it can be
 * explained and replayed over recorded history. Never throws.
 */
export function decide(call: CallFacts, workspace: WorkspaceContext, settings: DecisionSettings): Decision {
  const rule = findRule(call, workspace.roots, settings.configuration);
  const subject: Subject = { call, workspace, settings, rule };
  return withChecks(verdictOn(subject), subject);
}

function verdictOn(subject: Subject): Verdict {
  let decided = NOTHING_SAID;
  for (const { judge, yieldsToRules } of CHECKS) {
    if (yieldsToRules === true && subject.rule !== undefined) continue;
    const verdict = judge(subject);
    if (typeof verdict === "string") continue;
    if (verdict.effect === "DENY") return verdict; // nothing after it can tighten that
    if (decided === NOTHING_SAID || STRICTNESS[verdict.effect] > STRICTNESS[decided.effect]) decided = verdict;
  }
  return decided;
}

/** Lazy: the full list costs more than the decision, and few callers read it. */
function withChecks(verdict: Verdict, subject: Subject): Decision {
  return {
    ...verdict,
    get checks() {
      return CHECKS.map((check) => explain(check, subject));
    },
  };
}

function explain({ check, judge }: Check, subject: Subject): CheckVerdict {
  const verdict = judge(subject);
  if (typeof verdict === "string") return { check, effect: "PASS", reason: verdict };
  return { check, effect: verdict.effect, reason: verdict.reason + placeOf(verdict.origin) };
}

function judgeByProfile(subject: Subject): Verdict {
  const { call, settings } = subject;
  const { name, permission_class } = call.tool;
  if (permission_class === "readonly" && reachIgnoringRisk(call) === "look") {
    return allow(`"${name}" can change nothing`, "class:readonly");
  }
  if (permission_class === "generic") {
    return confirm(`No rule matches "${name}", and tools of its class need approval`, "class:generic");
  }
  const reach = reachOfCall(call);
  const rule = `profile:${settings.profile}:${reach}`;
  const effect = OUTCOMES[PROFILES[settings.profile][reach]](subject);
  const reason = `The profile "${settings.profile}" ${PROFILE_SAYS[effect]} "${name}", which can ${REACH_TEXT[reach]}`;
  if (effect === "DENY") return deny("ToolNotAllowed", reason, rule);
  return effect === "ALLOW" ? allow(reason, rule) : confirm(reason, rule);
}

// oxfmt-ignore
const PROFILE_SAYS = {
  ALLOW:                "allows",
  DENY:                 "does not offer",
  REQUIRE_CONFIRMATION: "requires approval for",
} as const satisfies Record<Effect, string>;

// oxfmt-ignore
const OUTCOMES = {
  allow:     () => "ALLOW",
  hide:      () => "DENY",
  confirm:   () => "REQUIRE_CONFIRMATION",
  sandboxed: ({ workspace }) => (workspace.sandbox === "none" ? "REQUIRE_CONFIRMATION" : "ALLOW"),
  // Addresses that passed the floor are on the allowlist.
  in_roots:  ({ call }) => (usesNetwork(call.tool) && call.addresses === undefined ? "REQUIRE_CONFIRMATION" : "ALLOW"),
} as const satisfies Record<ProfileEffect, (subject: Subject) => Effect>;

function usesNetwork({ required_permissions, side_effects }: ToolFacts): boolean {
  return required_permissions.includes("net.connect") || side_effects.includes("network");
}
