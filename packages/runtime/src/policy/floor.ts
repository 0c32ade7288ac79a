import type { Permission } from "../protocol/call.ts";
import { checkGitContents } from "./git/check-git.ts";
import { judgeInRoots, judgeSensitivity } from "./paths/check-path.ts";
import type { ClosedPlace } from "./paths/check-path.ts";
import type { CallFacts, ResolvedTouch } from "./facts.ts";
import { permissionsOf } from "./commands/needed-permissions.ts";
import { reachOfTouches } from "./profiles.ts";
import { placesOf } from "./paths/skill-places.ts";
import { judge } from "./rules/judge-rules.ts";
import { areCommandsInForce, IN_FORCE, isInForce, isReachInForce } from "./tools-in-force.ts";
import { deny, quote } from "./verdict.ts";
import type { Subject, Verdict } from "./verdict.ts";

export function checkToolsInForce({ call, workspace, settings }: Subject): Verdict | string {
  const { tool, touches } = call;
  const said = [
    isInForce(tool, workspace, settings),
    areCommandsInForce(call, workspace),
    isReachInForce(tool.name, reachOfTouches(touches), settings), // a call may touch more than its tool declared
  ];
  const out = said.find(({ inForce }) => !inForce);
  if (out !== undefined) return deny("ToolNotAllowed", out.reason, "tools_in_force");
  const offer = said.find(({ offered_by }) => offered_by !== undefined)?.offered_by;
  if (offer === undefined) return IN_FORCE.reason;
  return judge(offer, { layer: settings, toolName: tool.name, whose: "the configuration", prefix: "" });
}

export function checkRequested({ call }: Subject): Verdict | string {
  const { requested, tool } = call;
  if (requested === undefined) return "The call does not limit its permissions";
  const missing = notRequested(call);
  if (missing.length === 0) return "The call needs no permission that it did not request";
  const reason = `Cannot use "${tool.name}": the call needs ${missing.join(", ")} and requested ${requested.join(", ") || "nothing"}`;
  return deny("ToolNotAllowed", reason, "floor:requested_permissions");
}

/** Permissions that a call needs or may need and its caller did not request. Empty if the caller set no limit. */
export function notRequested(call: CallFacts): readonly Permission[] {
  const { uses, may } = permissionsOf(call);
  return [...uses, ...may].filter((permission) => call.requested?.includes(permission) === false);
}

export function checkRoots({ call, workspace }: Subject): Verdict | string {
  for (const touch of call.touches) {
    const closed = judgeInRoots(touch.real, placesOf(touch, workspace));
    if (closed !== undefined) return denyTouch(touch, closed, "floor:roots");
  }
  const skill = call.touches.find(({ skill_folder }) => skill_folder !== undefined)?.skill_folder;
  if (skill === undefined) return "Every path is inside the allowed roots";
  return `Every path is inside the allowed roots, or is read in a skill of the user's own (${quote(skill)})`;
}

export function checkSensitivity(subject: Subject): Verdict | string {
  const { call, workspace } = subject;
  for (const touch of call.touches) {
    const closed = judgeSensitivity(touch.real, placesOf(touch, workspace));
    if (closed !== undefined) return denyTouch(touch, closed, "floor:sensitive_places");
  }
  return checkGitContents(subject) ?? "No path is off limits";
}

export function checkDestructive({ call: { commands } }: Subject): Verdict | string {
  for (const { verdict } of commands ?? NONE) {
    const found = verdict.findings.find(({ level }) => level === "destructive" || level === "unreadable");
    if (found === undefined) continue;
    const { level, reason } = found;
    const way = level === "unreadable" ? UNREADABLE_WAY : "";
    return deny("CommandDenied", `Cannot run ${quote(found.command)}: ${reason}${way}`, `floor:${level}_commands`);
  }
  return "No command is plainly destructive, and all can be parsed";
}

export function checkAddresses({ call: { addresses } }: Subject): Verdict | string {
  for (const { shown, verdict } of addresses ?? NONE) {
    if (verdict.effect === "ALLOW") continue;
    return deny(verdict.code, `Cannot connect to ${quote(shown)}: ${verdict.reason}`, "floor:network_allowlist");
  }
  return "Every requested address is on the allowlist";
}

/** A command that cannot get the network even with approval is refused without asking for it. */
export function checkCommandNetwork(subject: Subject): Verdict | string {
  const problem = commandNetworkProblem(subject);
  if (problem === undefined) return "No command asks for a network that is unavailable";
  const { why, way } = COMMAND_NETWORK[problem];
  return deny("NetworkDenied", `Cannot give the command the network: ${why}; ${way}`, `floor:${problem}`);
}

type NetworkProblem = "network_allowlist" | "network_without_sandbox" | "network_in_background";

// oxfmt-ignore
const COMMAND_NETWORK = {
  network_allowlist:       { why: "the network allowlist is empty",                    way: `set "network": { "allow": ["example.com"] } in the configuration (~/.config/autonous/config.json, or "network" of createRuntime)` },
  network_without_sandbox: { why: "only a sandbox enforces the network allowlist",  way: `no sandbox is available; run "autonous doctor" to see why` },
  network_in_background:   { why: "it would keep running after the call that had network access", way: "fetch what it needs with a foreground command" },
} as const satisfies Record<NetworkProblem, { readonly why: string; readonly way: string }>;

export function commandNetworkProblem({
  call: { commands },
  workspace,
  settings,
}: Pick<Subject, "call" | "workspace" | "settings">): NetworkProblem | undefined {
  const asking = (commands ?? NONE).filter(({ network }) => network);
  if (asking.length === 0) return undefined;
  if ((settings.configuration.network?.allow ?? NONE).length === 0) return "network_allowlist";
  if (asking.some(({ background }) => background === true)) return "network_in_background";
  return workspace.sandbox === "none" ? "network_without_sandbox" : undefined;
}

export function checkCheckpoint({ call, workspace }: Subject): Verdict | string {
  if (!call.tool.requires_checkpoint || workspace.checkpoint_handler)
    return "No checkpoint is required, or a handler is registered";
  const reason = `Cannot use "${call.tool.name}": it requires a checkpoint, and no handler is registered`;
  return deny("CheckpointDenied", reason, "floor:checkpoint");
}

/** What to do about a text that bash, or only this parser, cannot parse. */
const UNREADABLE_WAY = "; fix its quoting and brackets, or write it to a script file and run that";

const NONE = [] as const;

function denyTouch({ access, path }: ResolvedTouch, { code, reason }: ClosedPlace, rule: string): Verdict {
  return deny(code, `Cannot ${access} ${quote(path)}: ${reason}`, rule);
}
