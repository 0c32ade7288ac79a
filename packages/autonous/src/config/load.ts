import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { checkConfiguration, checkRoots, nearestNames } from "@autonous/runtime";
import type { PolicyConfiguration } from "@autonous/runtime";
import { checkValue, readText, SETTINGS } from "./settings.ts";
import type { Settings, SettingName, SettingValue } from "./settings.ts";

export interface Configuration {
  readonly settings: Settings;
  readonly policy: PolicyConfiguration;
  /** Where each value came from: a variable, the file, or "default". */
  readonly sources: Readonly<Record<SettingName, string>>;
  readonly file: { readonly path: string; readonly found: boolean };
}

/** A configuration that cannot be used, with everything that is wrong with it. */
export class ConfigurationError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      problems.length === 1
        ? `The configuration has a mistake: ${problems[0]}`
        : `The configuration has ${problems.length} mistakes:\n${problems.map((each) => `- ${each}`).join("\n")}`,
    );
    this.name = "ConfigurationError";
    this.problems = problems;
  }
}

/** The user's own configuration file. Nothing in a workspace is read here: it would configure the runtime that guards it. */
function configurationPath(environment: NodeJS.ProcessEnv): string {
  const base = environment["XDG_CONFIG_HOME"];
  return join(base !== undefined && isAbsolute(base) ? base : join(homedir(), ".config"), "autonous", "config.json");
}

/** Environment first, then the user's file, then defaults. Throws `ConfigurationError` with every mistake at once. */
export function loadConfiguration(environment: NodeJS.ProcessEnv): Configuration {
  const problems: string[] = [];
  const path = configurationPath(environment);
  const file = readFile(path, problems);
  const { policy, named } = readFileContent(file ?? {}, path, problems);
  const values: Partial<Record<SettingName, SettingValue>> = {};
  const sources: Partial<Record<SettingName, string>> = {};
  for (const name of Object.keys(SETTINGS) as SettingName[]) {
    const { variable, default: fallback } = SETTINGS[name];
    const text = environment[variable];
    const inFile = named[name];
    const found = text === undefined ? inFile : readText(name, text);
    const source = text === undefined ? path : variable;
    // A mistake in the file is told even where the environment outweighs it: the next start may be without.
    if (inFile !== undefined && "problem" in inFile) problems.push(`${path}: "${name}" ${inFile.problem}`);
    if (text !== undefined && found !== undefined && "problem" in found) problems.push(`${variable} ${found.problem}`);
    values[name] = found !== undefined && "value" in found ? found.value : fallback;
    sources[name] = found === undefined ? "default" : source;
  }
  if (values.tool_allowed_roots !== undefined) {
    const { problems: wrong } = checkRoots(values.tool_allowed_roots as readonly string[]);
    problems.push(...wrong.map((each) => `${sources.tool_allowed_roots}: ${each}`));
  }
  if (problems.length > 0) throw new ConfigurationError(problems);
  return {
    settings: values as Settings,
    policy,
    sources: sources as Configuration["sources"],
    file: { path, found: file !== undefined },
  };
}

function readFile(path: string, problems: string[]): Record<string, unknown> | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "ENOTDIR") problems.push(`${path} cannot be read (${code})`);
    return undefined;
  }
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
    problems.push(`${path} has to hold a JSON object`);
  } catch (error) {
    problems.push(`${path} is no JSON: ${(error as Error).message}`);
  }
  return {};
}

type Named = Partial<Record<SettingName, ReturnType<typeof checkValue>>>;

const POLICY_KEYS = ["tools", "rules", "quotas"] as const satisfies readonly (keyof PolicyConfiguration)[];

function readFileContent(
  file: Record<string, unknown>,
  path: string,
  problems: string[],
): { policy: PolicyConfiguration; named: Named } {
  const named: Named = {};
  const policyPart: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(file)) {
    if (Object.hasOwn(SETTINGS, key)) named[key as SettingName] = checkValue(key as SettingName, value);
    else if ((POLICY_KEYS as readonly string[]).includes(key)) policyPart[key] = value;
    else if (key !== "$schema") problems.push(unknownKey(key, path));
  }
  const { configuration: policy, problems: wrong } = checkConfiguration(policyPart);
  problems.push(...wrong.map((each) => `${path}: ${each}`));
  return { policy, named };
}

const PREFIX = "AUTONOUS_";

/** Variables that are written almost like one of ours, which is what a slip of the finger looks like. */
export function unknownVariables(environment: NodeJS.ProcessEnv): readonly string[] {
  const known = ownNames(Object.values(SETTINGS).map(({ variable }) => variable));
  return ownNames(Object.keys(environment))
    .filter((name) => !known.includes(name))
    .flatMap((name) => {
      const [nearest] = nearestNames(name, known);
      return nearest === undefined ? [] : [`${PREFIX}${name} is not a setting; did you mean ${PREFIX}${nearest}?`];
    });
}

function ownNames(variables: readonly string[]): string[] {
  return variables.filter((name) => name.startsWith(PREFIX)).map((name) => name.slice(PREFIX.length));
}

function unknownKey(key: string, path: string): string {
  const [nearest] = nearestNames(key, [...Object.keys(SETTINGS), ...POLICY_KEYS]);
  return `${path}: "${key}" is not a setting${nearest === undefined ? "" : `; did you mean "${nearest}"?`}`;
}
