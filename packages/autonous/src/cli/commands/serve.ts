import { CannotServe, startService } from "../../service.ts";
import type { Service } from "../../service.ts";
import { checkAll } from "../checks.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findWorkplace } from "../open-runtime.ts";
import type { Workplace } from "../open-runtime.ts";
import { showChecks } from "./doctor.ts";

/** `autonous serve`: the service, until it is told to stop. */
export async function serve(input: CommandInput): Promise<ExitCode> {
  const { print, options } = input;
  const place = findWorkplace(input);
  if (options["root"] === undefined && place.configuration.settings.tool_allowed_roots === undefined) {
    throw new UsageError(
      "Cannot serve without a root: set AUTONOUS_TOOL_ALLOWED_ROOTS to the folders that tools may touch, or give --root <folder>",
    );
  }
  const checks = await checkAll(place);
  if (options["check"] === true || checks.some((check) => check.outcome === "failed")) {
    showChecks(checks, print);
    return checks.some((check) => check.outcome === "failed") ? EXIT.failed : EXIT.done;
  }
  return await serveUntilStopped(place, input);
}

async function serveUntilStopped(place: Workplace, { print, signal }: CommandInput): Promise<ExitCode> {
  const stopped = whenStopped(signal);
  const service = await start(place, print);
  announce(service, place, print);
  await stopped;
  print.note("Stopping: the task in hand is finished first. Once more to stop at once");
  let isForced = false;
  const force = (): void => {
    isForced = true;
    service.kill();
  };
  process.on("SIGINT", force).on("SIGTERM", force);
  await service.close();
  return isForced ? EXIT.interrupted : EXIT.done;
}

async function start(
  { roots, state_dir, configuration }: Workplace,
  print: CommandInput["print"],
): ReturnType<typeof startService> {
  const port = configuration.settings.http_port;
  try {
    return await startService({ roots, state_dir, port, environment: process.env, log: print.note });
  } catch (error) {
    throw error instanceof CannotServe ? new UsageError(error.message) : error;
  }
}

function announce({ url, token }: Service, { roots, configuration }: Workplace, print: CommandInput["print"]): void {
  const { model, profile } = configuration.settings;
  const curl = `curl -N -H "Authorization: Bearer ${token}" -d '{"text":"/ls ."}' ${url}/api/tasks`;
  if (print.json) print.document({ url, token, roots, model });
  print.text(`Serving ${roots.join(", ")} on ${url} (model ${model}, profile ${profile}). Try it:\n\n  ${curl}\n`);
}

/** By a person or the system. That nobody reads our remarks any more, which aborts `signal` too, is no reason to stop. */
async function whenStopped(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => resolve());
  });
}
