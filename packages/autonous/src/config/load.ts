import { dirname, join, resolve } from "node:path";
import {
  boundList,
  checkConfiguration,
  checkRoots,
  configurationFolder,
  nearestNames,
  homeFolder,
} from "@autonous/runtime";
import type { DecisionSettings } from "@autonous/runtime";
import { layerOf } from "./policy.ts";
import type { ModelTable } from "./model-table.ts";
import type { PriceTable } from "./price-table.ts";
import { parseConfiguration, readOwnText } from "./read-file.ts";
import type { ReadFile } from "./read-file.ts";
import { defaultOf, givenBy, readText, SETTINGS } from "./settings.ts";
import type { Settings, SettingName, SettingValue } from "./settings.ts";

export interface Configuration {
  readonly settings: Settings;
  /** What decides. Its profile is that of the settings. */
  readonly policy: DecisionSettings;
  /** What models cost, as the user's own file says. */
  readonly prices: PriceTable;
  /** Settings per model, as the user's own file says. */
  readonly models: ModelTable;
  /** Files that export tools and handlers: the user's, then those of projects. */
  readonly modules: readonly ModuleReference[];
  /** Where each value came from: a variable, a file, or "default". */
  readonly sources: Readonly<Record<SettingName, string>>;
  /** The user's own, then those of the project. */
  readonly files: readonly ConfigurationFile[];
  /** What a project's files say that does not count. */
  readonly refused: readonly Refused[];
}

/** A module that a configuration file names. */
export interface ModuleReference {
  /** Absolute. */
  readonly path: string;
  /** Where it is named: `<file>:<line>:<column>`. */
  readonly where: string;
  /** Whether that file is trusted. The module itself has to be, too. */
  readonly is_named: boolean;
}

/** The modules of a file, seen from a folder. */
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
  /** Undefined: there is none, or it is refused altogether. */
  readonly read?: ReadFile;
}

export interface Refused {
  /** `<file>:<line>:<column>`. */
  readonly where: string;
  /** The setting, or the part of the policy. */
  readonly what: string;
  readonly why: string;
  /** It counts once the file is trusted. */
  readonly until_trusted: boolean;
}

/** A configuration that cannot be used, with everything that is wrong with it. */
export class ConfigurationError extends Error {
  readonly problems: readonly string[];

  constructor(all: readonly string[]) {
    const problems = boundList(all);
    super(
      problems.length === 1
        ? `The configuration has a mistake: ${problems[0]}`
        : `The configuration has ${all.length} mistakes:\n${problems.map((each) => `- ${each}`).join("\n")}`,
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
 * What the user says: the environment first, then the user's own file, then defaults. Nothing of a workspace is read
 * here. Throws `ConfigurationError` with every mistake at once.
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
/** What the service itself tells its worker: no setting, and no slip of the finger. */
const OWN: ReadonlySet<string> = new Set(["WORKER_NAME", "SERVICE_MODULES"]);

/** Variables that are written almost like one of ours, which is what a slip of the finger looks like. */
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
