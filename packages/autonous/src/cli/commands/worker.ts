import { endOwnCommands } from "@autonous/runtime/internal";
import { readServiceModules, SERVICE_MODULES } from "../../config/service-modules.ts";
import type { NamedModule } from "../../config/service-modules.ts";
import { runWorker } from "../../service/run-worker.ts";
import { WORKER_NAME } from "../../supervisor/messages.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findWorkplace } from "../session/find-workplace.ts";

/** An aborted task that does not stop must not keep the process alive. */
const EXIT_AFTER_MS = 1000;

/** `autonous worker`: runs tasks until its supervisor stops it or exits. */
export async function worker(input: CommandInput): Promise<ExitCode> {
  const name = process.env[WORKER_NAME];
  if (name === undefined || process.send === undefined) {
    throw new UsageError("A worker is started by its supervisor: use autonous serve");
  }
  // Ctrl-C and a closed terminal signal the whole process group, but only the supervisor stops a worker.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
  process.once("disconnect", endWithoutSupervisor);
  if (!process.connected) return EXIT.failed; // disconnected before the listener was installed
  try {
    const place = findWorkplace(input);
    await runWorker({ name, place, modules: serviceModules(), note: input.print.note });
    return EXIT.done;
  } finally {
    process.off("disconnect", endWithoutSupervisor);
    if (process.connected) process.disconnect();
    setTimeout(() => process.exit(), EXIT_AFTER_MS).unref();
  }
}

/** No process is left to stop this one and the commands it started. */
function endWithoutSupervisor(): void {
  endOwnCommands();
  process.exit(EXIT.failed);
}

function serviceModules(): readonly NamedModule[] {
  const named = readServiceModules(process.env[SERVICE_MODULES]);
  if (named === undefined)
    throw new UsageError(`Cannot read ${SERVICE_MODULES}: only a service sets it, for its worker; unset it`);
  return named;
}
