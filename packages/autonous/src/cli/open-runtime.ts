import { resolve } from "node:path";
import { checkRoots, createRuntime, isInside } from "@autonous/runtime";
import type { Runtime, RuntimeOptions } from "@autonous/runtime";
import { loadConfiguration } from "../config/load.ts";
import type { Configuration } from "../config/load.ts";
import { UsageError } from "./command.ts";
import type { CommandInput } from "./command.ts";

/** Where a command works: its roots and its state folder. */
export interface Workplace {
  readonly configuration: Configuration;
  readonly roots: readonly string[];
  readonly cwd: string;
  readonly state_dir: string;
}

type Given = Pick<CommandInput, "options">;

/** The options of the command line first, then the configuration; the current folder where neither names a root. Makes nothing. */
export function findWorkplace({ options }: Given): Workplace {
  const configuration = loadConfiguration(process.env);
  const { settings } = configuration;
  const here = process.cwd();
  const given = options["root"] as readonly string[] | undefined;
  // An empty name is not the current folder: it is a variable that nobody set.
  const roots = given?.map((root) => root && resolve(here, root)) ?? settings.tool_allowed_roots ?? [here];
  const { roots: real, problems } = checkRoots(roots);
  if (problems.length > 0) throw new UsageError(`Cannot work there: ${problems.join("; ")}`);
  const cwd = placeIn(here, real);
  const { stateDir = settings.state_dir } = options as { readonly stateDir?: string };
  if (stateDir === "") throw new UsageError("--state-dir is empty; name the folder in which the record is kept");
  return { configuration, roots, cwd, state_dir: resolve(here, stateDir) };
}

/** The current folder where it lies in a root, else the first root. */
function placeIn(here: string, roots: readonly string[]): string {
  return roots.some((root) => isInside(root, here)) ? here : (roots[0] ?? here);
}

export async function openRuntime(input: Given, more: Partial<RuntimeOptions> = {}): Promise<Runtime> {
  return await createRuntime({ ...runtimeOptions(findWorkplace(input)), ...more });
}

export function runtimeOptions({ configuration, roots, cwd, state_dir }: Workplace): RuntimeOptions {
  const { settings, policy } = configuration;
  return {
    roots,
    cwd,
    state_dir,
    profile: settings.profile,
    config: policy,
    limits: { lines: settings.tool_max_output_lines, bytes: settings.tool_max_output_bytes },
    timeout_ms: settings.tool_timeout_seconds * 1000,
    sandbox: settings.sandbox,
    bash_timeout_ms: settings.bash_timeout_seconds * 1000,
    ...(settings.tool_bash_denylist === undefined ? {} : { bash_denylist: settings.tool_bash_denylist }),
    approval_timeout_ms: settings.approval_timeout_seconds * 1000,
  };
}
