import { existsSync } from "node:fs";
import { resolve } from "node:path";
import {
  checkRoots,
  checkState,
  createRuntime,
  isInside,
  locateState,
  splitRootsOf,
  makeVisible,
  migrateState,
  migrationText,
} from "@autonous/runtime";
import type { CommandLimits, Runtime, RuntimeOptions } from "@autonous/runtime";
import { loadConfiguration } from "../../config/load.ts";
import type { Configuration } from "../../config/load.ts";
import type { LoadedModules } from "../../config/load-modules.ts";
import type { NamedModule } from "../../config/service-modules.ts";
import { withProject } from "../../config/project.ts";
import type { Settings } from "../../config/settings.ts";
import { TrustStore } from "../../config/trust.ts";
import { memoryOf } from "../../store/tool-memory.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import type { Print } from "../output/print.ts";

/** Where a command works: its roots and its state folder. */
export interface Workplace {
  readonly configuration: Configuration;
  readonly roots: readonly string[];
  /** The real paths of the roots before the workspace's own configuration narrowed them. */
  readonly opened: readonly string[];
  readonly cwd: string;
  readonly state_dir: string;
  /** Why the state folder may not be read, with what to do. */
  readonly state_problem?: string | undefined;
  /** A person has chosen the state folder. */
  readonly state_is_named?: boolean;
}

type Given = Pick<CommandInput, "options"> & Partial<Pick<CommandInput, "print">>;

const told = new Set<string>();

function tellOnce(text: string, print: Pick<Print, "note"> | undefined): void {
  if (!told.has(text)) print?.note(makeVisible(text));
  told.add(text);
}

/**
 * The options of the command line first, then the configuration; the current folder where neither names a root. Makes
 * nothing. Throws where the state folder is not surely this user's own, so that no command reads one that is planted.
 */
export function findWorkplace(given: Given): Workplace {
  const place = lookForWorkplace(given);
  const migration = place.state_is_named ? undefined : migrateState({ workspace: process.cwd(), roots: place.opened });
  if (migration !== undefined) tellOnce(migrationText(migration), given.print);
  if (place.state_problem !== undefined) throw new UsageError(`Cannot work there: ${place.state_problem}`);
  return place;
}

/** For commands that tell what is wrong with the state folder: they must not read what is in it. */
export function lookForWorkplace({ options }: Given): Workplace {
  const { profile, config } = options as { readonly profile?: string; readonly config?: string };
  const environment = profile === undefined ? process.env : { ...process.env, AUTONOUS_PROFILE: profile };
  const own = config === undefined ? loadConfiguration(environment) : loadOther(config, environment);
  const here = process.cwd();
  const given = options["root"] as readonly string[] | undefined;
  // An empty name is not the current folder: it is a variable that nobody set.
  const wanted = given?.map((root) => root && resolve(here, root)) ?? own.settings.tool_allowed_roots ?? [here];
  const { roots: opened, problems } = checkRoots(wanted);
  if (problems.length > 0) throw new UsageError(`Cannot work there: ${problems.join("; ")}`);
  const { stateDir = own.settings.state_dir } = options as { readonly stateDir?: string };
  if (stateDir === "") throw new UsageError("--state-dir is empty; name the folder in which the record is kept");
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
    roots: [...roots, ...parted.own], // the first one is where commands run
    opened,
    cwd: placeIn(here, roots),
    state_dir,
    state_is_named: stateDir !== undefined,
    state_problem: checkState({ ...wish, roots: opened }),
  };
}

/** What decides comes from that file alone: a variable that outweighs it here would not where it is meant for. */
function loadOther(file: string, environment: NodeJS.ProcessEnv): Configuration {
  const { AUTONOUS_PROFILE: _profile, AUTONOUS_TOOL_BASH_DENYLIST: _denylist, ...rest } = environment;
  const path = resolve(process.cwd(), file);
  if (!existsSync(path)) throw new UsageError(`There is no configuration file "${path}"`);
  return loadConfiguration(rest, path);
}

/** The current folder where it lies in a root, else the first root. */
function placeIn(here: string, roots: readonly string[]): string {
  return roots.some((root) => isInside(root, here)) ? here : (roots[0] ?? here);
}

export async function openRuntime(input: Given, more: Partial<RuntimeOptions> = {}): Promise<Runtime> {
  return await createRuntime({ ...(await runtimeOptions(findWorkplace(input), input.print)), ...more });
}

/** With what the configured modules give. Throws where one that is trusted cannot be loaded. */
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

/** Without what modules give. */
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

/** The machine's own where nothing is said: `loadConfiguration` sets them. */
export function commandLimits(settings: Settings): Partial<CommandLimits> {
  const { command_memory_megabytes: memory, command_file_megabytes: file, command_processes: processes } = settings;
  return {
    ...(memory === undefined ? {} : { memory_bytes: memory * MEBIBYTE }),
    ...(file === undefined ? {} : { file_bytes: file * MEBIBYTE }),
    ...(processes === undefined ? {} : { processes }),
    open_files: settings.command_open_files,
  };
}

/** Whether the person at this machine has trusted exactly this skill. Looked up each time: trust can be taken back. */
export function isTrustedSkill({ folder, digest }: { readonly folder: string; readonly digest: string }): boolean {
  return new TrustStore().isTrusted({ kind: "skill", path: folder, digest });
}

const MOST_TOLD = 10;

/** Tells what of the workspace's own configuration does not count, so that nobody wonders. */
export function tellRefused({ configuration: { refused } }: Workplace, print: Print): void {
  if (refused.length === 0) return;
  const lines = [
    ...refused
      .slice(0, MOST_TOLD)
      .map(({ where, what, why }) => makeVisible(`Not in force: ${what} (${where}): ${why}`)),
    ...(refused.length > MOST_TOLD ? [`… and ${refused.length - MOST_TOLD} more`] : []),
    "autonous policy trust shows what this workspace brings, and trusts it if you say so",
  ];
  print.note(lines.join("\n"));
}
