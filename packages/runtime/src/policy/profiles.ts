import type { Access } from "../contract/tool.ts";
import type { Permission, Risk, SideEffect } from "../protocol/call.ts";
import type { ProfileName } from "../protocol/configuration.ts";
import type { CallFacts, ResolvedTouch, ToolFacts } from "./facts.ts";

/** How far a call reaches, from near to far: the columns of the profiles. */
const REACHES = ["look", "change", "run", "reach_out"] as const;
export type Reach = (typeof REACHES)[number];

/**
 * `hide`: not offered, unless a rule with `offer` makes it available with approval. `sandboxed`: allowed inside the
 * sandbox, otherwise needs approval. `in_roots`: paths are allowed, since the roots confine them; the network needs
 * approval.
 */
export type ProfileEffect = "allow" | "hide" | "sandboxed" | "confirm" | "in_roots";

/** Part 3 of the specification, as data. Rules refine these rows; no code depends on a profile's name. */
// oxfmt-ignore
export const PROFILES = {
  readonly:   { look: "allow", change: "hide",  run: "hide",      reach_out: "hide" },
  guarded:    { look: "allow", change: "allow", run: "sandboxed", reach_out: "confirm" },
  autonomous: { look: "allow", change: "allow", run: "allow",     reach_out: "in_roots" },
} as const satisfies Record<ProfileName, Record<Reach, ProfileEffect>>;

/**
 * What a call may do beyond its reach, and what each profile says to it. `hidden_names`: see names that listings hide;
 * the files themselves stay closed. `risky_commands`: includes commands whose effect cannot be determined.
 * `network_commands`: they reach only the allowlist, even when approved. `many_files`: more than `MANY_FILES` at once.
 */
// oxfmt-ignore
export const CAUTIONS = {
  hidden_names:     { readonly: "hide", guarded: "confirm", autonomous: "allow" },
  risky_commands:   { readonly: "hide", guarded: "confirm", autonomous: "allow" },
  network_commands: { readonly: "hide", guarded: "confirm", autonomous: "allow" },
  many_files:       { readonly: "hide", guarded: "confirm", autonomous: "allow" },
} as const satisfies Record<string, Record<ProfileName, ProfileEffect>>;

/** Spec 2, apply_patch: more files than this at once need approval. */
export const MANY_FILES = 20;

/** What a call of each reach can do, for messages. */
// oxfmt-ignore
export const REACH_TEXT = {
  look:      "read files",
  change:    "change files",
  run:       "run programs",
  reach_out: "have effects that are hard to undo",
} as const satisfies Record<Reach, string>;

// oxfmt-ignore
const REACH_OF_PERMISSION = {
  "fs.read":     "look",
  "fs.write":    "change",
  "fs.delete":   "reach_out",
  "proc.exec":   "run",
  "net.connect": "reach_out",
  "git.write":   "reach_out",
} as const satisfies Record<Permission, Reach>;

// oxfmt-ignore
const REACH_OF_SIDE_EFFECT = {
  none:    "look",
  files:   "change",
  process: "run",
  network: "reach_out",
  message: "look",
} as const satisfies Record<SideEffect, Reach>;

// oxfmt-ignore
const REACH_OF_ACCESS = {
  read:   "look",
  list:   "look",
  write:  "change",
  delete: "reach_out",
} as const satisfies Record<Access, Reach>;

/** A tool with risk "medium" and no matching permission has not declared its reach. */
// oxfmt-ignore
const REACH_OF_RISK = {
  low:    "look",
  medium: "look",
  high:   "reach_out",
} as const satisfies Record<Risk, Reach>;

// oxfmt-ignore
const RISK_OF_REACH = {
  look:      "low",
  change:    "medium",
  run:       "medium",
  reach_out: "high",
} as const satisfies Record<Reach, Risk>;

const RISK_ORDER = { low: 0, medium: 1, high: 2 } as const satisfies Record<Risk, number>;

export function isFarther(one: Reach, other: Reach): boolean {
  return REACHES.indexOf(one) > REACHES.indexOf(other);
}

function farther(one: Reach, other: Reach): Reach {
  return isFarther(one, other) ? one : other;
}

export function reachOfPermission(permission: Permission): Reach {
  return REACH_OF_PERMISSION[permission];
}

/** By what the tool declares, before any call. */
export function reachOfTool({ required_permissions, side_effects }: ToolFacts): Reach {
  let reach: Reach = "look";
  for (const each of required_permissions) reach = farther(reach, REACH_OF_PERMISSION[each]);
  for (const each of side_effects) reach = farther(reach, REACH_OF_SIDE_EFFECT[each]);
  return reach;
}

export function reachOfTouches(touches: readonly ResolvedTouch[]): Reach {
  let reach: Reach = "look";
  for (const { access } of touches) reach = farther(reach, REACH_OF_ACCESS[access]);
  return reach;
}

/** How far a call reaches, whatever risk it declares. */
export function reachIgnoringRisk({ tool, touches }: CallFacts): Reach {
  return farther(reachOfTool(tool), reachOfTouches(touches));
}

/** The widest of what the tool declares, what the call touches and the risk it declares. */
export function reachOfCall(call: CallFacts): Reach {
  return farther(reachIgnoringRisk(call), REACH_OF_RISK[call.risk]);
}

/** Never less than the permissions and the touched paths imply. */
export function riskOfCall(call: CallFacts): Risk {
  const least = RISK_OF_REACH[reachIgnoringRisk(call)];
  return RISK_ORDER[call.risk] > RISK_ORDER[least] ? call.risk : least;
}
