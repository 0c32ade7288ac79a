import type { Configuration } from "./load.ts";
import { isRecord } from "./price-table.ts";
import { checkValue, givenBy, SETTINGS } from "./settings.ts";
import type { SettingName, Settings } from "./settings.ts";

/** Settings that can be set per model: the same names and values as the settings for all models. */
export const MODEL_SETTINGS = [
  "max_output_tokens",
  "thinking",
  "effort",
  "context_tokens",
  "model_first_byte_seconds",
  "model_idle_seconds",
] as const satisfies readonly SettingName[];
type ModelSettingName = (typeof MODEL_SETTINGS)[number];

/** The settings of one model. */
export type ModelValues = { readonly [N in ModelSettingName]?: Exclude<Settings[N], undefined> };

/** Keyed by model: as in `AUTONOUS_MODEL`, or without the provider. */
export type ModelTable = Readonly<Record<string, ModelValues>>;

interface TableProblem {
  /** Relative to `models`. */
  readonly path: readonly string[];
  readonly problem: string;
}

/** `models` of a configuration file, checked. */
export function readModels(value: unknown): {
  readonly models: ModelTable;
  readonly problems: readonly TableProblem[];
} {
  if (!isRecord(value)) {
    return { models: {}, problems: [{ path: [], problem: '"models" has to be an object, with settings per model' }] };
  }
  const problems = Object.entries(value).flatMap(([model, settings]) => problemsOf(model, settings));
  return { models: problems.length === 0 ? (value as ModelTable) : {}, problems };
}

function problemsOf(model: string, settings: unknown): readonly TableProblem[] {
  const named = JSON.stringify(model.slice(0, 80));
  if (!isRecord(settings)) return [{ path: [model], problem: `models: ${named} has to be an object` }];
  return Object.entries(settings).flatMap(([key, value]) => {
    const path = [model, key];
    const said = JSON.stringify(key.slice(0, 80));
    if (!isModelSetting(key)) {
      const known = MODEL_SETTINGS.join(", ");
      return [{ path, problem: `models: ${named} has ${said}, which is not a setting of a model (${known})` }];
    }
    const checked = checkValue(key, value);
    return "problem" in checked ? [{ path, problem: `models: ${named}: ${said} ${checked.problem}` }] : [];
  });
}

/**
 * The settings in force for a model: the environment, then its own entry, then the files' settings for all models. A
 * number that a project's file lowers is lowered for every model.
 */
export function settingsForModel(
  { settings, sources, files }: Pick<Configuration, "settings" | "sources" | "files">,
  own: ModelValues,
  environment: NodeJS.ProcessEnv,
): ModelValues {
  const projects = new Set(files.filter(({ owner }) => owner === "project").map(({ path }) => path));
  const values = MODEL_SETTINGS.map((name) => {
    const [general, mine] = [settings[name], own[name]];
    if (mine === undefined || givenBy(name, environment) !== undefined) return [name, general];
    if (!projects.has(sources[name])) return [name, mine];
    const isSmaller = typeof mine === "number" && typeof general === "number" && mine < general;
    return [name, isSmaller ? mine : general];
  });
  return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as ModelValues;
}

function isModelSetting(key: string): key is ModelSettingName {
  return (MODEL_SETTINGS as readonly string[]).includes(key) && Object.hasOwn(SETTINGS, key);
}
