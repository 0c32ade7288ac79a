import { dirname, join, resolve } from "node:path";
import {
  boundList,
  checkConfiguration,
  checkRoots,
  configurationFolder,
  nearestNames,
  homeFolder,
} from "@autonous/runtime/internal";
import type { DecisionSettings } from "@autonous/runtime/internal";
import { layerOf } from "./policy-layer.ts";
import type { ModelTable } from "./model-table.ts";
import type { PriceTable } from "./price-table.ts";
import { parseConfiguration, readOwnText } from "./read-file.ts";
import type { ReadFile } from "./read-file.ts";
import { defaultOf, givenBy, readText, SETTINGS } from "./settings.ts";
import type { Settings, SettingName, SettingValue } from "./settings.ts";

export interface Configuration {
  readonly settings: Settings;
  /** The policy, with the profile of the settings. */
  readonly policy: DecisionSettings;
  /** Prices of models, from the user's own file. */
  readonly prices: PriceTable;
  /** Settings per model, from the user's own file. */
  readonly models: ModelTable;
  /** Files that export tools and handlers: the user's, then the projects'. */
  readonly modules: readonly ModuleReference[];
  /** Where each value came from: a variable, a file, or "default". */
  readonly sources: Readonly<Record<SettingName, string>>;
  /** The user's own file, then the project's. */
  readonly files: readonly ConfigurationFile[];
  /** Parts of a project's files that are not in force. */
  readonly refused: readonly RefusedSetting[];
}

/** A module that a configuration file names. */
export interface ModuleReference {
  /** Absolute. */
  readonly path: string;
  /** The position of its name: `<file>:<line>:<column>`. */
  readonly where: string;
  /** Whether that file is trusted. The module itself needs trust too. */
  readonly is_named: boolean;
}

/** The modules of a file, resolved relative to a folder. */
export function modulesOf(
  { modules = [], where }: Pick<ReadFile, "modules" | "where">,
  { folder, trusted }: { readonly folder: string; readonly trusted: boolean },
): readonly ModuleReference[] {
  return modules.map((path, i) => ({
    path: resolve(folder, path),
    where: where(["modules", i]),
    is_named: trusted,
  }));
}

export interface ConfigurationFile {
  readonly path: string;
  readonly owner: "user" | "project";
  readonly trusted: boolean;
  /** Undefined: the file does not exist, or is rejected entirely. */
  readonly read?: ReadFile;
}

export interface RefusedSetting {
  /** `<file>:<line>:<column>`. */
  readonly where: string;
  /** The setting, or the part of the policy. */
  readonly what: string;
  readonly why: string;
  /** In force once the file is trusted. */
  readonly until_trusted: boolean;
}

/** An invalid configuration, with all of its problems. */
export class ConfigurationError extends Error {
  readonly problems: readonly string[];

  constructor(all: readonly string[]) {
    const problems = boundList(all);
    super(
      problems.length === 1
        ? `Invalid configuration: ${problems[0]}`
        : `Invalid configuration (${all.length} problems):\n${problems.map((each) => `- ${each}`).join("\n")}`,
    );
    this.name = "ConfigurationError";
    this.problems = problems;
  }
}

/** The user's own configuration file. */
export function configurationPath(environment: NodeJS.ProcessEnv): string {
  return join(configurationFolder({ home: homeFolder(), environment }), "config.json");
}

/**
 * The user's configuration: the environment first, then the user's own file, then defaults. Reads nothing of a workspace.
 * Throws one `ConfigurationError` with all problems.
 */
export function loadConfiguration(
  environment: NodeJS.ProcessEnv,
  path: string = configurationPath(environment),
): Configuration {
  const problems: string[] = [];
  const text = readOwnText(path, problems);
  const read = text === undefined ? undefined : parseConfiguration(path, text, problems);
  for (const { key, why } of read?.unknown ?? []) problems.push(`${read?.where([key])}: "${key}" ${why}`);
  const values: Partial<Record<SettingName, SettingValue>> = {};
  const sources: Partial<Record<SettingName, string>> = {};
  for (const name of Object.keys(SETTINGS) as SettingName[]) {
    const given = givenBy(name, environment);
    const found = given === undefined ? { value: read?.named.get(name) } : readText(name, given.text);
    if ("problem" in found) problems.push(`${given?.variable} ${found.problem}`);
    const value = "value" in found ? found.value : undefined;
    values[name] = value ?? defaultOf(name);
    sources[name] = value === undefined ? "default" : (given?.variable ?? path);
  }
  if (values.tool_allowed_roots !== undefined) {
    const { problems: wrong } = checkRoots(values.tool_allowed_roots as readonly string[]);
    problems.push(...wrong.map((each) => `${sources.tool_allowed_roots}: ${each}`));
  }
  if (problems.length > 0) throw new ConfigurationError(problems);
  const settings = values as Settings;
  const layer = read === undefined ? { configuration: checkConfiguration({}).configuration } : layerOf(read);
  return {
    settings,
    policy: { ...layer, profile: settings.profile },
    prices: read?.prices ?? {},
    models: read?.models ?? {},
    modules: read === undefined ? [] : modulesOf(read, { folder: dirname(path), trusted: true }),
    sources: sources as Configuration["sources"],
    files: [{ path, owner: "user", trusted: true, ...(read === undefined ? {} : { read }) }],
    refused: [],
  };
}

const PREFIX = "AUTONOUS_";
/** Variables that the service sets for its worker: neither settings nor typos. */
const OWN: ReadonlySet<string> = new Set(["WORKER_NAME", "SERVICE_MODULES"]);

/** Likely typos: variables whose names are close to one of ours. */
export function unknownVariables(environment: NodeJS.ProcessEnv): readonly string[] {
  const known = ownNames(Object.values(SETTINGS).map(({ variable }) => variable));
  return ownNames(Object.keys(environment))
    .filter((name) => !known.includes(name) && !OWN.has(name))
    .flatMap((name) => {
      const [nearest] = nearestNames(name, known);
      return nearest === undefined ? [] : [`${PREFIX}${name} is not a setting; did you mean ${PREFIX}${nearest}?`];
    });
}

function ownNames(variables: readonly string[]): string[] {
  return variables.filter((name) => name.startsWith(PREFIX)).map((name) => name.slice(PREFIX.length));
}
