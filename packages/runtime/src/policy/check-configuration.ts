import { explainBadEntry } from "./check-address.ts";
import { compileGlob } from "../paths/glob.ts";
import { makePolicySchema } from "../protocol/configuration.ts";
import type { PolicyConfiguration } from "../protocol/configuration.ts";

/** A configuration and all its problems: `rules.0.path …`. If there are problems, the configuration is empty. */
export function checkConfiguration(given: unknown): {
  readonly configuration: PolicyConfiguration;
  readonly problems: readonly string[];
} {
  if (given === NOTHING || isEmpty(given)) return { configuration: NOTHING, problems: [] };
  const parsed = makePolicySchema().safeParse(given);
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `${issue.path.map(String).join(".")}: ${issue.message}`);
    return { configuration: NOTHING, problems };
  }
  const problems = [
    ...parsed.data.rules.flatMap(({ tool, path, domain, mcp_server }, i) => [
      ...checkGlob(tool, `rules.${i}.tool`),
      ...checkGlob(path, `rules.${i}.path`),
      ...checkDomain(domain, `rules.${i}.domain`),
      ...checkGlob(mcp_server, `rules.${i}.mcp_server`),
    ]),
    ...checkAllowlist(parsed.data.network?.allow ?? []),
  ];
  return { configuration: problems.length === 0 ? parsed.data : NOTHING, problems };
}

/** Most configurations have no policy. Checked without the schema, whose first use costs milliseconds. */
const NOTHING: PolicyConfiguration = { rules: [], quotas: [] };

function isEmpty(given: unknown): boolean {
  return typeof given === "object" && given !== null && !Array.isArray(given) && Object.keys(given).length === 0;
}

/** An invalid entry opens nothing, so it is reported instead of ignored. */
function checkAllowlist(allow: readonly string[]): string[] {
  return allow.flatMap((entry, i) => {
    const problem = explainBadEntry(entry);
    return problem === undefined ? [] : [`network.allow.${i}: ${problem}`];
  });
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

/** Not a valid host: the rule would never match, and a deny rule would silently have no effect. */
const NO_HOST = /[^\x21-\x7e]|[/:@]/;

function checkDomain(pattern: string | undefined, where: string): string[] {
  if (pattern === undefined) return [];
  const isAddress = /^[0-9a-f:.]+$/i.test(pattern) && pattern.split(":").length > 2;
  if (!NO_HOST.test(pattern) || isAddress) return checkGlob(pattern, where);
  return [
    `${where}: it is not a valid host; write the name alone, such as example.com or *.example.com (others as xn--…)`,
  ];
}
