import { compileGlob } from "../paths/glob.ts";
import { policyConfiguration } from "../protocol/configuration.ts";
import type { PolicyConfiguration } from "../protocol/configuration.ts";

/** A configuration and everything that is wrong with it: `rules.0.path …`. With problems it is the empty one. */
export function checkConfiguration(given: unknown): {
  readonly configuration: PolicyConfiguration;
  readonly problems: readonly string[];
} {
  const parsed = policyConfiguration.safeParse(given);
  const problems = parsed.success
    ? parsed.data.rules.flatMap(({ tool, path }, i) => [
        ...checkGlob(tool, `rules.${i}.tool`),
        ...checkGlob(path, `rules.${i}.path`),
      ])
    : parsed.error.issues.map((issue) => `${issue.path.map(String).join(".")}: ${issue.message}`);
  return {
    configuration: parsed.success && problems.length === 0 ? parsed.data : policyConfiguration.parse({}),
    problems,
  };
}

function checkGlob(pattern: string | undefined, where: string): string[] {
  if (pattern === undefined) return [];
  try {
    compileGlob(pattern);
    return [];
  } catch (error) {
    return [`${where}: ${(error as Error).message}`];
  }
}
