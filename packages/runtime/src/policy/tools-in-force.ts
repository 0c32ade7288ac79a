import type { DecisionSettings, ToolFacts, WorkspaceContext } from "./facts.ts";
import { DEEDS, PROFILES, reachOfTool } from "./profiles.ts";
import type { Reach } from "./profiles.ts";

export interface InForce {
  readonly inForce: boolean;
  readonly reason: string;
}

const IN_FORCE: InForce = { inForce: true, reason: "Configuration, skill and run leave it in force" };

/**
 * Configuration ∩ skill ∩ run time (spec 3, The decision). Each can only narrow: a tool that one of them leaves out is
 * neither offered nor callable, and no rule brings it back.
 */
export function isInForce(tool: ToolFacts, workspace: WorkspaceContext, settings: DecisionSettings): InForce {
  const { name } = tool;
  const { skill_tools, runtime_tools } = workspace;
  const { tools } = settings.configuration;
  if (tools?.includes(name) === false) return outOfForce(`Cannot use "${name}": the configuration does not list it`);
  if (skill_tools?.includes(name) === false) {
    return outOfForce(`Cannot use "${name}": the active skill does not list it in allowed-tools`);
  }
  if (runtime_tools?.includes(name) === false) return outOfForce(`Cannot use "${name}": this run leaves it out`);
  return isReachInForce(name, reachOfTool(tool), settings);
}

/** The profile's part of it. Asked again with what a call touches, which may be more than its tool declared. */
export function isReachInForce(toolName: string, reach: Reach, { profile }: DecisionSettings): InForce {
  if (PROFILES[profile][reach] !== "hide") return IN_FORCE;
  return outOfForce(`Cannot use "${toolName}": the profile "${profile}" offers nothing that can ${DEEDS[reach]}`);
}

function outOfForce(reason: string): InForce {
  return { inForce: false, reason };
}
