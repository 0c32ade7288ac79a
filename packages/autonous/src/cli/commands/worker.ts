import { createRuntime, endOwnCommands } from "@autonous/runtime";
import type { RuntimeOptions } from "@autonous/runtime";
import { limitInFlight } from "../../agent/in-flight.ts";
import { watchBreakers } from "../../model/failures/circuit-breaker.ts";
import { createWorker } from "../../queue/create-worker.ts";
import type { Worker } from "../../queue/worker.ts";
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

/** A task that was given up and does not heed it may not keep the process. */
const LAST_MS = 1000;

/** `autonous worker`: does tasks until its supervisor says to stop, or is gone. */
export async function worker(input: CommandInput): Promise<ExitCode> {
  const name = process.env[WORKER_NAME];
  if (name === undefined || process.send === undefined) {
    throw new UsageError("A worker is started by its supervisor: use autonous serve");
  }
  // Ctrl-C and the end of a terminal go to the whole group; when a worker ends is its supervisor's to say.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
  process.once("disconnect", endAlone);
  if (!process.connected) return EXIT.failed; // gone before we could listen for it
  try {
    await workFor(name, findWorkplace(input), input.print.note);
    return EXIT.done;
  } finally {
    process.off("disconnect", endAlone);
    if (process.connected) process.disconnect();
    setTimeout(() => process.exit(), LAST_MS).unref();
  }
}

/** The supervisor is gone: nobody would end us, nor what our commands have running. */
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
  // A module that cannot be loaded costs its tools, not the worker: it would be no better at the next start.
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

/** What modules add, as far as the policy offers it. */
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

/** Once for all that is recorded in one turn of the loop: many tasks side by side record much at a time. */
function tellRecorded(): void {
  if (isToBeTold) return;
  isToBeTold = true;
  setImmediate(() => {
    isToBeTold = false;
    tell({ type: "recorded" });
  });
}

/** A supervisor that is going takes no messages; `endAlone` follows. */
function tell(message: FromWorker): void {
  if (process.connected) process.send?.(message, () => undefined);
}
