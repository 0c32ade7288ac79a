import { resolve } from "node:path";
import { ToolError } from "@autonous/runtime";
import { checkRoots, locateState } from "@autonous/runtime/internal";
import type { ProfileName } from "@autonous/runtime/internal";
import { loadConfiguration } from "./config/load.ts";
import { SERVICE_MODULES } from "./config/service-modules.ts";
import type { NamedModule } from "./config/service-modules.ts";
import { SETTINGS } from "./config/settings.ts";
import { createProvider } from "./model/choose.ts";
import { startService } from "./service/start.ts";

export { CannotServe } from "./service/context.ts";

/** Options of `createService`. */
export interface ServiceOptions {
  /** Absolute paths of the folders that tools may touch. */
  readonly roots: readonly string[];
  /** State folder for the records, off limits to all tools. Default: in the user's state directory, named after the working folder. */
  readonly state_dir?: string;
  /** Port on 127.0.0.1; 0 picks a free one. Default: 8787. */
  readonly port?: number;
  readonly model?: string;
  readonly profile?: ProfileName;
  /**
   * Files that export tools and handlers (`tools`, `onCheckpoint`, `onReverseThinking`). The worker process loads them.
   * Files that change after the service was created are refused.
   */
  readonly modules?: readonly string[];
  /** Receives messages for the operator, one line at a time. Default: stderr. */
  readonly log?: (line: string) => void;
}

/** A running service, created by `createService`. */
export interface Service {
  readonly url: string;
  /** Required for every request to `/api`: `Authorization: Bearer <token>`. */
  readonly token: string;
  /** Waits up to the grace period for running tasks, then ends everything. Queued tasks run at the next start. */
  close(): Promise<void>;
}

/**
 * Runs the service inside another program: queue, worker process and HTTP on 127.0.0.1. Missing options come from the
 * environment, the user's configuration and the defaults. Throws an error that lists every problem.
 */
export async function createService(options: ServiceOptions): Promise<Service> {
  const { roots, problems } = checkRoots(options.roots);
  if (problems.length > 0)
    throw new ToolError("InvalidArguments", `Cannot create the service: ${problems.join("; ")}`, { problems });
  const environment = {
    ...process.env,
    ...variablesFor(options),
    ...(await variableForModules(options.modules ?? [])),
  };
  const { settings } = loadConfiguration(environment);
  await createProvider(settings.model); // fail now instead of in every worker
  const state_dir = locateState({ workspace: process.cwd(), state_dir: settings.state_dir });
  const log = options.log ?? ((line) => void process.stderr.write(`${line}\n`));
  const { url, token, close } = await startService({ roots, state_dir, settings, environment, log });
  return { url, token, close };
}

function variablesFor({ state_dir, port, model, profile }: ServiceOptions): Record<string, string> {
  const given = { state_dir, http_port: port, model, profile };
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set.map(([name, value]) => [SETTINGS[name as keyof typeof given].variable, String(value)]));
}

/** Loads the modules once here, so that `createService` reports their problems. */
async function variableForModules(paths: readonly string[]): Promise<Record<string, string>> {
  if (paths.length === 0) return {};
  const { bindModule } = await import("./config/module-files.ts");
  const { loadModules } = await import("./config/load-modules.ts");
  const named = paths.map((given) => {
    const path = resolve(given);
    const module = bindModule(path);
    return "problem" in module ? { path, digest: "" } : { path, digest: module.thing.digest };
  });
  const { refused, broken } = await loadModules({ modules: [] }, named);
  const problems = [...broken, ...refused];
  if (problems.length === 0) return { [SERVICE_MODULES]: JSON.stringify(named satisfies readonly NamedModule[]) };
  throw new ToolError("InvalidArguments", `Cannot create the service: ${problems.join("; ")}`, { problems });
}
