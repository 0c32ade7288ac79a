import { mergeTrusted, narrowBy } from "@autonous/runtime/internal";
import type { PolicyRule } from "@autonous/runtime";
import type { DecisionSettings, PolicyLayer } from "@autonous/runtime/internal";
import type { RefusedSetting } from "./load.ts";
import type { ReadFile } from "./read-file.ts";

/** The policy part of a file, with the line of each rule. The profile is handled as a setting. */
export function layerOf({ path, policy, lineOf }: ReadFile): PolicyLayer {
  return {
    configuration: policy,
    origins: policy.rules.map((_, i) => ({ file: path, line: lineOf(["rules", i]) })),
  };
}

/** The policy merged with a project's file, which can only narrow it until it is trusted. */
export function applyPolicy(policy: DecisionSettings, read: ReadFile, trusted: boolean): DecisionSettings {
  const layer = layerOf(read);
  return trusted ? mergeTrusted(policy, layer) : narrowBy(policy, layer);
}

/** The parts of a file's policy that are not in force. */
export function refusedPolicy(read: ReadFile, trusted: boolean, inForce: DecisionSettings): readonly RefusedSetting[] {
  const { rules, network, approve, reverse_thinking } = read.policy;
  const { configuration } = inForce;
  const refused: RefusedSetting[] = [];
  const refuse = (path: readonly (string | number)[], why: string, until_trusted = true): void =>
    void refused.push({ where: read.where(path), what: path.join("."), why, until_trusted });
  if (approve !== undefined) refuse(["approve"], "only the user's own configuration can set this", false);
  if (trusted) return refused;
  for (const [i, rule] of rules.entries()) {
    if (rule.effect === "allow") refuse(["rules", i], `${describeRule(rule)} needs trust`);
  }
  for (const [i, name] of (network?.allow ?? []).entries()) {
    if (configuration.network?.allow.includes(name) !== true) refuse(["network", "allow", i], `"${name}" needs trust`);
  }
  if (reverse_thinking !== undefined && reverse_thinking !== configuration.reverse_thinking) {
    refuse(["reverse_thinking"], `"${reverse_thinking}" needs trust`);
  }
  return refused;
}

/** `allow tool=bash command=npm *`. */
function describeRule({ effect, reason: _reason, ...conditions }: PolicyRule): string {
  return [effect, ...Object.entries(conditions).map(([name, value]) => `${name}=${value}`)].join(" ");
}
