import type { AgentOptions } from "../agent/run.ts";
import { costOf } from "../model/prices.ts";
import type { Workplace } from "./open-runtime.ts";
import { readProject } from "./project-text.ts";

type Asking = Pick<AgentOptions, "context_tokens" | "costOf" | "project">;

/** How a model is asked at a workplace: what fits into a request, what it costs, what the workspace says about itself. */
export async function readAsking(place: Workplace, skill?: string): Promise<Asking> {
  const { settings, prices } = place.configuration;
  const { context_tokens } = settings;
  return {
    ...(context_tokens === undefined ? {} : { context_tokens }),
    costOf: (usage, model) => costOf(model, usage, prices),
    project: { ...(await readProject(place)), ...(skill === undefined ? {} : { skill }) },
  };
}
