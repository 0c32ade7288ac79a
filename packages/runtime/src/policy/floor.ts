import type { Permission } from "../protocol/call.ts";
import { checkGitContents } from "./check-git.ts";
import { judgeInRoots, judgeSensitivity } from "./check-path.ts";
import type { ClosedPlace } from "./check-path.ts";
import type { CallFacts, ResolvedTouch } from "./facts.ts";
import { permissionsOf } from "./needed-permissions.ts";
import { reachOfTouches } from "./profiles.ts";
import { placesOf } from "./skill-places.ts";
import { judge } from "./judge-rules.ts";
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
  if (requested === undefined) return "The call asks for whatever permissions it needs";
  const missing = notRequested(call);
  if (missing.length === 0) return "The call needs no permission that it did not request";
  const reason = `Cannot use "${tool.name}": the call needs ${missing.join(", ")} and requested ${requested.join(", ") || "nothing"}`;
  return deny("ToolNotAllowed", reason, "floor:requested_permissions");
}

/** What a call needs, or may need, and its caller did not request. Nothing where the caller did not say. */
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
  if (skill === undefined) return "Every path leads inside the allowed roots";
  return `Every path leads inside the allowed roots, or is read in a skill of the user's own (${quote(skill)})`;
}

export function checkSensitivity(subject: Subject): Verdict | string {
  const { call, workspace } = subject;
  for (const touch of call.touches) {
    const closed = judgeSensitivity(touch.real, placesOf(touch, workspace));
    if (closed !== undefined) return denyTouch(touch, closed, "floor:sensitive_places");
  }
  return checkGitContents(subject) ?? "No path leads to a closed place";
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
    return deny(verdict.code, `Cannot ask ${quote(shown)}: ${verdict.reason}`, "floor:network_allowlist");
  }
  return "No address is asked that the allowlist does not have";
}

/** A command that cannot get the network even with approval is refused without asking for it. */
export function checkCommandNetwork(subject: Subject): Verdict | string {
  const problem = commandNetworkProblem(subject);
  if (problem === undefined) return "No command asks for the network where there is none to give";
  const { why, way } = COMMAND_NETWORK[problem];
  return deny("NetworkDenied", `Cannot give the command the network: ${why}; ${way}`, `floor:${problem}`);
}

type NetworkProblem = "network_allowlist" | "network_without_sandbox" | "network_in_background";

// oxfmt-ignore
const COMMAND_NETWORK = {
  network_allowlist:       { why: "the network allowlist is empty",                    way: `set "network": { "allow": ["example.com"] } in the configuration (~/.config/autonous/config.json, or "network" of createRuntime)` },
  network_without_sandbox: { why: "only a sandbox holds it to the network allowlist",  way: `there is none, and "autonous doctor" says why` },
  network_in_background:   { why: "it would go on after the call that was allowed to reach out", way: "fetch what it needs with a command that is waited for" },
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
  if (!call.tool.requires_checkpoint || workspace.checkpoint_handler) return "No checkpoint stands in the way";
  const reason = `Cannot use "${call.tool.name}": it waits for a checkpoint, and no handler is registered`;
  return deny("CheckpointDenied", reason, "floor:checkpoint");
}

/** What to do about a text that bash would refuse, or that only this parser does. */
const UNREADABLE_WAY = "; fix its quoting and brackets, or write it to a script file and run that";

const NONE = [] as const;

function denyTouch({ access, path }: ResolvedTouch, { code, reason }: ClosedPlace, rule: string): Verdict {
  return deny(code, `Cannot ${access} ${quote(path)}: ${reason}`, rule);
}
