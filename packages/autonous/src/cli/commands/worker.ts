import { createRuntime } from "@autonous/runtime";
import { endOwnCommands } from "@autonous/runtime/internal";
import type { RuntimeOptions } from "@autonous/runtime";
import { limitInFlight } from "../../agent/in-flight.ts";
import { watchBreakers } from "../../model/failures/circuit-breaker.ts";
import { createWorker } from "../../queue/create-worker.ts";
import type { Worker } from "../../queue/task-worker.ts";
import { databaseFile, openStore } from "../../store/open-store.ts";
import type { Store } from "../../store/store.ts";
import type { FromWorker, ListedTool, ToWorker } from "../../supervisor/messages.ts";
import { WORKER_NAME } from "../../supervisor/messages.ts";
import { providerOf, readAsking } from "../session/asking.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findWorkplace, plainOptions, readModules } from "../session/open-runtime.ts";
import { readServiceModules, SERVICE_MODULES } from "../../config/service-modules.ts";
import type { NamedModule } from "../../config/service-modules.ts";
import type { Workplace } from "../session/open-runtime.ts";
import { readLimits } from "../options.ts";

/** An aborted task that does not stop must not keep the process alive. */
const LAST_MS = 1000;

/** `autonous worker`: runs tasks until its supervisor stops it or exits. */
export async function worker(input: CommandInput): Promise<ExitCode> {
  const name = process.env[WORKER_NAME];
  if (name === undefined || process.send === undefined) {
    throw new UsageError("A worker is started by its supervisor: use autonous serve");
  }
  // Ctrl-C and a closed terminal signal the whole process group, but only the supervisor stops a worker.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
  process.once("disconnect", endAlone);
  if (!process.connected) return EXIT.failed; // disconnected before the listener was installed
  try {
    await workFor(name, findWorkplace(input), input.print.note);
    return EXIT.done;
  } finally {
    process.off("disconnect", endAlone);
    if (process.connected) process.disconnect();
    setTimeout(() => process.exit(), LAST_MS).unref();
  }
}

/** The supervisor is gone, so no process is left to stop this one and the commands it started. */
function endAlone(): void {
  endOwnCommands();
  process.exit(EXIT.failed);
}

async function workFor(name: string, place: Workplace, note: (line: string) => void): Promise<void> {
  const store = await openStore({ file: databaseFile(place.state_dir), clock: Date.now });
  try {
    const drain = new AbortController();
    const work = await prepareWorker({ name, place, store, note, drain: drain.signal });
    process.on("message", (message: ToWorker) => (message.type === "drain" ? drain.abort() : work.wake()));
    await work.run();
  } finally {
    await store.close();
  }
}

interface WorkParts {
  readonly name: string;
  readonly place: Workplace;
  readonly store: Store;
  readonly note: (line: string) => void;
  readonly drain: AbortSignal;
}

async function prepareWorker({ name, place, store, note, drain }: WorkParts): Promise<Worker> {
  const { settings } = place.configuration;
  watchBreakers((breaker) => tell({ type: "breaker", breaker }));
  // A module that cannot be loaded only loses its tools: restarting the worker would not help.
  const { options, refused, broken } = await readModules(place, serviceModules());
  for (const line of [...broken, ...refused]) note(line);
  const runtime = { ...plainOptions(place), ...options };
  tell({ type: "module_tools", tools: await moduleTools(runtime) });
  return createWorker({
    store,
    worker: name,
    slots: settings.worker_concurrency,
    provider: limitInFlight(await providerOf(place.configuration), settings.max_model_calls),
    runtime,
    readAsking: () => readAsking(place),
    inbox_folder: settings.inbox_folder,
    limits: {
      ...readLimits({}, settings),
      max_attempts: settings.task_max_attempts,
      retry_base_ms: settings.task_retry_base_ms,
    },
    onBeat: () => tell({ type: "alive" }),
    onRecorded: tellRecorded,
    onOutput: (output) => tell({ type: "output", output }),
    onFinished: () => tell({ type: "finished" }),
    onProblem: (problem) => note(problem.message),
    drain,
  });
}

/** The tools of modules that the policy offers. */
async function moduleTools(options: RuntimeOptions): Promise<readonly ListedTool[]> {
  const added = new Set(options.more_tools?.map(({ name }) => name));
  if (added.size === 0) return [];
  const runtime = await createRuntime({ ...options, looking: true });
  try {
    const offered = runtime.tools().filter(({ name }) => added.has(name));
    return offered.map(({ name, description }) => ({ name, description }));
  } finally {
    await runtime.close();
  }
}

function serviceModules(): readonly NamedModule[] {
  const named = readServiceModules(process.env[SERVICE_MODULES]);
  if (named === undefined)
    throw new UsageError(`Cannot read ${SERVICE_MODULES}: only a service sets it, for its worker; unset it`);
  return named;
}

let isToBeTold = false;

/** Sends one message per event loop turn, because parallel tasks record many events at once. */
function tellRecorded(): void {
  if (isToBeTold) return;
  isToBeTold = true;
  setImmediate(() => {
    isToBeTold = false;
    tell({ type: "recorded" });
  });
}

/** A supervisor that is exiting accepts no messages; `endAlone` follows. */
function tell(message: FromWorker): void {
  if (process.connected) process.send?.(message, () => undefined);
}
