import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { createRuntime } from "@autonous/runtime";
import {
  checkRoots,
  checkState,
  isInside,
  locateState,
  splitRootsOf,
  makeVisible,
  migrateState,
  migrationText,
} from "@autonous/runtime/internal";
import type { Runtime, RuntimeOptions } from "@autonous/runtime";
import type { CommandLimits } from "@autonous/runtime/internal";
import { loadConfiguration } from "../../config/load.ts";
import type { Configuration } from "../../config/load.ts";
import type { LoadedModules } from "../../config/load-modules.ts";
import type { NamedModule } from "../../config/service-modules.ts";
import { withProject } from "../../config/project.ts";
import type { Settings } from "../../config/settings.ts";
import { TrustStore } from "../../config/trust-store.ts";
import { memoryOf } from "../../store/tool-memory.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import type { Print } from "../output/print.ts";

/** The roots and the state folder of a command. */
export interface Workplace {
  readonly configuration: Configuration;
  readonly roots: readonly string[];
  /** The real paths of the roots before the workspace's own configuration narrowed them. */
  readonly opened: readonly string[];
  readonly cwd: string;
  readonly state_dir: string;
  /** Why the state folder must not be read, and what to do. */
  readonly state_problem?: string | undefined;
  /** The user chose the state folder explicitly. */
  readonly state_is_named?: boolean;
}

type Given = Pick<CommandInput, "options"> & Partial<Pick<CommandInput, "print">>;

const told = new Set<string>();

function tellOnce(text: string, print: Pick<Print, "note"> | undefined): void {
  if (!told.has(text)) print?.note(makeVisible(text));
  told.add(text);
}

/**
 * From the command line, then the configuration, then the current folder as the root. Creates
 * nothing. Throws if the state folder may not be this user's own, so that no command reads a planted one.
 */
export function findWorkplace(given: Given): Workplace {
  const place = lookForWorkplace(given);
  const migration = place.state_is_named ? undefined : migrateState({ workspace: process.cwd(), roots: place.opened });
  if (migration !== undefined) tellOnce(migrationText(migration), given.print);
  if (place.state_problem !== undefined) throw new UsageError(`Cannot work there: ${place.state_problem}`);
  return place;
}

/** For commands that report problems of the state folder; they must not read its content. */
export function lookForWorkplace({ options }: Given): Workplace {
  const { profile, config } = options as { readonly profile?: string; readonly config?: string };
  const environment = profile === undefined ? process.env : { ...process.env, AUTONOUS_PROFILE: profile };
  const own = config === undefined ? loadConfiguration(environment) : loadOther(config, environment);
  const here = process.cwd();
  const given = options["root"] as readonly string[] | undefined;
  // An empty name does not mean the current folder: it usually comes from an unset variable.
  const wanted = given?.map((root) => root && resolve(here, root)) ?? own.settings.tool_allowed_roots ?? [here];
  const { roots: opened, problems } = checkRoots(wanted);
  if (problems.length > 0) throw new UsageError(`Cannot work there: ${problems.join("; ")}`);
  const { stateDir = own.settings.state_dir } = options as { readonly stateDir?: string };
  if (stateDir === "") throw new UsageError("--state-dir is empty; name the state folder");
  const wish = { workspace: here, state_dir: stateDir };
  const state_dir = locateState(wish);
  const parted = splitRootsOf(state_dir, opened);
  const { configuration, roots } = withProject(own, {
    roots: parted.open,
    cwd: placeIn(here, parted.open),
    environment: process.env,
  });
  return {
    configuration,
    roots: [...roots, ...parted.own], // commands run in the first one
    opened,
    cwd: placeIn(here, roots),
    state_dir,
    state_is_named: stateDir !== undefined,
    state_problem: checkState({ ...wish, roots: opened }),
  };
}

/** Ignores variables that affect decisions: they may not be set where this file will be used. */
function loadOther(file: string, environment: NodeJS.ProcessEnv): Configuration {
  const { AUTONOUS_PROFILE: _profile, AUTONOUS_TOOL_BASH_DENYLIST: _denylist, ...rest } = environment;
  const path = resolve(process.cwd(), file);
  if (!existsSync(path)) throw new UsageError(`The configuration file "${path}" does not exist`);
  return loadConfiguration(rest, path);
}

/** The current folder if it is inside a root, else the first root. */
function placeIn(here: string, roots: readonly string[]): string {
  return roots.some((root) => isInside(root, here)) ? here : (roots[0] ?? here);
}

export async function openRuntime(input: Given, more: Partial<RuntimeOptions> = {}): Promise<Runtime> {
  return await createRuntime({ ...(await runtimeOptions(findWorkplace(input), input.print)), ...more });
}

/** Includes the configured modules. Throws if a trusted one cannot be loaded. */
export async function runtimeOptions(place: Workplace, print?: Pick<Print, "note">): Promise<RuntimeOptions> {
  const { options, refused, broken } = await readModules(place);
  if (broken.length > 0) throw new UsageError(broken.join("\n"));
  for (const line of refused) tellOnce(line, print);
  return { ...plainOptions(place), ...options };
}

/** Loaded on demand: most configurations name no modules. `named`: those that the service named, for its worker. */
export async function readModules(
  { configuration }: Pick<Workplace, "configuration">,
  named: readonly NamedModule[] = [],
): Promise<LoadedModules> {
  if (configuration.modules.length === 0 && named.length === 0) return NO_MODULES;
  const { loadModules } = await import("../../config/load-modules.ts");
  return await loadModules(configuration, named);
}

const NO_MODULES: LoadedModules = { options: {}, loaded: [], refused: [], broken: [] };

/** Without modules. */
export function plainOptions({ configuration, roots, cwd, state_dir }: Workplace): RuntimeOptions {
  const { settings, policy } = configuration;
  return {
    roots,
    cwd,
    state_dir,
    profile: policy.profile,
    config: policy.configuration,
    ...(policy.origins === undefined ? {} : { origins: policy.origins }),
    ...(policy.projects === undefined ? {} : { projects: policy.projects }),
    limits: { lines: settings.tool_max_output_lines, bytes: settings.tool_max_output_bytes },
    timeout_ms: settings.tool_timeout_seconds * 1000,
    sandbox: settings.sandbox,
    bash_timeout_ms: settings.bash_timeout_seconds * 1000,
    script_timeout_ms: settings.script_timeout_seconds * 1000,
    command_limits: commandLimits(settings),
    ...(settings.tool_bash_denylist === undefined ? {} : { bash_denylist: settings.tool_bash_denylist }),
    approval_timeout_ms: settings.approval_timeout_seconds * 1000,
    isTrustedSkill,
    actor: { channel: process.stdin.isTTY ? "terminal" : "cli" },
    memory: memoryOf(state_dir),
  };
}

const MEBIBYTE = 1_048_576;

/** Defaults depend on the machine: `loadConfiguration` sets them. */
export function commandLimits(settings: Settings): Partial<CommandLimits> {
  const { command_memory_megabytes: memory, command_file_megabytes: file, command_processes: processes } = settings;
  return {
    ...(memory === undefined ? {} : { memory_bytes: memory * MEBIBYTE }),
    ...(file === undefined ? {} : { file_bytes: file * MEBIBYTE }),
    ...(processes === undefined ? {} : { processes }),
    open_files: settings.command_open_files,
  };
}

/** Whether the user has trusted exactly this skill. Looked up each time, because trust can be revoked. */
export function isTrustedSkill({ folder, digest }: { readonly folder: string; readonly digest: string }): boolean {
  return new TrustStore().isTrusted({ kind: "skill", path: folder, digest });
}

const MOST_TOLD = 10;

/** Lists the parts of the workspace's configuration that are not in force. */
export function tellRefused({ configuration: { refused } }: Workplace, print: Print): void {
  if (refused.length === 0) return;
  const lines = [
    ...refused
      .slice(0, MOST_TOLD)
      .map(({ where, what, why }) => makeVisible(`Not in force: ${what} (${where}): ${why}`)),
    ...(refused.length > MOST_TOLD ? [`… and ${refused.length - MOST_TOLD} more`] : []),
    "Review and trust it: autonous policy trust",
  ];
  print.note(lines.join("\n"));
}
