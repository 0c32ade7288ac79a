import { createRuntime } from "@autonous/runtime";
import type { Runtime, RuntimeOptions } from "@autonous/runtime";
import type { CommandLimits } from "@autonous/runtime/internal";
import type { LoadedModules } from "../config/load-modules.ts";
import type { NamedModule } from "../config/service-modules.ts";
import type { Settings } from "../config/settings.ts";
import { TrustStore } from "../config/trust-store.ts";
import { memoryOf } from "../store/tool-memory.ts";
import type { Workplace } from "./workplace.ts";

/**
 * The runtime options that follow from the configuration. Every runtime of the command line, the worker and the channels is
 * created from them; what is specific to the caller is added. Without modules.
 */
export function runtimeOptions({ configuration, roots, cwd, state_dir }: Workplace): RuntimeOptions {
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

/** A runtime that executes and records nothing, closed after `inspect`. */
export async function inspectRuntime<Result>(
  options: RuntimeOptions,
  inspect: (runtime: Runtime) => Promise<Result> | Result,
): Promise<Result> {
  const runtime = await createRuntime({ ...options, looking: true });
  try {
    return await inspect(runtime);
  } finally {
    await runtime.close();
  }
}

/** Loaded on demand: most configurations name no modules. `named`: those that the service named, for its worker. */
export async function readModules(
  { configuration }: Pick<Workplace, "configuration">,
  named: readonly NamedModule[] = [],
): Promise<LoadedModules> {
  if (configuration.modules.length === 0 && named.length === 0) return NO_MODULES;
  const { loadModules } = await import("../config/load-modules.ts");
  return await loadModules(configuration, named);
}

const NO_MODULES: LoadedModules = { options: {}, loaded: [], refused: [], broken: [] };

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
