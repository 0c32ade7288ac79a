import { existsSync } from "node:fs";
import { join } from "node:path";
import { sweepLost } from "@autonous/runtime/internal";
import { withoutSecrets } from "../config/settings.ts";
import { Supervisor } from "../supervisor/supervisor.ts";
import type { ServiceContext } from "./context.ts";

/** Keeps one worker process running that processes the tasks. */
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
      sweepLost(); // its commands must end before another worker resumes its tasks
      await store.inbox.releaseWorker(worker, options);
      bell.ring(); // it may have exited before it announced its last events
    },
    logger,
    drainMs: settings.drain_seconds * 1000,
  });
}

/** Possible paths of this package's program, relative to this file: source, next to the published library, or inside it. */
const PROGRAMS = ["../cli/bin.ts", "../bin/autonous.js"] as const;

/** The worker runs this package's program, whatever program this process runs. */
function findProgram(): { readonly program: string; readonly flags: readonly string[] } {
  const program = PROGRAMS.map((name) => join(import.meta.dirname, name)).find((path) => existsSync(path));
  if (program === undefined) throw new Error(`Program not found beside "${import.meta.dirname}"`);
  return { program, flags: program.endsWith(".ts") ? ["--conditions=@autonous/source"] : [] };
}
