import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { checkRoots, checkState, makeVisible, migrateState, migrationText } from "@autonous/runtime/internal";
import type { RuntimeOptions } from "@autonous/runtime";
import { loadConfiguration } from "../../config/load.ts";
import type { Configuration } from "../../config/load.ts";
import { readModules, runtimeOptions } from "../../workplace/runtime-options.ts";
import { resolveWorkplace } from "../../workplace/workplace.ts";
import type { Workplace } from "../../workplace/workplace.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import type { Print } from "../output/print.ts";

/** A workplace whose state folder was checked but must not be read if there is a problem. */
export interface CheckedWorkplace extends Workplace {
  /** Why the state folder must not be read, and what to do. */
  readonly state_problem: string | undefined;
  /** The user chose the state folder explicitly. */
  readonly state_is_named: boolean;
}

type WorkplaceInput = Pick<CommandInput, "options"> & Partial<Pick<CommandInput, "print">>;

const noted = new Set<string>();

function noteOnce(text: string, print: Pick<Print, "note"> | undefined): void {
  if (!noted.has(text)) print?.note(makeVisible(text));
  noted.add(text);
}

/**
 * From the command line, then the configuration, then the current folder as the root. Creates
 * nothing. Throws if the state folder may not be this user's own, so that no command reads a planted one.
 */
export function findWorkplace(input: WorkplaceInput): CheckedWorkplace {
  const place = checkWorkplace(input);
  const migration = place.state_is_named ? undefined : migrateState({ workspace: process.cwd(), roots: place.opened });
  if (migration !== undefined) noteOnce(migrationText(migration), input.print);
  if (place.state_problem !== undefined) throw new UsageError(`Cannot use the state folder: ${place.state_problem}`);
  return place;
}

/** For commands that report problems of the state folder; they must not read its content. */
export function checkWorkplace({ options }: WorkplaceInput): CheckedWorkplace {
  const { profile, config } = options as { readonly profile?: string; readonly config?: string };
  const environment = profile === undefined ? process.env : { ...process.env, AUTONOUS_PROFILE: profile };
  const own = config === undefined ? loadConfiguration(environment) : loadOther(config, environment);
  const here = process.cwd();
  const named = options["root"] as readonly string[] | undefined;
  // An empty name does not mean the current folder: it usually comes from an unset variable.
  const wanted = named?.map((root) => root && resolve(here, root)) ?? own.settings.tool_allowed_roots ?? [here];
  const { roots: opened, problems } = checkRoots(wanted);
  if (problems.length > 0) throw new UsageError(`Cannot use the roots: ${problems.join("; ")}`);
  const { stateDir: state_dir = own.settings.state_dir } = options as { readonly stateDir?: string };
  if (state_dir === "") throw new UsageError("--state-dir is empty; name the state folder");
  return {
    ...resolveWorkplace({ own, opened, state_dir, environment: process.env }),
    state_is_named: state_dir !== undefined,
    state_problem: checkState({ workspace: here, state_dir, roots: opened }),
  };
}

/** Ignores variables that affect decisions: they may not be set where this file will be used. */
function loadOther(file: string, environment: NodeJS.ProcessEnv): Configuration {
  const { AUTONOUS_PROFILE: _profile, AUTONOUS_TOOL_BASH_DENYLIST: _denylist, ...rest } = environment;
  const path = resolve(process.cwd(), file);
  if (!existsSync(path)) throw new UsageError(`The configuration file "${path}" does not exist`);
  return loadConfiguration(rest, path);
}

/** The runtime options with those of the configured modules. Throws if a trusted module cannot be loaded. */
export async function optionsWithModules(place: Workplace, print?: Pick<Print, "note">): Promise<RuntimeOptions> {
  const { options, refused, broken } = await readModules(place);
  if (broken.length > 0) throw new UsageError(broken.join("\n"));
  for (const line of refused) noteOnce(line, print);
  return { ...runtimeOptions(place), ...options };
}

const MAX_REFUSED_LINES = 10;

/** Lists the parts of the workspace's configuration that are not in force. */
export function printRefused({ configuration: { refused } }: Workplace, print: Print): void {
  if (refused.length === 0) return;
  const lines = [
    ...refused
      .slice(0, MAX_REFUSED_LINES)
      .map(({ where, what, why }) => makeVisible(`Not in force: ${what} (${where}): ${why}`)),
    ...(refused.length > MAX_REFUSED_LINES ? [`… and ${refused.length - MAX_REFUSED_LINES} more`] : []),
    "Review and trust it: autonous policy trust",
  ];
  print.note(lines.join("\n"));
}
