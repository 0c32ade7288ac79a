import { existsSync } from "node:fs";
import { join } from "node:path";
import { sweepLost } from "@autonous/runtime";
import { withoutSecrets } from "../config/settings.ts";
import { Supervisor } from "../supervisor/supervisor.ts";
import type { ServiceContext } from "./context.ts";

/** Keeps one worker process running that does the tasks. */
export function createSupervisor(context: Omit<ServiceContext, "workerStatus" | "onTask">): Supervisor {
  const { roots, state_dir, settings, environment, store, bell, outputs, moduleTools, logger, telemetry } = context;
  return new Supervisor({
    ...findProgram(),
    words: ["worker", ...roots.flatMap((root) => ["--root", root]), "--state-dir", state_dir],
    environment: withoutSecrets(environment),
    onRecorded: () => bell.ring(),
    onBreaker: telemetry.onBreaker,
    onOutput: (output) => outputs.push(output),
    onModuleTools: (tools) => moduleTools.set(tools),
    onWorkerEnd: async (worker, options) => {
      telemetry.onWorkerEnd();
      sweepLost(); // before its tasks go on elsewhere: what it had running may not go on beside them
      await store.inbox.releaseWorker(worker, options);
      bell.ring(); // what it recorded last it may not have told
    },
    logger,
    drainMs: settings.drain_seconds * 1000,
  });
}

/** Where this package's own program may lie, seen from here: as source; beside the published library, or as a part of itself. */
const PROGRAMS = ["../cli/bin.ts", "../bin/autonous.js"] as const;

/** The worker is a program of this package, whatever program this process is. */
function findProgram(): { readonly program: string; readonly flags: readonly string[] } {
  const program = PROGRAMS.map((name) => join(import.meta.dirname, name)).find((path) => existsSync(path));
  if (program === undefined) throw new Error(`There is no program beside "${import.meta.dirname}"`);
  return { program, flags: program.endsWith(".ts") ? ["--conditions=@autonous/source"] : [] };
}
