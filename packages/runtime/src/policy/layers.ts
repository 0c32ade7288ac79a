import { PROFILE_NAMES } from "../protocol/configuration.ts";
import type { PolicyConfiguration, ProfileName } from "../protocol/configuration.ts";
import { intersectAllowlists } from "./check-address.ts";
import type { DecisionSettings, PolicyLayer, RuleOrigin } from "./facts.ts";

/**
 * The user's settings narrowed by an untrusted project's configuration: whatever it says, no call gets a weaker answer
 * than without it (spec 3, Trust). Its `approve` is ignored.
 */
export function narrowBy(user: DecisionSettings, project: PolicyLayer): DecisionSettings {
  const { profile = user.profile, configuration: theirs } = project;
  const ours = user.configuration;
  return {
    ...user,
    profile: stricter(user.profile, profile),
    configuration: {
      ...both(ours, theirs),
      ...(theirs.network !== undefined && {
        network: { allow: intersectAllowlists(ours.network?.allow ?? [], theirs.network.allow) },
      }),
      // "instead" is the only value that skips the user's approval.
      ...(ours.reverse_thinking === "instead" &&
        theirs.reverse_thinking !== undefined && { reverse_thinking: theirs.reverse_thinking }),
    },
    projects: [...(user.projects ?? []), project],
  };
}

/**
 * The user's settings merged with a trusted project's configuration: its rules rank equal to the user's, and its
 * allowlist is added. Both tool lists and all quotas still apply; `approve` comes only from the user.
 */
export function mergeTrusted(user: DecisionSettings, project: PolicyLayer): DecisionSettings {
  const { profile = user.profile, configuration: theirs } = project;
  const ours = user.configuration;
  const allow = [...(ours.network?.allow ?? []), ...(theirs.network?.allow ?? [])];
  return {
    ...user,
    profile,
    configuration: {
      ...both(ours, theirs),
      rules: [...ours.rules, ...theirs.rules],
      ...(allow.length > 0 && { network: { allow: [...new Set(allow)] } }),
      ...(theirs.reverse_thinking !== undefined && { reverse_thinking: theirs.reverse_thinking }),
    },
    origins: [...originsOf(user), ...originsOf(project)],
  };
}

/** What combines the same way, trusted or not. */
function both(ours: PolicyConfiguration, theirs: PolicyConfiguration): PolicyConfiguration {
  const { tools } = ours;
  return {
    ...ours,
    ...(theirs.tools !== undefined && {
      tools: theirs.tools.filter((name) => tools === undefined || tools.includes(name)),
    }),
    quotas: [...ours.quotas, ...theirs.quotas],
  };
}

/** One per rule, so that the origins of the next file stay aligned. */
function originsOf({ configuration: { rules }, origins = [] }: PolicyLayer): readonly (RuleOrigin | undefined)[] {
  return rules.map((_, index) => origins[index]);
}

function stricter(one: ProfileName, other: ProfileName): ProfileName {
  return PROFILE_NAMES.indexOf(other) < PROFILE_NAMES.indexOf(one) ? other : one;
}
