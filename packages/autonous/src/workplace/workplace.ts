import { isInside, locateState, splitRootsOf } from "@autonous/runtime/internal";
import type { AgentLimits } from "../agent/usage/limits.ts";
import type { Configuration } from "../config/load.ts";
import { withProject } from "../config/project.ts";
import type { Settings } from "../config/settings.ts";

/** Where a command, a worker or a service works, and the configuration in force there. */
export interface Workplace {
  readonly configuration: Configuration;
  readonly roots: readonly string[];
  /** The real paths of the roots before the workspace's own configuration narrowed them. */
  readonly opened: readonly string[];
  readonly cwd: string;
  readonly state_dir: string;
}

interface WorkplaceSource {
  /** The user's own configuration. */
  readonly own: Configuration;
  /** Real paths of the roots. */
  readonly opened: readonly string[];
  /** Default: derived from the current folder. */
  readonly state_dir: string | undefined;
  readonly environment: NodeJS.ProcessEnv;
}

/** Applies the workspace's own configuration. Creates nothing, and does not check the state folder. */
export function resolveWorkplace({ own, opened, state_dir: named, environment }: WorkplaceSource): Workplace {
  const here = process.cwd();
  const state_dir = locateState({ workspace: here, state_dir: named });
  const parted = splitRootsOf(state_dir, opened);
  const { configuration, roots } = withProject(own, {
    roots: parted.open,
    cwd: workingFolder(here, parted.open),
    environment,
  });
  return {
    configuration,
    roots: [...roots, ...parted.own], // commands run in the first one
    opened,
    cwd: workingFolder(here, roots),
    state_dir,
  };
}

/** The current folder if it is inside a root, else the first root. */
function workingFolder(here: string, roots: readonly string[]): string {
  return roots.some((root) => isInside(root, here)) ? here : (roots[0] ?? here);
}

/** The configured limits of a task. */
export function limitsOf(settings: Settings): AgentLimits & Pick<Settings, "max_wall_time_seconds" | "max_tokens"> {
  const { max_turns, max_wall_time_seconds, max_tokens, max_cost_cents } = settings;
  return { max_turns, max_wall_time_seconds, max_tokens, ...(max_cost_cents === undefined ? {} : { max_cost_cents }) };
}
