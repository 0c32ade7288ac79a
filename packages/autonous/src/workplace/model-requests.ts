import type { ProjectContext } from "../agent/instructions.ts";
import type { AgentOptions } from "../agent/agent-run.ts";
import type { Configuration } from "../config/load.ts";
import { settingsForModel } from "../config/model-table.ts";
import { createProvider } from "../model/choose.ts";
import { billedTokens, costOf } from "../model/prices/prices.ts";
import type { ModelProvider } from "../model/provider.ts";
import { findByModel } from "../model/vendors/model-settings.ts";
import type { ModelSettings } from "../model/vendors/model-settings.ts";
import { readProject } from "./project-context.ts";
import type { Workplace } from "./workplace.ts";

/** The provider of a model, or of a list of models, each with its own settings. */
export async function providerOf(
  configuration: Configuration,
  model: string = configuration.settings.model,
): Promise<ModelProvider> {
  return await createProvider(model, process.env, (name) => settingsOf(configuration, name));
}

/** The settings of one model. */
export function settingsOf(configuration: Configuration, model: string): ModelSettings {
  return settingsForModel(configuration, findByModel(configuration.models, model) ?? {}, process.env);
}

type ModelInputs = Pick<AgentOptions, "billedTokens" | "costOf" | "project">;

/** The inputs of model requests in a workspace: prices and project context. */
export async function readModelInputs(
  place: Workplace,
  skill?: string,
  onRead?: (project: ProjectContext) => void,
): Promise<ModelInputs> {
  const { prices } = place.configuration;
  const project = await readProject(place);
  onRead?.(project);
  return {
    costOf: (usage, model) => costOf(model, usage, prices),
    billedTokens: (usage, model) => billedTokens(model, usage, prices),
    project: { ...project, ...(skill === undefined ? {} : { skill }) },
  };
}
