import { PROFILE_NAMES } from "../protocol/configuration.ts";
import type { PolicyConfiguration, ProfileName } from "../protocol/configuration.ts";
import { intersectAllowlists } from "./check-address.ts";
import type { DecisionSettings, PolicyLayer, RuleOrigin } from "./facts.ts";

/**
 * The user's settings with a project's configuration that nobody has trusted: whatever it says, no call gets a weaker
 * answer than without it (spec 3, Trust). What it says of `approve` is not heard at all.
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
      // The only order that spares a person the question.
      ...(ours.reverse_thinking === "instead" &&
        theirs.reverse_thinking !== undefined && { reverse_thinking: theirs.reverse_thinking }),
    },
    projects: [...(user.projects ?? []), project],
  };
}

/**
 * The user's settings with a project's configuration that the user trusts: its rules are equals of the user's, its
 * allowlist adds to theirs. Both lists of tools and all quotas still hold; `approve` stays the user's own.
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

/** What of the two holds together, trusted or not. */
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

/** One for each rule, so that those of the next file line up. */
function originsOf({ configuration: { rules }, origins = [] }: PolicyLayer): readonly (RuleOrigin | undefined)[] {
  return rules.map((_, index) => origins[index]);
}

function stricter(one: ProfileName, other: ProfileName): ProfileName {
  return PROFILE_NAMES.indexOf(other) < PROFILE_NAMES.indexOf(one) ? other : one;
}
