import { CannotServe } from "../../service/context.ts";
import { startService } from "../../service/start.ts";
import { curlLine } from "../../service/token.ts";
import { isStateFolderLocked } from "../../store/sqlite/state-lock.ts";
import { endOrphans } from "../../supervisor/orphans.ts";
import type { RunningService } from "../../service/start.ts";
import type { CheckResult } from "../checks/checks.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findWorkplace } from "../session/find-workplace.ts";
import type { Workplace } from "../../workplace/workplace.ts";
import { noteMissingSandbox } from "../output/sandbox-notice.ts";
import { checkService, noteInbox } from "../checks/service-checks.ts";
import { showChecks } from "./doctor.ts";

/** `autonous serve`: runs the service until it is stopped. */
export async function serve(input: CommandInput): Promise<ExitCode> {
  const { print, options } = input;
  const place = findWorkplace(input);
  if (options["root"] === undefined && place.configuration.settings.tool_allowed_roots === undefined) {
    throw new UsageError(
      "Cannot serve without a root: set AUTONOUS_TOOL_ALLOWED_ROOTS to the folders that tools may touch, or give --root <folder>",
    );
  }
  const isCheck = options["check"] === true;
  // Before the checks, because an orphan may lock the store. Not under a running service: its workers can look
  // like orphans from here, since their supervisor has a different pid in another container.
  if (!isCheck && !isStateFolderLocked(place.state_dir)) endOrphans(place.state_dir);
  const checks = await checkService(place, { thorough: isCheck });
  const hasFailed = checks.some((check) => check.outcome === "failed");
  if (isCheck) showChecks(checks, print);
  else if (hasFailed) printFailed(checks, print);
  if (isCheck || hasFailed) return hasFailed ? EXIT.failed : EXIT.done;
  noteInbox(checks, print.note);
  return await serveUntilStopped(place, input);
}

/** Lists everything that prevents the start. */
function printFailed(checks: readonly CheckResult[], print: CommandInput["print"]): void {
  if (print.json) return showChecks(checks, print);
  const failed = checks.filter(({ outcome }) => outcome === "failed");
  const lines = failed.map(({ check, message }) => `  ${check}: ${message}`);
  print.note(["Cannot serve:", ...lines, "autonous serve --check shows all checks"].join("\n"));
}

async function serveUntilStopped(place: Workplace, { print, signal }: CommandInput): Promise<ExitCode> {
  const stopped = whenStopped(signal);
  const service = await start(place, print);
  await noteMissingSandbox(place, print.note);
  announce(service, place, print);
  if (!hasTerminal()) process.on("SIGHUP", () => service.restartWorker());
  await stopped;
  const { drain_seconds } = place.configuration.settings;
  print.note(`Shutting down: up to ${drain_seconds} s for running tasks. Repeat to force.`);
  let isForced = false;
  endAfter(drain_seconds * 1000 + CLOSE_MS);
  const force = (): void => {
    isForced = true;
    service.kill();
    endAfter(FORCED_CLOSE_MS);
  };
  process.on("SIGINT", force).on("SIGTERM", force);
  await service.close();
  return isForced ? EXIT.interrupted : EXIT.done;
}

/** Time for the last replies and readers after the worker exits. Everything is recorded, so the rest may be cut off. */
const CLOSE_MS = 10_000;
const FORCED_CLOSE_MS = 2000;

function endAfter(ms: number): void {
  setTimeout(() => process.exit(EXIT.interrupted), ms).unref();
}

async function start(
  { roots, state_dir, configuration: { settings } }: Workplace,
  print: CommandInput["print"],
): Promise<RunningService> {
  try {
    return await startService({ roots, state_dir, settings, environment: process.env, log: print.note });
  } catch (error) {
    throw error instanceof CannotServe ? new UsageError(error.message) : error;
  }
}

function announce(
  { url, token_file }: RunningService,
  { roots, configuration }: Workplace,
  print: CommandInput["print"],
): void {
  const { model, profile } = configuration.settings;
  const curl = curlLine(url, token_file);
  if (print.json) print.document({ url, token_file, roots, model });
  print.text(`Serving ${roots.join(", ")} on ${url} (model ${model}, profile ${profile}). Try it:\n\n  ${curl}\n`);
}

/** Stopped by the user or the system. Broken output, which also aborts `signal`, does not stop the service. */
async function whenStopped(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const names = hasTerminal() ? (["SIGINT", "SIGTERM", "SIGHUP"] as const) : (["SIGINT", "SIGTERM"] as const);
  await new Promise<void>((resolve) => {
    for (const name of names) process.once(name, () => resolve());
  });
}

/** With a terminal, SIGHUP means that the terminal was closed; without one, it reloads the configuration. */
function hasTerminal(): boolean {
  return process.stdin.isTTY || process.stderr.isTTY;
}
