import type { RuntimeOptions } from "@autonous/runtime";
import { limitInFlight } from "../agent/in-flight.ts";
import type { NamedModule } from "../config/service-modules.ts";
import { watchBreakers } from "../model/failures/circuit-breaker.ts";
import { createWorker } from "../queue/create-worker.ts";
import type { Worker } from "../queue/task-worker.ts";
import { databaseFile, openStore } from "../store/open-store.ts";
import type { Store } from "../store/store.ts";
import type { FromWorker, ListedTool, ToWorker } from "../supervisor/messages.ts";
import { providerOf, readModelInputs } from "../workplace/model-requests.ts";
import { inspectRuntime, readModules, runtimeOptions } from "../workplace/runtime-options.ts";
import { limitsOf } from "../workplace/workplace.ts";
import type { Workplace } from "../workplace/workplace.ts";

interface WorkerProcess {
  /** Identifies the worker in the store. */
  readonly name: string;
  readonly place: Workplace;
  /** The modules that the service's program named. */
  readonly modules: readonly NamedModule[];
  /** Receives messages for the service's log. */
  readonly note: (line: string) => void;
}

/** The worker's part of the service: runs tasks in this process until the supervisor, its parent, tells it to stop. */
export async function runWorker(worker: WorkerProcess): Promise<void> {
  const store = await openStore({ file: databaseFile(worker.place.state_dir), clock: Date.now });
  try {
    const drain = new AbortController();
    const work = await prepareWorker(worker, { store, drain: drain.signal });
    process.on("message", (message: ToWorker) => (message.type === "drain" ? drain.abort() : work.wake()));
    await work.run();
  } finally {
    await store.close();
  }
}

interface Preparation {
  readonly store: Store;
  readonly drain: AbortSignal;
}

async function prepareWorker(
  { name, place, modules, note }: WorkerProcess,
  { store, drain }: Preparation,
): Promise<Worker> {
  const { settings } = place.configuration;
  watchBreakers((breaker) => send({ type: "breaker", breaker }));
  // A module that cannot be loaded only loses its tools: restarting the worker would not help.
  const { options, refused, broken } = await readModules(place, modules);
  for (const line of [...broken, ...refused]) note(line);
  const runtime = { ...runtimeOptions(place), ...options };
  send({ type: "module_tools", tools: await listModuleTools(runtime) });
  return createWorker({
    store,
    worker: name,
    slots: settings.worker_concurrency,
    provider: limitInFlight(await providerOf(place.configuration), settings.max_model_calls),
    runtime,
    readAsking: () => readModelInputs(place),
    inbox_folder: settings.inbox_folder,
    limits: {
      ...limitsOf(settings),
      max_attempts: settings.task_max_attempts,
      retry_base_ms: settings.task_retry_base_ms,
    },
    onBeat: () => send({ type: "alive" }),
    onRecorded: sendRecorded,
    onOutput: (output) => send({ type: "output", output }),
    onFinished: () => send({ type: "finished" }),
    onProblem: (problem) => note(problem.message),
    drain,
  });
}

/** The tools of modules that the policy offers. */
async function listModuleTools(options: RuntimeOptions): Promise<readonly ListedTool[]> {
  const added = new Set(options.more_tools?.map(({ name }) => name));
  if (added.size === 0) return [];
  return await inspectRuntime(options, (runtime) =>
    runtime
      .tools()
      .filter(({ name }) => added.has(name))
      .map(({ name, description }) => ({ name, description })),
  );
}

let isRecordedPending = false;

/** Sends one message per event loop turn, because parallel tasks record many events at once. */
function sendRecorded(): void {
  if (isRecordedPending) return;
  isRecordedPending = true;
  setImmediate(() => {
    isRecordedPending = false;
    send({ type: "recorded" });
  });
}

/** A supervisor that is exiting accepts no messages; the worker then ends too. */
function send(message: FromWorker): void {
  if (process.connected) process.send?.(message, () => undefined);
}
