import { mergeTrusted, narrowBy } from "@autonous/runtime";
import type { DecisionSettings, PolicyLayer, PolicyRule } from "@autonous/runtime";
import type { Refused } from "./load.ts";
import type { ReadFile } from "./read-file.ts";

/** What a file says of policy, with the line of each rule. Its profile is a setting, and is dealt with as one. */
export function layerOf({ path, policy, lineOf }: ReadFile): PolicyLayer {
  return {
    configuration: policy,
    origins: policy.rules.map((_, i) => ({ file: path, line: lineOf(["rules", i]) })),
  };
}

/** The policy with what a project's file makes of it: nothing but narrower, as long as it is not trusted. */
export function applyPolicy(policy: DecisionSettings, read: ReadFile, trusted: boolean): DecisionSettings {
  const layer = layerOf(read);
  return trusted ? mergeTrusted(policy, layer) : narrowBy(policy, layer);
}

/** What of a file's policy does not count in what came of it. */
export function refusedPolicy(read: ReadFile, trusted: boolean, inForce: DecisionSettings): readonly Refused[] {
  const { rules, network, approve, reverse_thinking } = read.policy;
  const { configuration } = inForce;
  const refused: Refused[] = [];
  const refuse = (path: readonly (string | number)[], why: string, until_trusted = true): void =>
    void refused.push({ where: read.where(path), what: path.join("."), why, until_trusted });
  if (approve !== undefined) refuse(["approve"], "what is approved is the person's own to say", false);
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
